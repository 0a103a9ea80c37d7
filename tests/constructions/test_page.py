"""The page on these constructions: its Python runs."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "closing-the-gap.md"


def test_python_examples():
    text = PAGE.read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest(block, {}, PAGE.name, PAGE.name, 0)
    said: list[str] = []
    assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)
    assert len(test.examples) == 9


def test_the_machine_that_is_shown_is_the_one_that_comes_along():
    from statebound.models.constructions.turing import load, parse

    text = PAGE.read_text(encoding="utf-8")
    (block,) = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert parse(block).rules == load("increment").rules
