"""The two models that run Turing machines, compared with the machines step by step."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.models.constructions import patterns
from statebound.models.constructions.movers import MOVERS
from statebound.models.constructions.rounding import Arithmetic
from statebound.models.constructions.tape import simulate
from statebound.models.constructions.turing import Machine, Rule, load, parse
from statebound.models.constructions.turing_hybrid import STARTS, TuringHybrid
from statebound.models.constructions.turing_regex import (
    STATES,
    Control,
    Registers,
    TuringRegex,
    answer,
)
from statebound.models.constructions.turing_run import difference, verdict


def inputs(name: str, count: int):
    """Return random inputs and a budget under which their runs halt."""
    rng = np.random.default_rng(len(name))
    alphabet, longest = {"increment": ("01", 9), "palindrome": ("ab", 7)}.get(name, ("()", 7))
    found = []
    for _ in range(count):
        if name == "multiply":
            a, b = rng.integers(0, 4, 2)
            found.append("1" * a + "*" + "1" * b + "=")
        else:
            found.append("".join(rng.choice(list(alphabet), rng.integers(0, longest + 1))))
    return found, 250


def same(model, text: str, budget: int, **more) -> None:
    machine = model.machine
    assert difference(machine, text, model.generate(text, budget, **more), budget) is None


NAMES = ["increment", "palindrome", "parentheses", "multiply"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_hybrid_equals_the_machine_on_200_inputs(name):
    texts, budget = inputs(name, 200)
    machine = load(name)
    kinds = itertools.cycle(itertools.product(("bin", "rns", "quad"), STARTS))
    for text, (code, start) in zip(texts, kinds, strict=False):
        assert simulate(machine, text, budget)[1].halted
        same(TuringHybrid(machine, code, start), text, budget)


@pytest.mark.parametrize("name", NAMES)
def test_search_equals_the_machine_on_200_inputs(name):
    texts, budget = inputs(name, 200)
    model = TuringRegex(load(name))
    for text in texts:
        same(model, text, budget, transcript=[])


@pytest.mark.parametrize(("code", "start"), list(itertools.product(MOVERS, STARTS)))
@pytest.mark.parametrize("name", ["busy-beaver-3", "busy-beaver-4", "multiply"])
def test_every_code_and_start(code, start, name):
    text, budget = ("11*1=", 60) if name == "multiply" else ("", 110)
    model = TuringHybrid(load(name), code, start)
    same(model, text, budget)
    steps, end = simulate(load(name), text, budget)
    run = model.run(text, budget)
    assert run.outcome == end
    assert run.tokens == [(s.rule.state, s.rule.symbol, s.rule.move) for s in steps]


def random_machine(rng: np.random.Generator, symbols: str = "_abc") -> Machine:
    """Return a machine of up to 8 states and 4 symbols that rewrites and halts seldom."""
    B, G = int(rng.integers(2, 9)), int(rng.integers(2, 5))
    rules = {
        (q, s): Rule(int(rng.integers(B)), int(rng.integers(G)), int(rng.integers(-1, 2)))
        for q in range(B)
        for s in range(G)
        if (q, s) == (0, 0) or rng.random() < 0.95
    }
    names = tuple(f"q{i}" for i in range(B))
    return Machine("random", names, tuple(symbols[:G]), 0, 0, symbols[1:G], None, rules)


def test_random_machines():
    rng = np.random.default_rng(0)
    steps = 0
    for _ in range(16):
        machine = random_machine(rng)
        text = "".join(rng.choice(list(machine.alphabet), 4))
        steps += simulate(machine, text, 40)[1].steps
        for code in MOVERS:
            same(TuringHybrid(machine, code), text, 40)
        same(TuringRegex(machine), text, 40, transcript=[])
    assert steps > 200


def test_symbols_that_calls_are_made_of():
    """No symbol on the tape can make a search find anything but the last write."""
    rng = np.random.default_rng(7)
    for _ in range(60):
        symbols = "".join(rng.permutation(list("<>().;@=*\\|0_")))
        machine = random_machine(rng, symbols)
        text = "".join(rng.choice(list(machine.alphabet), 5))
        same(TuringRegex(machine), text, 60, transcript=[])


def test_a_careless_pattern_finds_itself():
    transcript = "@0111=1;\n<.*@0111=(.);>"
    assert patterns.search(".*@0111=(.);", transcript) == "1"
    assert patterns.search(".*@0111=(.)", transcript) == "("  # that of the call


def test_a_difference_is_noticed():
    machine = load("increment")
    steps, _ = simulate(machine, "11", 50)
    good = [(s.rule.state, s.rule.symbol, s.rule.move) for s in steps]
    assert difference(machine, "11", iter(good), 50) is None
    for at, (state, symbol, move) in enumerate(good):
        for wrong in ((state, symbol, 1 - abs(move)), (state, (symbol + 1) % 3, move)):
            bad = [*good[:at], wrong, *good[at + 1 :]]
            assert difference(machine, "11", iter(bad), 50) == at + 1
    assert difference(machine, "11", iter(good[:-1]), 50) == len(good)
    assert difference(machine, "11", iter([*good, good[0]]), 50) == len(good) + 1
    assert difference(machine, "11", iter([*good, good[0]]), len(good)) == len(good) + 1


@pytest.mark.parametrize("kind", [TuringHybrid, TuringRegex])
def test_a_machine_that_does_not_halt_is_stopped(kind):
    run = kind(load("counter")).run("1", 60)
    assert (run.outcome.halted, run.outcome.steps, len(run.tokens)) == (False, 60, 60)
    text = verdict(load("counter"), run.outcome, 60)
    assert "stopped after its budget of 60 steps, in state" in text
    assert "raise the budget, unless the machine runs for ever" in text
    assert run.outcome == simulate(load("counter"), "1", 60)[1]


def test_a_budget_that_just_suffices():
    for kind in (TuringHybrid, TuringRegex):
        model = kind(load("busy-beaver-3"))
        assert model.run("", 21).outcome.halted
        assert not model.run("", 20).outcome.halted
        assert not model.run("", 0).outcome.halted
    assert verdict(model.machine, model.run("", 21).outcome, 21).endswith(
        "leaves 11111 after 21 steps, in state halt"
    )


# First wrong step of the counting machine: the counter of tokens is stuck at 2^t.
@pytest.mark.parametrize(
    ("code", "bits", "step"),
    [
        ("bin", 6, 72),
        ("bin", 8, 264),
        ("rns", 8, 264),
        ("quad", 8, 264),
        pytest.param("bin", 9, 520, marks=pytest.mark.slow),
        pytest.param("bin", 10, 1032, marks=pytest.mark.slow),
    ],
)
def test_where_precision_ends(code, bits, step):
    machine = load("counter")
    model = TuringHybrid(machine, code, arithmetic=Arithmetic(bits))
    assert difference(machine, "", model.generate("", 1100), 1100) == step
    assert step == 2**bits + 8


@pytest.mark.parametrize(("code", "first"), [("bin", 7), ("rns", 7), ("quad", 7)])
def test_least_precision_of_the_busy_beaver(code, first):
    machine = load("busy-beaver-4")
    wrong = {}
    for bits in range(4, 8):
        model = TuringHybrid(machine, code, arithmetic=Arithmetic(bits))
        wrong[bits] = difference(machine, "", model.generate("", 107), 107)
    assert wrong == {4: 22, 5: 37, 6: 69, 7: None}
    assert first == 7


def test_quadratic_addresses_need_twice_the_bits():
    """Far from cell 0: m^2 is not exact."""
    machine = parse("start: a\ninput: 1\na 1 -> a 1 R\na _ -> b 1 L\nb 1 -> c _ R\nc 1 -> b _ S\n")
    wrong = {}
    for code, bits in (("bin", 8), ("quad", 8), ("quad", 14)):
        model = TuringHybrid(machine, code, arithmetic=Arithmetic(bits))
        wrong[code, bits] = difference(machine, "1" * 60, model.generate("1" * 60, 66), 66)
    assert wrong["bin", 8] is None
    assert wrong["quad", 8] is not None
    assert wrong["quad", 14] is None


def test_rotations_drift():
    """Rounded turns add up, and a larger K makes more of them."""
    machine, wrong = load("counter"), {}
    for bits, budget in ((8, 100), (11, 100), (11, 1000), (24, 200)):
        model = TuringHybrid(machine, "rot", arithmetic=Arithmetic(bits))
        wrong[bits, budget] = difference(machine, "", model.generate("", budget), min(budget, 200))
    assert wrong[8, 100] is not None
    assert wrong[11, 100] is None
    assert wrong[11, 1000] is not None
    assert wrong[24, 200] is None


def test_ledgers_grow_as_the_logarithm():
    machine = load("busy-beaver-4")
    run = TuringHybrid(machine).run("", 107)
    assert run.ledger.recurrent_fields == {"address": 8, "counter": 7, "state": 3}
    # 8 rules: 20 weights a hidden unit dense, 6 that are not zero; the rest are address maps
    assert run.ledger.parameters - run.ledger.nonzero == 8 * 20 - 8 * 6
    assert run.ledger.tokens_written == 107
    bits = [TuringHybrid(machine).ledger(0, T, 0).recurrent_bits for T in (2**6, 2**10, 2**14)]
    assert np.diff(bits).tolist() == [8, 8]
    bits = [TuringRegex(machine).ledger(0, T, 0).recurrent_bits for T in (2**6, 2**10, 2**14)]
    assert np.diff(bits).tolist() == [4, 4]
    rows = run.theorem
    assert [row["order"] for row in rows] == ["A log n", "A B^2 log n", "n^A"]
    assert rows[2]["ratio"] == 1.0
    assert rows[0]["measured"] == 18


def test_the_control_is_its_registers():
    """Stopped and rebuilt from its registers before any character, it writes the same."""
    machine, text, budget = load("increment"), "1011", 30
    model = TuringRegex(machine)
    whole = model.run(text, budget).transcript
    written = model.prompt(text, budget)
    r: Registers | None = Registers(budget + 1, 0, 0, 0, 0)
    while r is not None:
        control = Control(machine, model.digits(len(text), budget))
        kept = Registers(r.head, r.place, r.state, r.symbol, r.move)
        if r.place == control.call:
            written += answer(written)
            r = control.receives(kept, written[-1])
        else:
            written += control.emits(kept)
            r = control.goes_on(kept)
    assert written == whole
    w = model.digits(4, budget)
    steps = len(model.run(text, budget).tokens)
    assert len(whole) == len(model.prompt(text, budget)) + steps * (2 * w + 18) + w + 11
    assert model.ledger(4, budget, 0).tokens_read == len(model.prompt(text, budget))


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (".*a(.)", "abac", "c"),
        (".*?a(.)", "abac", "b"),
        ("a(.)", "xab", None),
        ("^a(.b)", "acb", "cb"),
        ("[^|]*?b(.)", "ab1|b2", "1"),
        ("[^|]*?c(.)", "ab1|c2", None),
        (r".*\((.)\)", "(a)\n(b)", "b"),
        (".*@1=([^;]);", "@1=a;@1=b;@11=c;", "b"),
    ],
)
def test_searches(pattern, text, found):
    assert patterns.search(pattern, text) == found


@pytest.mark.parametrize(
    "pattern",
    [
        *("", "a", "a()", "(a)(b)", "(a", "a)", "((a))", "(a*)*b", "(a|b)", "(a)+", "(a){2}"),
        *("x.*(a)", "(?:a)", "(?=a)", r"(a)\1", r"(\d)", "[a](b)", "[^ab]*(c)", "(a)$"),
        "(" + "a" * 1000 + ")",
    ],
)
def test_other_patterns_are_refused(pattern):
    with pytest.raises(UsageError, match=r"^pattern = "):
        patterns.search(pattern, "text")


def test_escape_is_literal():
    every = "".join(map(chr, range(32, 127)))
    assert patterns.search(f".*{patterns.escape(every)}(.)", f"{every}!{every}?") == "?"


@pytest.mark.parity
def test_re2_agrees_call_by_call():
    pytest.importorskip("re2")
    rng = np.random.default_rng(1)
    for _ in range(10):
        machine = random_machine(rng)
        text = "".join(rng.choice(list(machine.alphabet), 4))
        runs = [TuringRegex(machine, engine).run(text, 40) for engine in ("re", "re2")]
        assert runs[0].transcript == runs[1].transcript
        assert runs[0].outcome == runs[1].outcome
    for name in NAMES:
        for text in inputs(name, 5)[0]:
            runs = [TuringRegex(load(name), engine).run(text, 250) for engine in ("re", "re2")]
            assert runs[0].transcript == runs[1].transcript
    letters = "ab;@=(.)\n"
    for _ in range(2000):
        text = "".join(rng.choice(list(letters), rng.integers(0, 12)))
        near = patterns.escape("".join(rng.choice(list(letters), rng.integers(0, 3))))
        skip = str(rng.choice(["", ".*", ".*?", "^[^;]*", "[^;]*?", "^.*"]))
        pattern = f"{skip}{near}({rng.choice(['.', '..', '[^=]', 'a'])})"
        assert patterns.search(pattern, text, "re") == patterns.search(pattern, text, "re2")


def test_bad_requests():
    machine = load("increment")
    for arguments, text in (
        (("gray",), "choose from bin, quad, rns, rot"),
        (("bin", "jump"), "choose from reset, rewind"),
    ):
        with pytest.raises(UsageError, match=text):
            TuringHybrid(machine, *arguments)
    with pytest.raises(UsageError, match="choose from re, re2"):
        TuringRegex(machine, "perl")
    with pytest.raises(UsageError, match="writes ~"):
        TuringRegex(parse("start: a\na _ -> a ~ R"))
    many = "".join(f"s{i} _ -> s{i + 1} _ R\n" for i in range(len(STATES) + 1))
    with pytest.raises(UsageError, match="more than 62 states"):
        TuringRegex(parse(f"start: s0\n{many}"))
    for kind in (TuringHybrid, TuringRegex):
        with pytest.raises(UsageError, match="budget"):
            kind(machine).run("1", 10**6 + 1)
        with pytest.raises(UsageError, match="no input symbol"):
            kind(machine).run("x", 5)
