r"""The patterns that a model may search its own transcript with.

A pattern is matched at the beginning of the text, the dot matching any character. A skip at
its front reaches the last match (greedy ``.*``) or the first (``.*?``)::

    pattern = ["^"] [skip] piece* "(" unit+ ")" piece*
    skip    = ("." | "[^c]") "*" ["?"]
    piece   = literal | "." | "[^c]"
    unit    = piece
    literal = a character that is not special, or "\" and one that is

Exactly one group, whose text is the result; no repetition but the skip, no alternative, no
look-around, no back-reference. Such a pattern of m characters takes O(m) steps at each of
the text's N positions in any engine, backtracking or not, so `re` and RE2 can both run it,
and must agree.
"""

from __future__ import annotations

import re
from functools import lru_cache

from statebound.errors import UsageError

SPECIAL = set("\\.^$*+?{}[]()|")
ENGINES = ("re", "re2")
LONGEST = 1000
SKIP = re.compile(r"\^?(?:(?:\.|\[\^[^\]\\^\-\[]\])\*\??)?", re.DOTALL)
PIECE = re.compile(r"\\[\\.^$*+?{}\[\]()|]|\.|\[\^[^\]\\^\-\[]\]|[^\\.^$*+?{}\[\]()|]", re.DOTALL)


def escape(text: str) -> str:
    """Return the pattern that matches this text."""
    return "".join(f"\\{c}" if c in SPECIAL else c for c in text)


@lru_cache(maxsize=256)
def check(pattern: str) -> str:
    """Return a pattern of the grammar, or refuse it.

    Examples
    --------
    >>> check(".*@0110=(.);")
    '.*@0110=(.);'
    >>> check("(a*)*b")
    Traceback (most recent call last):
        ...
    statebound.errors.UsageError: pattern = (a*)*b: character 3 is outside the grammar; \
write one leading .* or .*?, literals, and one group
    """
    if len(pattern) > LONGEST:
        raise UsageError("pattern", pattern, f"is longer than {LONGEST}", "search for less")
    found = SKIP.match(pattern)
    at = found.end() if found else 0
    opened = closed = -1
    while at < len(pattern):
        if pattern[at] == "(" and opened < 0:
            opened, at = at, at + 1
        elif pattern[at] == ")" and opened >= 0 > closed and at > opened + 1:
            closed, at = at, at + 1
        elif piece := PIECE.match(pattern, at):
            at = piece.end()
        else:
            _refuse(pattern, f"character {at + 1} is outside the grammar")
    if closed < 0:
        _refuse(pattern, "has no group")
    return pattern


def _refuse(pattern: str, rule: str) -> None:
    remedy = "write one leading .* or .*?, literals, and one group"
    raise UsageError("pattern", pattern, rule, remedy)


def check_engine(engine: str) -> None:
    """Refuse an engine that does not exist or is not installed."""
    if engine not in ENGINES:
        known = ", ".join(ENGINES)
        raise UsageError("engine", engine, "is not a search engine", f"choose from {known}")
    if engine == "re2":
        try:
            import re2  # noqa: F401
        except ImportError as error:
            raise UsageError(
                "engine", engine, "is not installed", "pip install 'statebound[re2]', or take re"
            ) from error


def search(pattern: str, text: str, engine: str = "re") -> str | None:
    """Return what the group of a pattern holds in a text, None where it does not match."""
    check(pattern)
    if engine == "re2":
        import re2

        found = re2.match(f"(?s){pattern}", text)
    else:
        found = re.match(pattern, text, re.DOTALL)
    return None if found is None else str(found.group(1))
