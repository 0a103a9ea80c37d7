"""The report of an audit for a terminal."""

from __future__ import annotations

import sys
from typing import Any, Literal

from statebound.experiments.audit.record import FATAL, WRONG, Audit, Part

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
    console.print(_facts(found), markup=False)
    console.print()
    for finding in found.findings:
        style = {FATAL: "bold red", WRONG: "yellow"}.get(finding.severity, "")
        line = f"{finding.severity:<5}  {finding.code}: {finding.text}"
        console.print(line, style=style, markup=False)
    if found.findings:
        console.print()
    _table(console, "splits against the unsplit run", *_splits(found))
    console.print()
    _table(console, f"parts of the state after {found.handoff} tokens", *_parts(found))
    console.print(_totals(found), markup=False)


def headline(found: Audit) -> str:
    """Return the verdict in one sentence."""
    if not found.ok:
        first = next(f for f in found.findings if f.severity == FATAL)
        return f"cannot be split ({first.code}): {first.text}"
    size = "grows with n"
    if found.growth is not None and found.growth.fixed:
        size = "of fixed size"
    held = f", {found.sizes.live_bits:,} live bits" if found.sizes is not None else ""
    return f"can be split, going on by {found.continue_with}; its state is {size}{held}"


def _facts(found: Audit) -> str:
    facts = [f"{key.replace('_', ' ')} {_plain(value)}" for key, value in found.facts.items()]
    checked = f"checked in {found.checked_in}" if found.checked_in != "as it is" else "checked"
    return "; ".join([*facts, f"{checked} with {found.calls} calls, seed {found.seed}"])


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


def _splits(found: Audit) -> tuple[list[str], list[list[str]]]:
    rows = []
    for s in found.splits:
        error = "nan" if s.error is None else f"{s.error:.1e}"
        told = "passed" if s.positions else "not passed"
        at = "-" if s.worst is None else str(s.worst)
        rows.append([s.way, told, error, at, "right" if s.right else "wrong"])
    return ["going on by", "positions", "largest error", "at handoff", "verdict"], rows


def _parts(found: Audit) -> tuple[list[str], list[list[str]]]:
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
        for p in kept[:SHOWN]
    ]
    if len(kept) > SHOWN:
        rows.append([f"and {len(kept) - SHOWN} more", *[""] * 6])
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


def _totals(found: Audit) -> str:
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
