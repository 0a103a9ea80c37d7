"""How a handoff is told, scene by scene."""

from __future__ import annotations

from typing import Any

from statebound.experiments.demos._page import (
    Line,
    Step,
    Story,
    aligned,
    chunks,
    counted,
    grouped,
    level,
    mark,
    strip,
)


def steps(record: dict[str, Any], width: int) -> list[Step]:
    """Tell the record of a handoff."""
    story = Story()
    n, M = record["n"], record["state_bits"]
    story.scene("The game")
    story.step(
        f"Alice has {counted(n, 'bit')}. Bob has an index k, and wants bit k.",
        "Alice does not know k. Bob does not know her bits.",
    )
    story.step(
        "",
        f"Alice reads her bits with a model ({record['model']}, {record['init']} parameters).",
        f"Its state: {counted(record['numbers'], 'number')}. Rounded: {counted(M, 'bit')} in all.",
    )
    story.step("", "She sends the rounded state, once. Nothing else crosses.")
    _alice(story, record, width)
    _message(story, record)
    _bob(story, record)
    _indices(story, record, width)
    _everybody(story, record, width)
    return story.steps


def _span(record: dict[str, Any]) -> tuple[float, float]:
    every = [v for state in [*record["states"], record["restored"]] for v in state]
    return min(every), max(every)


def _alice(story: Story, record: dict[str, Any], width: int) -> None:
    x, states = record["x"], record["states"]
    low, high = _span(record)
    story.scene("Alice reads")
    story.step(f"Columns: her numbers, from {low:.2f} (▁) to {high:.2f} (█).", "")
    place = len(str(len(x)))
    for part in chunks(len(x), 8):
        lines: list[Line] = [
            [f"bit {a + 1:>{place}} is ", (x[a], "alice"), "  ", *strip(states[a], low, high)]
            for a in part
        ]
        story.step(*lines)
    story.step("", f"All {len(x)} bits are read. What is left of them is this last state.")


def _message(story: Story, record: dict[str, Any]) -> None:
    codes, widths = record["codes"], record["widths"]
    values, restored = record["states"][-1], record["restored"]
    bits, M = record["message_bits"], record["state_bits"]
    story.scene("Alice rounds and sends")
    story.step(
        "Each number becomes a code of few bits. What a code stands for is public, and was "
        "fixed before Alice had any bits.",
        "",
    )
    place, ends, at = len(str(len(codes))), [], 0
    for size in widths:
        at += size
        ends.append(at)
    for part in chunks(len(codes), 4):
        lines: list[Line] = []
        for c in part:
            said = f"{c + 1:>{place}}  "
            if len(codes) == len(values):  # else scales, too, have codes
                said += f"{values[c]:>6.2f} -> {restored[c]:>5.2f}, "
            cut = bits[ends[c] - widths[c] : ends[c]]
            counter = f"  {ends[c]:>{len(str(M))}} of {M} bits"
            lines.append([f"{said}code {codes[c]}: ", (cut, "alice"), (counter, "faint")])
        story.step(*lines)
    story.step(
        "",
        ["The message, in bits: ", (grouped(bits), "alice")],
        ["In hex:               ", (record["message"], "alice")],
        "(The first bit of a code, and of a byte, is its lowest.)",
    )
    missing = len(record["x"]) - M
    rest = f", {missing} fewer than she read" if missing > 0 else ""
    story.step(f"{counted(M, 'bit')} cross{'' if M > 1 else 'es'}{rest}.")


def _bob(story: Story, record: dict[str, Any]) -> None:
    k = record["query"]
    low, high = _span(record)
    story.scene("Bob answers")
    story.step(
        ["Bob has the message ", (record["message"], "alice"), "."],
        ["And he has his index, ", (f"k = {k}", "bob"), "."],
        "He has no bit of x, and no number as it was before rounding.",
    )
    story.step(
        "",
        ["Alice's last state:          ", *strip(record["states"][-1], low, high)],
        ["Bob restores from the codes: ", *strip(record["restored"], low, high)],
    )
    if record["votes"] is not None:
        zero, one = record["votes"][k - 1]
        story.step(
            "",
            f"{record['same_message']} of the {record['inputs']} inputs send this very message.",
            "Bob cannot tell them apart.",
        )
        story.step(f"In {zero} of them bit {k} is 0, in {one} it is 1.")
        story.step(["So he does best to say ", (f"{record['answers'][k - 1]}", "bob"), "."])
    else:
        story.step(
            "",
            ["His readout, which never saw x, says ", (f"{record['answers'][k - 1]}", "bob"), "."],
        )
    truth = record["truth"][k - 1]
    right = mark(right=truth == record["answers"][k - 1])
    story.step([f"Alice's bit {k} is ", (f"{truth}", "alice"), ": ", right, "."])


def _indices(story: Story, record: dict[str, Any], width: int) -> None:
    n, truth, answers = record["n"], record["truth"], record["answers"]
    wrong = ["" if a == b else "✗" for a, b in zip(truth, answers, strict=True)]
    rows = [("k", range(1, n + 1)), ("x", truth), ("Bob", answers), ("", wrong)]
    story.scene("Every index")
    story.step("The same message, asked for each index in turn:", "", *aligned(rows, width))
    story.step("", f"{record['right']} of {n} are right for this x.")


def _everybody(story: Story, record: dict[str, Any], width: int) -> None:
    M, success, wall = record["state_bits"], record["success"], record["wall_ball"]
    exact = record["interval_level"] is None
    inputs = f"all {record['inputs']} inputs" if exact else f"{record['trials']} inputs drawn"
    story.scene("Every input")
    story.step(f"Now {inputs}, and each index equally often.", "")
    story.step(level("a coin", record["chance"], width))
    story.step(level("this machine", success, width, top=1.0))
    if not exact:
        low, high = record["success_low"], record["success_high"]
        story.step(f"({record['interval_level']:.0%} interval: {low:.4f} to {high:.4f})")
    if wall is not None:
        story.step(level(f"any protocol, {M} bits", wall, width))
        story.step("No model and no Bob passes the last line: it is proved.")
    by_query = record["success_by_query"]
    story.step(
        "",
        "Success by index, from a coin (▁) to always right (█):",
        ["k = 1 ", *strip(by_query, record["chance"], 1.0), f" k = {record['n']}"],
    )
