"""The README's commands are those of .ci/run, and its examples are real."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from .checkout import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
OPTIONS = doctest.ELLIPSIS


def blocks(kind: str) -> list[str]:
    """Return the README's code blocks of a kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def console() -> list[tuple[str, str]]:
    """Return the examples on the command line: a command, what it prints."""
    found = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            found.append((command, printed))
    return found


def test_the_first_screen_holds_two_commands():
    run, test = (block.rstrip("\n") for block in blocks("sh"))
    assert "\n" not in run + test
    assert run.endswith("statebound run")
    assert test.endswith("python -m pytest -n auto")
    assert all(c.startswith("python3 -m venv .venv && .venv/bin/pip install ") for c in (run, test))
    assert README.index(test) < README.index("## ")


def test_ci_runs_the_same_commands():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    said = subprocess.run([script, "commands"], capture_output=True, text=True, check=True).stdout
    assert said == "".join(blocks("sh"))
    text = script.read_text(encoding="utf-8")
    assert text.count('bash -euc "${commands[0]}"') == 1
    assert text.count('bash -euc "${commands[1]//.venv/$work/venv}"') == 1


def test_ci_installs_what_tests_compare_with():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = project["optional-dependencies"]["parity"]
    assert all("==" in requirement for requirement in extra)
    (torch,) = (requirement for requirement in extra if requirement.startswith("torch=="))
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert f'pip" install {torch}\n' in script
    assert "pip\" install -e '.[test,parity,docs]'\n" in script


def test_libraries_that_are_looked_for_are_in_an_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [r for extra in project["optional-dependencies"].values() for r in extra]
    held = {re.split(r"[=<>]", requirement)[0].removeprefix("google-") for requirement in wanted}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        looked_for = set(re.findall(r'importorskip\("(\w+)[".]', source))
        assert looked_for - held <= {"statebound", "no_such_library"}, path.name


@pytest.fixture
def workplace(tmp_path):
    """An empty folder with the README's own model in it."""
    (model,) = (b for b in blocks("python") if "class Average(Cell)" in b)
    (tmp_path / "my_model.py").write_text(model, encoding="utf-8")
    return tmp_path


def execute(command: str, folder: Path) -> str:
    """Run a shell command; stdout and stderr come back in the order they were written."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("command", "printed"), console(), ids=[c for c, _ in console()])
def test_command_line_examples(workplace, command, printed):
    pattern = re.sub(r"^ +\.\.\.$", "...", printed, flags=re.MULTILINE)
    got = execute(command, workplace)
    assert doctest.OutputChecker().check_output(pattern, got, OPTIONS), got


@pytest.mark.slow
def test_python_examples():
    sessions = [b for b in blocks("python") if b.startswith(">>> ")]
    assert sessions
    for text in sessions:
        test = doctest.DocTestParser().get_doctest(text, {}, "README", "README.md", 0)
        said: list[str] = []
        assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)


def test_an_example_that_is_not_real_is_noticed():
    check = doctest.OutputChecker().check_output
    assert check("a\n...\nc\n", "a\nb\nc\n", OPTIONS)
    assert not check("a\n...\nc\n", "a\nb\nd\n", OPTIONS)
