"""The order of the site's pages: by section, each section by the names of its files."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

REST = "More"
SECTIONS: dict[str, tuple[str, ...]] = {
    "": ("index.md",),
    "Begin": ("start.md", "ten-minutes.md", "demos.md", "page.md", "recipes.md", "lecture.md"),
    "Theory": (
        *("problems.md", "limits.md", "counting-bits.md", "claims.md", "thinking.md"),
        *("closing-the-gap.md", "bibliography.md"),
    ),
    "Measuring": (
        *("results.md", "explain.md", "figures.md", "compare.md", "sweeps*.md", "protocols.md"),
        *("models.md", "stacks.md", "weights.md", "speed.md"),
    ),
    "Ready experiments": ("experiments/index.md", "experiments/*.md"),
    "Trained machines": ("training.md", "training-results.md", "leaderboard.md"),
    "Others' models": ("audit.md", "subjects.md", "capacity.md"),
    "Adding your own": ("adding-variants.md",),
    REST: ("*.md",),
    "Reference": ("reference/command-line.md",),
    "Problems": ("reference/problem-*.md",),
    "Models": ("reference/model-*.md",),
    "Limits": ("reference/limit-*.md",),
    "Other variants": ("reference/*.md",),
}
UNDER = {"Problems": "Reference", "Models": "Reference", "Limits": "Reference"}
UNDER |= {"Other variants": "Reference"}


def nav(files: Iterable[str]) -> list[Any]:
    """Return the navigation for these files: each once, in the first section that names it.

    Examples
    --------
    >>> nav(["reference/model-gru.md", "reference/command-line.md", "index.md", "new.md"])
    [{'Home': 'index.md'}, {'More': ['new.md']}, {'Reference': ['reference/command-line.md', \
{'Models': [{'gru': 'reference/model-gru.md'}]}]}]
    """
    left = sorted(files)
    made: list[Any] = []
    listed: dict[str, list[Any]] = {}
    for title, patterns in SECTIONS.items():
        here: list[Any] = []
        for pattern in patterns:
            found = [name for name in left if _matches(name, pattern)]
            here += found
            left = [name for name in left if name not in found]
        if not title:
            made += [{"Home": name} for name in here]
        elif here and title in UNDER:
            named = [{name.rpartition("/")[2].removesuffix(".md"): name} for name in here]
            short = [{k.partition("-")[2] or k: v for k, v in each.items()} for each in named]
            listed[UNDER[title]].append({title: short})
        elif here:
            listed[title] = here
            made.append({title: here})
    return made


def _matches(name: str, pattern: str) -> bool:
    return name.count("/") == pattern.count("/") and fnmatchcase(name, pattern)
