"""How commands speak: JSON on stdout, tables for people, talk on stderr."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from statebound.experiments import tables

table = tables.text


def data(record: Any, *, compact: bool) -> None:
    """Print a record as JSON on stdout: one line, or indented for reading."""
    text = json.dumps(record, indent=None if compact else 2, allow_nan=False)
    sys.stdout.write(text + "\n")


def talk(text: str) -> None:
    """Say something on stderr."""
    sys.stderr.write(text + "\n")


def summary(row: dict[str, Any]) -> str:
    """Return one sentence on a row: what was sent, how it did, and the nearest wall."""
    walls = [
        (row[f"wall_{name}"], name)
        for name in ("ball", "streaming")
        if row[f"wall_{name}"] is not None
    ]
    limit, name = min(walls, default=(None, ""))
    if limit is not None:
        bound = f"none above {limit:.4f} ({name} wall)"
    else:
        bound = f"no wall: {row['wall_reason'] or 'none is proved here'}"
    interval = ""
    if row["interval_level"] is not None:
        interval = f" [{row['success_low']:.4f}, {row['success_high']:.4f}]"
    who = row["model"] or row["protocol"]
    grows = ""
    if row["growing"]:
        grows = f" (growing, {sum(row['growing'].values())} numbers a token)"
    return (
        f"{who}: {row['state_bits']} bits{grows}, success {row['success']:.4f}{interval} "
        f"({row['bob']} Bob, {row['engine']}), {bound}"
    )


def duration(seconds: float) -> str:
    """Return a time as people say it.

    Examples
    --------
    >>> duration(42.3), duration(600), duration(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


class Progress:
    """A progress bar on a terminal, a line now and then off it; nothing when quiet.

    Now and then is at every tenth of the work, or where `every` is given after so many seconds.
    """

    def __init__(self, *, quiet: bool, every: float | None = None) -> None:
        self._quiet, self._said, self._every = quiet, -1, every
        self._when = 0.0
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, done: int, total: int, label: str) -> None:
        """Show how far the work is."""
        if self._quiet:
            return
        if sys.stderr.isatty():
            self._show(done, total, label)
        elif done == total or self._due(done, total):
            self._said = done * 10 // total
            self._when = time.monotonic()
            talk(f"{done}/{total} {label}")

    def _due(self, done: int, total: int) -> bool:
        if self._every is not None:
            return time.monotonic() - self._when >= self._every
        return done * 10 // total > self._said

    def _show(self, done: int, total: int, label: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        if self._bar is None:
            bar = Bar(
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.description}"),
                console=Console(stderr=True),
                transient=True,
            )
            bar.start()
            self._bar, self._task = bar, bar.add_task(label, total=total)
        self._bar.update(self._task, completed=done, description=label)

    def close(self) -> None:
        """Take the bar off the screen."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
