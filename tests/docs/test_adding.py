"""The page on adding variants, followed word for word in a copy of the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adding-variants.md").read_text(encoding="utf-8")
BLOCK = re.compile(r'^```(?:python|text) title="(.*?)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
COPIED = ("models", "protocols", "reductions", "experiments", "src", "tests", "typings")


def follow(root: Path) -> dict[str, list[str]]:
    """Write every block of the page where its title says; returns files and added lines."""
    done: dict[str, list[str]] = {"files": [], "lines": []}
    for title, text in BLOCK.findall(PAGE):
        path, colon, name = title.partition(": ")
        if not colon:
            assert not (root / path).exists()
            (root / path).write_text(text, encoding="utf-8")
            done["files"].append(path)
            continue
        source = (root / path).read_text(encoding="utf-8")
        (head,) = re.findall(rf"^{name}(?:: .*)? = [\[{{]\n", source, re.MULTILINE)
        (root / path).write_text(source.replace(head, head + text), encoding="utf-8")
        done["lines"].append(title)
    return done


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of what the contracts need, with the page's files in it."""
    root = tmp_path_factory.mktemp("copy")
    if not (ROOT / "typings").exists():
        pytest.skip("only a checkout has the links by which a copy can be imported")
    listed = subprocess.run(
        [
            *("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"),
            *(*COPIED, "pyproject.toml"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    subprocess.run(
        ["xargs", "-0", "cp", "-P", "--parents", "-t", str(root)],
        cwd=ROOT,
        input=listed,
        text=True,
        check=True,
    )
    assert follow(root) == {
        "files": [
            "models/average.py",
            "protocols/problems/prefix_parity.py",
            "reductions/quantisers/clipped.py",
        ],
        "lines": [
            "tests/protocols/cases.py: CASES",
            "tests/protocols/test_problems.py: DEFINITIONS",
            "tests/experiments/test_wire.py: PAIRS",
        ],
    }
    return root


def run(root: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root / "typings")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tests", "chosen"),
    [
        ("tests/models/test_contract.py", "average"),
        ("tests/protocols/test_problems.py", "prefix_parity or every_problem_has_cases"),
        ("tests/reductions/test_quantisers.py", "clipped"),
        ("tests/structure/test_docs.py", "average or prefix_parity or clipped"),
        ("tests/structure/test_arrows.py", "average or prefix_parity or clipped"),
    ],
)
def test_the_contracts_pass(copy, tests, chosen):
    said = run(copy, "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", tests, "-k", chosen)
    assert re.search(r"\d+ passed", said.splitlines()[-1])


@pytest.mark.slow
def test_the_command_line_has_them(copy):
    words = "prefix_parity --n 6 --model average --numbers 4 --quantiser clipped --bits 2 --json"
    said = run(copy, "statebound", "measure", *words.split())
    assert '"state_bits": 8' in said
    assert '"effective_n": 6' in said


@pytest.mark.slow
def test_the_linter_agrees(copy):
    files = [title for title, _ in BLOCK.findall(PAGE) if ": " not in title]
    run(copy, "ruff", "check", *files)
    run(copy, "ruff", "format", "--check", *files)


def test_the_commands_of_the_page_name_tests_that_are_there():
    for path in re.findall(r"tests/[\w/]+(?:\.py)?", PAGE):
        assert (ROOT / path).exists(), path
