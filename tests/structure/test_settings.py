"""In CI a comparison that is skipped is a failure; elsewhere it is a skip."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from .checkout import ROOT

ONE = """
import pytest
def test_plain(): pytest.skip("not here")
@pytest.mark.parity
def test_compared(): pytest.importorskip("no_such_library")
"""
WHOLE = """
import pytest
pytest.importorskip("no_such_library")
def test_compared(): pass
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "ci", "code", "counts"),
    [
        (ONE, "0", 0, "2 skipped"),
        (ONE, "1", 1, "1 failed, 1 skipped"),
        (WHOLE, "0", 5, "1 skipped"),
        (WHOLE, "1", 2, "1 error"),
    ],
)
def test_skips(tmp_path, source, ci, code, counts):
    shutil.copy2(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = parity\n", encoding="utf-8")
    (tmp_path / "test_it.py").write_text(source, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env=os.environ | {"STATEBOUND_CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1].partition(" in ")[0]) == (code, counts)
