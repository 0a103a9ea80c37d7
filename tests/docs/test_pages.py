"""The pages that lead in: their commands print what they say, in a folder of their own."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("start", "ten-minutes", "recipes", "explain")
FILE = re.compile(r'^```python title="(.*?)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS


def text(page: str) -> str:
    return (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")


def examples() -> list[tuple[str, str, str]]:
    """Return the examples: their page, the command, what it prints."""
    found = []
    for page in PAGES:
        blocks = re.findall(r"^```console\n(.*?)^```$", text(page), re.MULTILINE | re.DOTALL)
        for block in blocks:
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, printed = part.partition("\n")
                found.append((page, command, printed))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which a page's commands are run one after the other."""
    return tmp_path_factory.mktemp("page")


@pytest.mark.slow
@pytest.mark.parametrize(("page", "command", "printed"), examples(), ids=[e[1] for e in examples()])
def test_commands(folder, page, command, printed):
    for name, source in FILE.findall(text(page)):
        (folder / name).write_text(source, encoding="utf-8")
    script = f'statebound() {{ "{sys.executable}" -m statebound "$@"; }}\n{command}'
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    pattern = re.sub(r"^( *)\.\.\.$", "...", printed, flags=re.MULTILINE)
    assert doctest.OutputChecker().check_output(pattern, done.stdout, OPTIONS), done.stdout


@pytest.mark.slow
def test_python_examples():
    for page in PAGES:
        for block in re.findall(
            r"^```python\n(>>> .*?)^```$", text(page), re.MULTILINE | re.DOTALL
        ):
            test = doctest.DocTestParser().get_doctest(block, {}, page, page, 0)
            said: list[str] = []
            assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)


def test_verbs_that_pages_name_exist():
    from statebound.experiments.reference.command_line import verbs

    known = {name.partition(" ")[0] for name in verbs()}
    for page in sorted((ROOT / "docs").glob("*.md")):
        named = set(re.findall(r"statebound ([a-z]+)\b(?! \w+ = )", page.read_text("utf-8")))
        code = re.findall(r"`statebound ([a-z]+)|^\$ statebound ([a-z]+)", page.read_text("utf-8"))
        for verb in {a or b for a, b in code} & named:
            assert verb in known, f"{page.name}: {verb}"
