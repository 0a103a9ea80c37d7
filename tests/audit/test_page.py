"""docs/audit.md: its example is real, and it lists what an audit can say."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "audit.md"
TEXT = PAGE.read_text(encoding="utf-8")
SOURCES = PAGE.parents[1] / "experiments" / "audit"


def block(kind):
    (found,) = re.findall(rf"^```{kind}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    return found


def test_the_example(tmp_path):
    (tmp_path / "mine.py").write_text(block("python"), encoding="utf-8")
    command, _, printed = block("console").removeprefix("$ ").partition("\n")
    done = subprocess.run(
        [sys.executable, "-m", *command.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(printed, done.stdout, options), done.stdout


def test_every_finding_is_explained():
    listed = {
        code
        for row in re.findall(r"^\| (`[a-z-]+`(?:, `[a-z-]+`)*) \|", TEXT, re.MULTILINE)
        for code in re.findall(r"`([a-z-]+)`", row)
    }
    source = "".join(path.read_text(encoding="utf-8") for path in sorted(SOURCES.glob("*.py")))
    said = set(re.findall(r'self\.say\(\s*"([a-z-]+)"', source))
    assert len(said) > 20
    assert said == listed - {"steps", "chunks"}
