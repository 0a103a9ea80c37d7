"""Cells constructed as associative memories: a key for every position, and its bit the value.

With ``constructed`` keys are orthogonal while there are no more positions than dimensions,
and random signs beyond; with ``random_keys`` they are random signs at any length.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from statebound.errors import UsageError
from statebound.models._cell import Cell, Weights
from statebound.models._vocabulary import Vocabulary


class KeyedCell(Cell):
    """A cell with both kinds of keys."""

    inits: ClassVar[tuple[str, ...]] = ("constructed", "random", "random_keys")
    by_hand: ClassVar[tuple[str, ...]] = ("constructed", "random_keys")
    key_form: ClassVar[str]  # what a config must be for this, in words

    @classmethod
    @abstractmethod
    def takes_keys(cls, config: Any) -> bool:
        """Whether a config is of the form that is constructed."""

    @classmethod
    @abstractmethod
    def keyed(
        cls,
        config: Any,
        vocabulary: Vocabulary,
        generator: np.random.Generator,
        *,
        orthogonal: bool,
    ) -> Weights:
        """Return parameters that write and read by keys, orthogonal ones where they fit."""

    @classmethod
    def constructed(
        cls, config: Any, vocabulary: Vocabulary, generator: np.random.Generator
    ) -> Weights:
        """Return orthogonal or, beyond the dimension, random sign keys, and their queries."""
        return cls._checked("constructed", config, vocabulary, generator)

    @classmethod
    def parameters(
        cls, init: str, config: Any, vocabulary: Vocabulary, generator: np.random.Generator
    ) -> Weights:
        """Return parameters; with ``random_keys`` constructed ones whose keys are random signs."""
        if init == "random_keys":
            return cls._checked(init, config, vocabulary, generator)
        return super().parameters(init, config, vocabulary, generator)

    @classmethod
    def _checked(
        cls, init: str, config: Any, vocabulary: Vocabulary, generator: np.random.Generator
    ) -> Weights:
        if not (vocabulary.positional and vocabulary.symbols == 2 and cls.takes_keys(config)):
            raise UsageError(
                "init",
                init,
                f"{cls.name} is constructed for bits with positions, {cls.key_form}",
                "use the encoding pairs on a problem of bits, or init random",
            )
        return cls.keyed(config, vocabulary, generator, orthogonal=init == "constructed")
