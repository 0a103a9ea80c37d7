"""The report of an audit for a terminal."""

from __future__ import annotations

import sys
from typing import Any, Literal

from statebound.experiments.audit.record import FATAL, WRONG, Audit, Part
from statebound.experiments.audit.survival import STEPPED, Survival
from statebound.experiments.estimates import Interval

SHOWN = 24
"""Parts shown; the JSON has all."""

WIDE = 240
"""Columns off a terminal, where nothing has to fit."""


def show(found: Audit) -> None:
    """Print a report on stdout; colours only where it is a terminal."""
    from rich.console import Console

    terminal = sys.stdout.isatty()
    width = None if terminal else WIDE
    console = Console(file=sys.stdout, width=width, soft_wrap=not terminal, highlight=False)
    console.print(f"{found.subject}: {headline(found)}", style="bold", markup=False)
    console.print(facts(found), markup=False)
    console.print()
    for finding in found.findings:
        style = {FATAL: "bold red", WRONG: "yellow"}.get(finding.severity, "")
        line = f"{finding.severity:<5}  {finding.code}: {finding.text}"
        console.print(line, style=style, markup=False)
    if found.findings:
        console.print()
    _table(console, "splits against the unsplit run", *splits(found))
    console.print()
    _table(console, f"parts of the state after {found.handoff} tokens", *parts(found))
    console.print(totals(found), markup=False)
    if found.survival is not None:
        _survival(console, found.survival)


def _survival(console: Any, held: Survival) -> None:
    console.print()
    if held.reason:
        console.print(f"rounding not measured: {held.reason}", markup=False)
        return
    _table(console, "what survives rounding", *levels(held))
    console.print(measured(held), markup=False)
    if held.no_steps:
        console.print(f"not rounded at every step: {held.no_steps}", markup=False)
    console.print(mixture(held), markup=False)
    console.print()
    for task in held.recall:
        said = "see below" if task.does else task.reason
        console.print(f"{task.task}, n = {task.n}: {said}", markup=False)
    if any(task.does for task in held.recall):
        _table(console, "retrieval against the wall", *recalled(held))


def headline(found: Audit) -> str:
    """Return the verdict in one sentence."""
    if not found.ok:
        first = next(f for f in found.findings if f.severity == FATAL)
        return f"cannot be split ({first.code}): {first.text}"
    size = "grows with n"
    if found.growth is not None and found.growth.fixed:
        size = "is of fixed size"
    held = f", {found.sizes.live_bits:,} live bits" if found.sizes is not None else ""
    return f"can be split, going on by {found.continue_with}; its state {size}{held}"


def facts(found: Audit) -> str:
    """Return what the adapter found out, and how the audit was made."""
    known = [f"{key.replace('_', ' ')} {_plain(value)}" for key, value in found.facts.items()]
    checked = f"checked in {found.checked_in}" if found.checked_in != "as it is" else "checked"
    return "; ".join([*known, f"{checked} with {found.calls} calls, seed {found.seed}"])


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {held}" for key, held in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _table(console: Any, title: str, heads: list[str], rows: list[list[str]]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for at, head in enumerate(heads):
        side: Literal["left", "right"] = "left" if at == 0 or head == "remark" else "right"
        table.add_column(head, justify=side, overflow="fold", no_wrap=at == 0)
    for row in rows:
        table.add_row(*row)
    console.print(table, markup=False)


def splits(found: Audit) -> tuple[list[str], list[list[str]]]:
    """Return the table of ways of going on."""
    rows = []
    for s in found.splits:
        error = "nan" if s.error is None else f"{s.error:.1e}"
        told = "passed" if s.positions else "not passed"
        at = "-" if s.worst is None else str(s.worst)
        rows.append([s.way, told, error, at, "right" if s.right else "wrong"])
    return ["going on by", "positions", "largest error", "at handoff", "verdict"], rows


def parts(found: Audit, most: int | None = SHOWN) -> tuple[list[str], list[list[str]]]:
    """Return the table of what the state is made of, at most so many rows."""
    kept = [p for p in found.parts if p.kind != "constant"]
    rows = [
        [
            p.path,
            p.dtype,
            "x".join(map(str, p.shape)) or "-",
            p.kind,
            f"{p.live_numbers:,} of {p.numbers:,}",
            f"{p.live_bits:,}",
            _remark(p),
        ]
        for p in kept[:most]
    ]
    if most is not None and len(kept) > most:
        rows.append([f"and {len(kept) - most} more", *[""] * 6])
    return ["part", "dtype", "shape", "kind", "live numbers", "live bits", "remark"], rows


def _remark(part: Part) -> str:
    said = []
    if part.live is False:
        said.append("dead")
    for axis in sorted({axis for axis, _ in part.dead}):
        places = ",".join(str(index) for at, index in part.dead if at == axis)
        said.append(f"dead along axis {axis}: {places}")
    if part.counter:
        said.append("counts tokens")
    if part.grows:
        said.append(f"{part.grows:g} numbers a token")
    return "; ".join(said) or "-"


def totals(found: Audit) -> str:
    """Return the sums, a line each."""
    if found.sizes is None:
        return ""
    s = found.sizes
    kinds = ", ".join(f"{bits:,} in {kind}" for kind, bits in s.by_dtype.items())
    lines = [
        f"stored: {s.stored_numbers:,} numbers, {s.stored_bits:,} bits ({kinds or 'none'})",
        f"live: {s.live_numbers:,} numbers, {s.live_bits:,} bits",
    ]
    if s.counter_bits:
        lines.append(
            f"position: {s.counter_bits} bits more, ceil(log2(n + 1)) at n = {found.handoff}, "
            "unless n is public"
        )
    return "\n".join(lines)


def measured(held: Survival) -> str:
    """Return how rounding was measured."""
    floor = "" if held.floor is None else f"; {held.floor.best:.3f} agree where nothing is sent"
    return (
        f"{held.prompts} random inputs ({STEPPED} at every step), {held.handoff} tokens before the "
        f"handoff and {held.ahead} after it; agreement with {100 * held.level:g} % "
        f"intervals{floor}; unrounded the message has {held.exact_bits:,} bits"
    )


def levels(held: Survival) -> tuple[list[str], list[list[str]]]:
    """Return the table of ways to round."""
    rows = [
        [
            level.which,
            f"{level.quantiser} {level.bits}",
            "handoff" if level.regime == "handoff" else f"every step, {level.rounding}",
            f"{level.state_bits:,}",
            "nan" if level.error is None else f"{level.error:.1e}",
            _interval(level.agreement),
        ]
        for level in held.levels
    ]
    return ["rounded", "to", "when", "message bits", "error", "same next token"], rows


def mixture(held: Survival) -> str:
    """Return the mixed precision that was found."""
    if held.mixed is None:
        return "no precision tried keeps the quality"
    m = held.mixed
    text = ",".join(f"{name}={bits}" for name, bits in m.bits.items())
    over = "" if m.complete else ", the search stopped at its budget"
    return (
        f"smallest found for agreement {m.quality:g} ({m.quantiser}): {text}; "
        f"{m.state_bits:,} bits, {m.uniform_state_bits:,} with {m.uniform_bits} bits for all; "
        f"on fresh inputs {_interval(m.fresh)} ({m.evaluations} precisions tried{over})"
    )


def recalled(held: Survival) -> tuple[list[str], list[list[str]]]:
    """Return the table of tasks that are done."""
    rows = [
        [
            f"{task.task}, n = {task.n}",
            "as it is" if r.bits is None else f"{task.quantiser} {r.bits}",
            f"{r.state_bits:,}",
            _interval(r.success),
            "-" if r.wall is None else f"{r.wall:.4f}{' BROKEN' * r.violates_wall}",
            "-" if r.efficiency is None else f"{r.efficiency:.4f}",
            f"{task.chance:.3g}",
        ]
        for task in held.recall
        for r in task.rows
    ]
    return ["task", "state", "message bits", "success", "wall", "efficiency", "a guess"], rows


def _interval(found: Interval) -> str:
    return f"{found.best:.3f} [{found.low:.3f}, {found.high:.3f}]"
