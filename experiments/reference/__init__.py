"""reference: pages of the documentation that are made from the registries and docstrings.

Nothing here is written twice: a page's words are the docstrings of the module it is about,
and its numbers are computed when the site is built.
"""

from __future__ import annotations


def pages() -> dict[str, str]:
    """Return every generated page: its path in the site, and its Markdown."""
    from statebound.experiments.reference import command_line, limits, models, problems, variants

    made: dict[str, str] = {}
    for part in (problems, models, limits, variants, command_line):
        made |= part.pages()
    return made
