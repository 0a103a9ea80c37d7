"""The command line as a function: one call, its exit code and what it printed."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from statebound.experiments.cli import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str
    raw: bytes

    @property
    def row(self) -> dict[str, Any]:
        return json.loads(self.out)


Cli = Callable[..., Outcome]


@pytest.fixture
def cli(monkeypatch) -> Cli:
    """Call `main` in this process; arguments are words, `stdin` is bytes."""

    def call(*words: object, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "argv", ["statebound", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as left,
        ):
            main()
        out.flush()
        raw = out.buffer.getvalue()
        return Outcome(left.value.code, raw.decode("utf-8", "replace"), err.getvalue(), raw)

    return call
