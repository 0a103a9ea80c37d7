"""turing: a layer of attention above a small state runs a Turing machine, token by token."""

from __future__ import annotations

from typing import Any

from statebound.experiments.demos._page import Line, Step, Story

SUMMARY = "One attention layer above a small state runs a Turing machine."
INCOMPLETE = 4


def record(
    machine: str = "increment",
    text: str | None = None,
    by: str = "hybrid",
    budget: int = 1000,
    code: str | None = None,
    significand: int | None = None,
) -> dict[str, Any]:
    """Run a machine by a model, beside the machine itself.

    Parameters are those of `statebound.experiments.turing.execute`; where no input is given
    it is 1011 for ``increment`` and nothing for the others.
    """
    from statebound.experiments.turing import execute

    if text is None:
        text = "1011" if machine == "increment" else ""
    return {"demo": "turing", **execute(machine, text, by, budget, code, significand)}


def outcome(record: dict[str, Any]) -> tuple[int, str]:
    """Return 1 where the model departs from the machine, 4 where it does not halt."""
    if record["first_difference"] is not None:
        return 1, f"the model departs from the machine at step {record['first_difference']}"
    return (0, "") if record["halted"] else (INCOMPLETE, record["verdict"])


def steps(record: dict[str, Any], width: int) -> list[Step]:
    """Tell the record."""
    story = Story()
    ledger = record["ledger"]
    story.scene("The machine")
    story.step(
        f"A Turing machine: {record['machine']}. On its tape: {record['input'] or 'nothing'}.",
        "It reads the cell under its head, writes it, moves by one, and changes its state.",
    )
    how = {
        "hybrid": "A model runs it: a small recurrent state, and one layer of attention.",
        "regex": "A model runs it: a small state, and a search through the text so far.",
    }[record["by"]]
    story.step("", how, "It writes a token a step. The tape is only in these tokens.")
    story.step(
        "",
        "To read a cell, it looks up the last token that wrote there.",
        "Watch the tape, the head in brackets:",
    )
    story.scene("The run")
    for lines in _tape(record, width):
        story.step(*lines)
    differs = record["first_difference"]
    same = (
        "Every step is that of the machine."
        if differs is None
        else f"The model departs from the machine at step {differs}."
    )
    story.step("", f"{record['verdict']}.", same)
    story.scene("What it holds")
    story.step(
        ledger["construction"],
        f"tokens          {ledger['tokens_read']} read, {ledger['tokens_written']} written",
    )
    fields = ", ".join(f"{name} {bits}" for name, bits in ledger["recurrent_fields"].items())
    story.step(f"recurrent bits  {ledger['recurrent_bits']} ({fields})")
    story.step(f"cache bits      {ledger['cache_bits']}")
    story.step(f"parameters      {ledger['parameters']}, {ledger['nonzero']} of them not zero")
    story.step(
        *[
            f"{row['what']:15} {row['measured']}, beside {row['order']} = {row['value']:.1f}: "
            f"ratio {row['ratio']:.2f}"
            for row in record["theorem"]
        ]
    )
    story.step(
        "",
        "The state is small. It can run a Turing machine because it may look back.",
        "Cut it anywhere, and all that is looked back at must cross.",
    )
    return story.steps


def _tape(record: dict[str, Any], width: int) -> list[list[Line]]:
    """Return the tape at each step, lines that fit, the head in brackets."""
    rows, blank = record["trace"], record["blank"]
    names = max(len(row["state"]) for row in rows)
    count = max(4, len(str(rows[-1]["step"])))
    room = max(4, width - count - names - 7)
    left = min(max(len(row["left"].lstrip(blank)) for row in rows), room // 2)
    told, before = [], -1
    for row in rows:
        lines: list[Line] = []
        if row["step"] != before + 1:
            lines.append(f"  ... {row['step'] - before - 1} steps not shown")
        before = row["step"]
        near = row["left"][len(row["left"]) - left :]
        far = row["right"].rstrip(blank)[: room - left]
        lines.append(
            [
                f"{row['step']:{count}}  {row['state']:{names}}  {near}",
                (f"[{row['under']}]", "head"),
                far,
            ]
        )
        told.append(lines)
    return told
