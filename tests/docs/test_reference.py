"""The generated pages: one for each variant, every verb and option, commands that run."""

from __future__ import annotations

import re
import shlex

import pytest

from statebound import registry
from statebound.experiments.cli import application
from statebound.experiments.reference import command_line, limits, models, problems, variants
from statebound.experiments.reference.docstrings import markdown
from statebound.experiments.reference.nav import nav

PROBLEMS = registry.names("statebound.protocols.problems")
MODELS = registry.names("statebound.models")


def test_a_page_for_each():
    assert list(problems.pages()) == [f"reference/problem-{name}.md" for name in PROBLEMS]
    assert [f"reference/model-{name}.md" for name in MODELS] == list(models.pages())
    every = {name for kind in variants.KINDS.values() for name in registry.names(kind[1])}
    told = "\n".join(variants.pages().values())
    assert all(f"\n## {name}\n" in told for name in every)


def test_every_limit_is_on_a_page():
    made = limits.pages()
    told = "\n".join(made.values())
    for name in registry.names(limits.PACKAGE):
        assert f"reference/limit-{name}.md" in made or f"Module `{name}`." in told


def options(app, before=""):
    """Yield every verb of the program and its options, from what was registered."""
    from typer.main import get_command

    pending = [("", get_command(app))]
    while pending:
        name, found = pending.pop()
        for word, inner in getattr(found, "commands", {}).items():
            pending.append((f"{name} {word}".strip(), inner))
        if not hasattr(found, "commands"):
            yield name, [opt for p in found.params if p.name != "help" for opt in p.opts]


def test_the_command_line_misses_no_verb_and_no_option():
    page = command_line.page()
    sections = {s.partition("\n")[0]: s for s in page.split("\n## ")[1:]}
    found = dict(options(application()))
    assert sorted(sections) == sorted(found)
    assert len(found) > 20
    for name, words in found.items():
        for word in words:
            assert f"`{word if word.startswith('-') else word.upper()}`" in sections[name], word


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_commands_of_a_problem_run(cli, name):
    block = re.search(r"```sh\n(.*?)```", problems.page(name), re.DOTALL)
    assert block
    for command in block[1].splitlines():
        said = cli(*shlex.split(command)[1:], "--json")
        assert said.code == 0, said.err


def test_formulas_are_blocks_and_signs_are_kept():
    page = models.page("gru")
    assert "```text\nr  = sigmoid(W_r x + b_ir + U_r h + b_hr)\n" in page
    assert "| h 8 | 8 | from -1 to 1 | 0 |" in page
    assert "Vaswani" in models.page("attention")  # from the module that it is built from
    assert markdown("**One, s* too**: *pattern* s*(n) is 2 * 3*4") == (
        "**One, s\\* too**: *pattern* s\\*(n) is 2 \\* 3\\*4"
    )
    made = markdown("Let a < b, with x*y and ``x*y``::\n\n    a_b\n\n* one\n* two")
    assert made == ("Let a &lt; b, with x\\*y and `x*y`:\n\n```text\na_b\n```\n\n* one\n* two")


def test_sections_of_docstrings():
    made = markdown(
        "Do it.\n\nParameters\n----------\nn\n    Size, x_1.\n\nExamples\n--------\n>>> 1\n1"
    )
    assert "**Parameters**\n\n- `n`:\n  Size, x\\_1.\n" in made
    assert made.endswith("```python\n>>> 1\n1\n```")


def test_the_navigation_holds_every_page_once():
    def flat(entries):
        for entry in [entries] if isinstance(entries, str) else entries:
            if isinstance(entry, str):
                yield entry
            else:
                for inner in entry.values():
                    yield from flat(inner)

    files = ["index.md", "start.md", "sweeps.md", "sweeps-many.md", "unheard_of.md", "demos.md"]
    files += [*problems.pages(), *variants.pages(), "reference/command-line.md"]
    made = nav(files)
    assert sorted(flat(made)) == sorted(files)
    assert {"More": ["unheard_of.md"]} in made
    assert {"Begin": ["start.md", "demos.md"]} in made
