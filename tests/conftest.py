"""Settings for all tests.

With STATEBOUND_CI=1 hypothesis draws the same examples every time, and a comparison
with another library that would be skipped fails: there the library is installed.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis
import pytest

from statebound.experiments.cli import main

IN_CI = os.environ.get("STATEBOUND_CI") == "1"

hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("ci" if IN_CI else "local")

# folders whose tests see the trained machines that are shipped
WITH_ZOO = ("page", "trained", "training")


@pytest.fixture(scope="module", autouse=True)
def _no_trained_machines(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[None]:
    """Elsewhere a test that names no parameters means drawn or constructed ones, at any size."""
    if Path(request.path).parent.name in WITH_ZOO:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        empty = tmp_path_factory.getbasetemp() / "no_zoo"
        patch.setattr("statebound.reductions.zoo.FOLDER", empty)
        yield


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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    skipped = report.skipped and not hasattr(report, "wasxfail")
    if IN_CI and skipped and item.get_closest_marker("parity") is not None:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: a comparison must not be skipped here: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if IN_CI and report.skipped:  # a module skipped as a whole may hold comparisons
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid}: skipped as a whole: {report.longrepr}"
    return report
