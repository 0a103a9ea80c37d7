"""The command: what it shows, its exit codes, and errors in one line."""

from __future__ import annotations

import pytest

from statebound.errors import StateboundError, UsageError
from statebound.experiments.turing import execute, first_difference, read_machine
from statebound.models.constructions.turing_hybrid import TuringHybrid


def test_a_run_is_shown_step_by_step(cli):
    for words in (("increment", "--input", "1011"), ()):  # the default
        code, shown, said, _ = cli("demo", "turing", *words)
        assert (code, said) == (0, "")
        lines = shown.splitlines()
        first = lines.index("   0  right  ____[1]011")
        assert lines[first + 8] == "   8  done   ___1[1]00"
        assert "recurrent bits  23 (address 11, counter 10, state 2)" in lines
        assert "binary increment: leaves 1100 after 8 steps, in state done." in lines


@pytest.mark.parametrize("by", ["hybrid", "regex"])
def test_json(cli, by):
    outcome = cli("demo", "turing", "palindrome", "--input", "abba", "--by", by, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    record = outcome.row
    assert (record["accepted"], record["halted"], record["first_difference"]) == (True, True, None)
    assert record["ledger"]["recurrent_bits"] == sum(record["ledger"]["recurrent_fields"].values())
    assert len(record["trace"]) == record["steps"] + 1


@pytest.mark.parametrize("by", ["hybrid", "regex"])
def test_a_machine_that_does_not_halt_is_incomplete(cli, by):
    code, shown, said, _ = cli("demo", "turing", "counter", "--by", by, "--budget", 100)
    assert code == 4
    assert "  ... 61 steps not shown" in shown.splitlines()
    assert sum("[" in line for line in shown.splitlines()) == 40
    assert "stopped after its budget of 100 steps" in said


def test_too_few_bits_fail(cli):
    outcome = cli("demo", "turing", "counter", "--budget", 90, "--significand", 6)
    assert outcome.code == 1
    assert "error: the model departs from the machine at step 72" in outcome.err


def test_a_file(tmp_path):
    file = tmp_path / "flip.tm"
    file.write_text("start: a\ninput: 01\na 0 -> a 1 R\na 1 -> a 0 R\n", encoding="utf-8")
    record = execute(str(file), "0110", "hybrid", 10, "rns", 12)
    assert (record["tape"], record["machine"]) == ("1001", "flip.tm")
    assert record["trace"][-1]["left"].endswith("1001")
    file.write_text("start: a\na 0 -> a 1\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"^flip\.tm, line 2 = a 0 -> a 1: is not of the form"):
        read_machine(str(file))
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8"):
        read_machine(str(file))
    with pytest.raises(StateboundError, match="name a readable file"):
        read_machine(str(tmp_path / "none.tm"))


def test_a_departure_is_found_wherever_it_is():
    machine = read_machine("busy-beaver-3")
    run = TuringHybrid(machine).run("", 30)
    assert first_difference(machine, "", run, 30) is None
    for at in range(len(run.tokens)):
        state, symbol, move = run.tokens[at]
        tokens = [*run.tokens[:at], (state, 1 - symbol, move), *run.tokens[at + 1 :]]
        changed = type(run)(tokens, run.outcome, run.ledger, run.theorem)
        assert first_difference(machine, "", changed, 30) == at + 1
    shorter = type(run)(run.tokens[:-1], run.outcome, run.ledger, run.theorem)
    assert first_difference(machine, "", shorter, 30) == len(run.tokens)


def test_bad_requests():
    for arguments, text in (
        (("increment", "1", "magic", 9, None, None), "choose from hybrid, regex"),
        (("increment", "1", "regex", 9, "bin", None), "drop --code"),
        (("increment", "1", "regex", 9, None, 8), "drop --significand"),
        (("increment", "1", "hybrid", 9, None, 99), "significand_bits = 99"),
        (("decrement", "1", "hybrid", 9, None, None), "is not a known machine"),
    ):
        with pytest.raises(UsageError, match=text):
            execute(*arguments)
