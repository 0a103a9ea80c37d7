"""Demonstrations to a file: plain text that fits, and mistakes in one line."""

from __future__ import annotations

import functools
import io
import sys

import pytest

from statebound import registry
from statebound.experiments.cli.demo import MACHINES, PACKAGE, demos
from statebound.experiments.demos import _keys, _show
from statebound.experiments.demos._page import Story, aligned, bar, chunks, plain, strip
from statebound.models.constructions.turing import machine_names

from .test_records import SMALL


def test_the_list_is_the_registry(cli):
    rows = cli("demo", "--json").row
    assert [row["demo"] for row in rows] == [
        stem.replace("_", "-") for stem in registry.names(PACKAGE)
    ]
    shown = cli("demo").out
    for row in rows:
        assert row["shows"] in shown
        assert row["shows"] in cli("demo", row["demo"], "--help").out.replace("\n  ", " ")
    assert max(map(len, shown.splitlines())) <= 80
    assert list(MACHINES) == machine_names()


@pytest.fixture(scope="module")
def records():
    made = {}
    for name, module in demos().items():
        words = SMALL.get(name, ())
        given = {words[i].removeprefix("--"): words[i + 1] for i in range(0, len(words), 2)}
        made[name] = module.record(**given)
    return made


@pytest.mark.parametrize("name", sorted(demos()))
def test_to_a_file_there_are_no_escape_codes_and_no_waiting(cli, name, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("time.sleep", lambda _: pytest.fail("waits"))
    for more in ((), ("--auto", "--pause", 9)):
        outcome = cli("demo", name, *SMALL.get(name, ()), *more)
        assert (outcome.code, outcome.err) == (0, "")
        assert "\x1b" not in outcome.out
        assert max(map(len, outcome.out.splitlines())) <= 80
        assert all(line == line.rstrip() for line in outcome.out.splitlines())


@pytest.mark.parametrize("width", [24, 40, 80])
@pytest.mark.parametrize("name", sorted(demos()))
def test_steps_fit_every_width(records, name, width):
    module = demos()[name]
    steps = module.steps(records[name], width)
    assert len(steps) == len(module.steps(records[name], 80))
    for step in steps:
        assert 0 < len(step.scene) <= 40
        for line in _show._text(step.lines, width):
            assert len(line.plain) <= width
    drawn = [plain(line) for step in steps for line in step.lines if "██" in plain(line)]
    assert all(len(line) <= max(width, 36) for line in drawn)


def test_nothing_is_lost_by_wrapping(records):
    for name, module in demos().items():
        for step in module.steps(records[name], 40):
            said = " ".join(part.plain for part in _show._text(step.lines, 40))
            for word in " ".join(map(plain, step.lines)).split():
                assert word in said or len(word) > 30


def test_a_terminal_without_unicode_gets_ascii(monkeypatch, records):
    said = {}
    for encoding in ("ascii", "utf-8"):
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding))
        for name, module in demos().items():
            build = functools.partial(module.steps, records[name])
            _show.show(name, build, auto=False, pause=0.0)
        sys.stdout.flush()
        said[encoding] = raw.getvalue().decode(encoding)
    assert said["ascii"].count("?") == said["utf-8"].count("?")  # nothing is unknown
    assert "####" in said["ascii"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("handoff", "--n", 0), "n = 0: must be 1..64 here; pass a length in that range"),
        (("handoff", "--query", 17), "query = 17: index with n = 16 has queries 1..16"),
        (("handoff", "--model", "none"), "model = none: is not a known"),
        (("handoff", "--bits", 0), "bits = 0"),
        (("handoff", "--seed", -1), "seed = -1: must not be negative"),
        (("pigeonhole", "--n", 65), "n = 65: must be 2..64 here"),
        (("pigeonhole", "--numbers", 0), "numbers = 0"),
        (("limit", "--state-bits", 8), "state_bits = 8: must be 0..7 here"),
        (("limit", "--guess", 0), "guess = 0.0: must be a number in (0, 1]"),
        (("limit", "--guess", "nan"), "guess = nan: must be a number in (0, 1]"),
        (("istree", "--n", 3), "n = 3: must be 4..40 here"),
        (("istree", "--state-bits", -1), "state_bits = -1: must be in 0.."),
        (("cot", "--n", 30), "n = 30"),
        (("cot", "--n", 1), "n = 1: must be at least 2"),
        (("duality", "--model", "gru"), "model = gru: has no attention form here"),
        (("two-passes", "--n", 3), "n = 3: must be 4..64 here"),
        (("turing", "none"), "machine = none: is not a known machine"),
        (("limit", "--pause", 2), "pause = 2.0: is for demonstrations that go on alone"),
        (("limit", "--auto", "--pause", -1), "pause = -1.0: must be 0 to 3600 seconds"),
        (("limit", "--auto", "--pause", "nan"), "pause = nan: must be 0 to 3600 seconds"),
        (("none",), "No such command 'none'; see "),
    ],
)
def test_mistakes_are_one_line(cli, words, said):
    outcome = cli("demo", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {said}")
    assert outcome.err.count("\n") == 1


def test_what_is_not_known_points_to_the_help_of_its_verb(cli):
    for words in (("demo",), ("demo", "limit"), ("measure",)):
        assert cli(*words, "--none").err.endswith(f"{' '.join(words)} --help\n")


def test_a_leak_is_said(cli, monkeypatch):
    made = demos()["handoff"].record(n=3, numbers=1) | {"leak": "one bit"}
    monkeypatch.setattr(demos()["handoff"], "record", lambda **_: made)
    assert demos()["handoff"].outcome(made) == (3, "an uncounted bit: one bit")
    thought = {"leaks": ["gru: one bit"]}
    assert demos()["cot"].outcome(thought) == (3, "an uncounted bit: gru: one bit")


def test_a_dumb_terminal_is_written_like_a_file(monkeypatch):
    terminal = io.TextIOWrapper(io.BytesIO(), "utf-8")
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", terminal)
    monkeypatch.setattr(sys, "stdout", terminal)
    for term, able in (("dumb", False), ("xterm", True)):
        monkeypatch.setenv("TERM", term)
        assert _keys.steppable() == able


def test_keys():
    for read, means in (
        (b"\x1b[D\x1b[A\x1b[5~\x7fbB\x1bOD", ["back"] * 7),
        (b"qQ\x04", ["quit"] * 3),
        ("x \n\r\té\x1b[C\x1b[6~\x1b".encode(), ["forward"] * 9),
        (b"", []),
    ):
        assert _keys.meanings(read) == means


def test_small_drawings():
    assert plain(strip([-1.0, 0.0, 9.0], 0.0, 1.0)) == "▁▁█"
    assert plain(strip([2.0, 2.0], 2.0, 2.0)) == "▁▁"
    assert [plain(bar(s, 4)) for s in (-1.0, 0.0, 0.5, 1.0, 2.0)] == [
        "····", "····", "██··", "████", "████",
    ]  # fmt: skip
    rows = aligned([("k", range(1, 5)), ("x", "0110")], 8)
    assert rows == ["k  1 2 3", "x  0 1 1", "", "k  4", "x  0"]
    assert [i for part in chunks(17, 4) for i in part] == list(range(17))
    assert chunks(0, 4) == []


def test_a_scene_grows():
    story = Story()
    story.scene("one")
    story.step("a")
    story.step("b", "c")
    story.scene("two")
    story.step("d")
    shown = [_show.scene_until(story.steps, at) for at in range(3)]
    assert shown == [["a"], ["a", "b", "c"], ["d"]]
