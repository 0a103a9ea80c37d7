"""The hierarchy: laws that its rows obey, its table in the docs, and the command."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import statebound
from statebound.errors import UsageError
from statebound.experiments.cli import output
from statebound.experiments.cli.hierarchy import hierarchy as command
from statebound.experiments.estimates import clopper_pearson
from statebound.experiments.hierarchy import bits, hops, ledgers, passes
from statebound.experiments.hierarchy.record import columns, record
from statebound.models.constructions.istree_walk import IsTreeWalk
from statebound.models.constructions.turing import load
from statebound.models.constructions.turing_regex import TuringRegex
from statebound.protocols.limits import report
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.pointer_chasing import PointerChasing

PAGE = Path(__file__).parents[2] / "docs" / "closing-the-gap.md"
SIZES = (8, 16, 32, 64)


@pytest.fixture(scope="module")
def index():
    rows = record("bits", SIZES, trials=40, seed=3)["rows"]
    return {(row["kind"], row["n"]): row for row in rows}


def test_no_fixed_state_is_below_the_proved_bound(index):
    for n in SIZES:
        least = index["fixed state", n]["recurrent_bits"]
        problem = Index(n)
        assert report.wall(problem, 1 << least) >= Fraction("0.99")
        assert report.wall(problem, 1 << (least - 1)) < Fraction("0.99")
        for kind in ("window", "best code known"):
            assert index[kind, n]["recurrent_bits"] >= least
            assert (
                0.99 <= index[kind, n]["success"] <= report.wall(problem, 1 << least) or n > least
            )
        assert index["best code known", n]["bits"] <= index["window", n]["bits"] <= n


def test_all_that_crosses_once_is_above_the_bound_too(index):
    for (kind, n), row in index.items():
        if row["crossings"] == 1:
            assert row["bits"] >= index["fixed state", n]["bits"], kind


def test_chain_of_thought_changes_nothing_for_a_fixed_state(index):
    for n in SIZES:
        plain, thinks = (index[k, n] for k in ("fixed state", "fixed state, any chain of thought"))
        assert thinks["tokens_written"] is None
        assert plain | {"kind": thinks["kind"], "tokens_written": None} == thinks


def test_recurrent_bits_grow_by_a_constant_and_the_cache_by_n(index):
    for kind, most in (("hybrid", 1), ("query first", 1), ("two passes", 1), ("search", 2)):
        grows = np.diff([index[kind, n]["recurrent_bits"] for n in SIZES])
        assert grows.min() >= 0
        assert grows.max() <= most
    for kind, n in product(("hybrid", "transformer", "search"), SIZES):
        assert index[kind, n]["cache_bits"] >= n
    assert all(index["transformer", n]["recurrent_bits"] == 0 for n in SIZES)
    assert index["two passes", 64]["bits"] == 3 * (7 + 2)
    assert index["query first", 64]["bits"] == 2 * (7 + 2)


def test_every_model_is_really_right(index):
    for (kind, n), row in index.items():
        if row["ledger"] is None:
            continue
        assert row["success"] == 1
        assert row["status"] == (
            "constructed, exact over all" if n == 8 else "constructed, sampled"
        )
        assert row["trials"] == (8 * 2**8 if n == 8 else 40)
        assert row["ledger"]["recurrent_bits"] == row["recurrent_bits"], kind
        assert (row["interval_level"] is None) == (n == 8)


@pytest.mark.parametrize("success", [0.7, 0.8, 0.9])
def test_the_window_is_the_truncation_code(success):
    row = bits.fixed_states(8, success)["window"]
    kept = row["recurrent_bits"]
    run, less = (
        statebound.measure("index", 8, protocol="truncation", state_bits=m)
        for m in (kept, kept - 1)
    )
    assert run["success"] == row["success"] >= success > less["success"]


@pytest.fixture(scope="module")
def chased():
    return record("hops", (3, 40), trials=60, seed=1)["rows"]


def test_hops_are_made_while_retrievals_last(chased):
    for row in chased:
        if row["ledger"] is None:
            continue
        if row["retrievals"] >= row["hops"]:
            assert row["success"] == row["expected"] == 1
            continue
        assert row["kind"] in ("1 layer", "2 layers", "4 layers")
        assert row["retrievals"] == int(row["kind"][0])
        if row["n"] == 3:
            always = (row["retrievals"], row["hops"]) == (2, 8)  # 6 holds all periods to 3
            assert row["success"] == row["expected"]
            assert (row["success"] == 1) == always
        else:
            found = clopper_pearson(round(60 * row["success"]), 60, 1 - 1e-6)
            assert found.low <= row["expected"] <= found.high
            assert row["expected"] < 1 / 3


def test_chain_of_thought_retrieves_once_a_token(chased):
    held = [row for row in chased if row["kind"] == "1 layer, chain of thought"]
    assert {row["hops"] for row in held} == set(range(1, 9))
    for row in held:
        assert row["retrievals"] == row["hops"] == row["tokens_written"] + 1


def test_what_is_proved_for_fixed_states_is_one_hop_alone(chased):
    for row in chased:
        if row["kind"] == "fixed state as large, at most":
            known = row["hops"] == 1
            assert (row["success"] is not None, row["reason"] is None) == (known, known)
            if known:
                messages = 1 << row["recurrent_bits"]
                assert row["success"] == float(report.wall(PointerChasing(row["n"], 1), messages))
        if row["kind"] == "window, half the table":
            assert (row["success"] is None) == (row["n"] == 40 and row["hops"] > 1)


def test_the_window_with_its_best_bob_is_counted():
    for n, kept, k in ((3, 1, 1), (3, 2, 2), (4, 2, 3), (3, 0, 4), (3, 3, 5)):
        right = 0
        for known in product(range(n), repeat=kept):
            for start in range(n):
                ends = [0] * n
                for rest in product(range(n), repeat=n - kept):
                    at, table = start, rest + known
                    for _ in range(k):
                        at = table[at]
                    ends[at] += 1
                right += max(ends)
        assert hops.window_success(n, kept, k) == Fraction(right, n ** (n + 1))
    assert hops.window_success(40, 20, 1) == Fraction(1, 2) + Fraction(1, 80)
    assert hops.window_success(4, 2, 1) == Fraction(2, 4) + Fraction(2, 16)


def test_hops_are_those_of_the_problem():
    tables, starts = hops.every_table(3)
    for k in (1, 2, 5):
        ends = np.stack([hops.led(tables, np.full(27, s), k) for s in starts], axis=1)
        assert (ends == PointerChasing(3, k).answers(tables.astype(np.uint8))).all()


def test_reading_again_moves_the_cost_of_disjointness_and_removes_that_of_index():
    rows = record("passes", (64, 128), trials=40, seed=2)["rows"]
    for row in rows:
        assert row["success"] == 1
        assert row["bits"] == row["crossings"] * row["state_bits"]
        if row["kind"].startswith("disjointness"):
            assert row["bits"] >= row["floor"] == row["n"]
            assert row["reference"].startswith("with errors: Omega(n)")
        else:
            assert row["floor"] is row["reference"] is None
            assert row["state_bits"] == row["n"].bit_length() + 2
            assert row["bits"] <= 3 * (np.log2(row["n"]) + 3)
    for row in rows:
        if row["kind"] == "disjointness":
            assert row["crossings"] == 2 * row["passes"] - 1
    assert passes.states(64) == [16, 32, 64, 79]
    x, y = passes.pairs(64, 40, 2)
    assert (x & y).any(axis=1).tolist() == [False, True] * 20


def test_the_costs_that_are_counted_are_those_of_runs():
    for n in (1, 2, 5, 8):
        edges = np.stack([np.arange(1, n), np.arange(2, n + 1)], axis=1)[None]
        assert IsTreeWalk(n, n - 1).whole() == IsTreeWalk(n, n - 1)(edges).ledger
    (made,) = (r for r in ledgers.ledgers(32) if r["construction"] == "search, chain of thought")
    machine = TuringRegex(load("increment"))
    steps = int(made["task"].split()[1])
    assert machine.run("1" * 32, steps).ledger.record() == made["ledger"]


def test_the_ledger_of_everything():
    small, large = ledgers.ledgers(64), ledgers.ledgers(128)
    assert len(small) == len(large) == 21
    for one, two in zip(small[2:], large[2:], strict=True):
        assert one["construction"].split()[-1] == two["construction"].split()[-1]
        assert two["cache_bits"] >= 1.9 * one["cache_bits"]
        if one["task"] != "disjointness" and "formula" not in one["task"]:
            assert two["recurrent_bits"] - one["recurrent_bits"] <= 9
    for size in (31, 5000):
        with pytest.raises(UsageError, match=r"^n = \d+: must be 32\.\.4096"):
            ledgers.ledgers(size)


def test_the_table_in_the_docs_is_the_output():
    text = PAGE.read_text(encoding="utf-8")
    printed = text.partition("$ statebound hierarchy ledger\n")[2].partition("```")[0]
    made = record("ledger")
    assert printed == output.table(made["rows"], columns("ledger"))


def test_the_command(capsys):
    assert command("passes", sizes="8", trials=9, as_json=True) == 0
    shown, said = capsys.readouterr()
    made = json.loads(shown)
    assert said == ""
    assert (made["what"], made["sizes"], made["trials"], made["seed"]) == ("passes", [8], 9, 0)
    assert command("bits", sizes="4", success=0.9, as_json=False) == 0
    assert capsys.readouterr().out.count("constructed, exact over all") == 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"what": "bit"}, "what = bit: is not a part"),
        ({"what": "hops", "success": 0.9}, "success = 0.9: has no meaning for hops"),
        ({"what": "ledger", "trials": 9}, "trials = 9: has no meaning for ledger"),
        ({"what": "bits", "success": 0.5}, "success = 0.5: must be above 1/2"),
        ({"what": "bits", "trials": 0}, "trials = 0: must be 1"),
        ({"what": "bits", "seed": -1}, "seed = -1: must not be negative"),
        ({"what": "bits", "sizes": "1"}, "n = 1: must be 2..4096"),
        ({"what": "hops", "sizes": "300"}, "n = 300: must be 2..256"),
        ({"what": "passes", "sizes": "3"}, "n = 3: must be 4..4096"),
        ({"what": "bits", "sizes": "16", "out": Path("x")}, "out = x: a figure of bits takes"),
        ({"what": "ledger", "out": Path("x")}, "out = x: the ledger has no figure"),
        ({"what": "bits", "out": Path("x"), "style": "poster"}, "style = poster"),
        ({"what": "bits", "sizes": "two"}, "n = two: is not a list"),
    ],
    ids=str,
)
def test_bad_requests(arguments, said):
    with pytest.raises(UsageError) as error:
        command(**arguments)
    assert str(error.value).startswith(said)
