"""The command: what it shows, its exit codes, and errors in one line."""

from __future__ import annotations

import json

import pytest

from statebound.errors import StateboundError, UsageError
from statebound.experiments.cli.demo import MACHINES
from statebound.experiments.cli.demo import turing as command
from statebound.experiments.turing import execute, first_difference, read_machine, words
from statebound.models.constructions.turing import machine_names
from statebound.models.constructions.turing_hybrid import TuringHybrid


def test_a_run_is_shown_step_by_step(capsys):
    assert command("increment", text="1011", as_json=False) == 0
    shown, said = capsys.readouterr()
    lines = shown.splitlines()
    assert lines[0].split() == ["0", "right", "____[1]011"]
    assert lines[8].split() == ["8", "done", "___1[1]00"]
    assert "recurrent bits  23 (address 11, counter 10, state 2)" in lines
    assert said == "binary increment: leaves 1100 after 8 steps, in state done\n"


@pytest.mark.parametrize("by", ["hybrid", "regex"])
def test_json(capsys, by):
    assert command("palindrome", text="abba", by=by, as_json=True) == 0
    shown, said = capsys.readouterr()
    record = json.loads(shown)
    assert said == ""
    assert (record["accepted"], record["halted"], record["first_difference"]) == (True, True, None)
    assert record["ledger"]["recurrent_bits"] == sum(record["ledger"]["recurrent_fields"].values())
    assert len(record["trace"]) == record["steps"] + 1


@pytest.mark.parametrize("by", ["hybrid", "regex"])
def test_a_machine_that_does_not_halt_is_incomplete(capsys, by):
    assert command("counter", text="", by=by, budget=100, as_json=False) == 4
    shown, said = capsys.readouterr()
    assert "  ... 61 steps not shown" in shown.splitlines()
    assert shown.count("[") == 40
    assert "stopped after its budget of 100 steps" in said


def test_too_few_bits_fail(capsys):
    assert command("counter", text="", budget=90, significand=6, as_json=False) == 1
    assert "departs from the machine at step 72" in capsys.readouterr().err


def test_a_file(tmp_path):
    file = tmp_path / "flip.tm"
    file.write_text("start: a\ninput: 01\na 0 -> a 1 R\na 1 -> a 0 R\n", encoding="utf-8")
    record = execute(str(file), "0110", "hybrid", 10, "rns", 12)
    assert (record["tape"], record["machine"]) == ("1001", "flip.tm")
    assert "1001[_]" in words(record)
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


def test_the_help_names_every_machine():
    assert list(MACHINES) == machine_names()


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
