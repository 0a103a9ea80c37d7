"""The contract of maps: instances of one problem turned into instances of another.

A map acts on Alice's input and on Bob's query separately, so it needs no
communication: any protocol for the target becomes one for the source with the same
messages, and every wall of the source bounds it. Bob may turn the target's answer into
his own by what he knows: his query.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from statebound import registry
from statebound.errors import UsageError
from statebound.protocols.message import Bytes
from statebound.protocols.problem import Answers, Problem, Symbols
from statebound.protocols.protocol import Protocol, Queries

PACKAGE = "statebound.reductions.maps"


class Map(ABC):
    """A map from `source` to `target` that keeps every answer.

    Attributes
    ----------
    source, target
        The two problems.
    statement
        What it preserves, in one sentence.
    """

    source_name: ClassVar[str]
    target_name: ClassVar[str]
    statement: ClassVar[str]
    source: Problem
    target: Problem

    @abstractmethod
    def instance(self, x: Symbols) -> Symbols:
        """Alice's side: (B, source.length) -> (B, target.length)."""

    @abstractmethod
    def query(self, query: Queries) -> Queries:
        """Bob's side: queries from 0 to queries from 0."""

    def answer(self, query: Queries, said: Answers) -> Answers:
        """Bob's answers to his own queries (B,), from the target's answers (B,)."""
        return said


def bits_only(source: Problem) -> None:
    """Refuse a source of other symbols than bits, or that does not ask them all.

    Raises
    ------
    UsageError
        Where the map has no such form.
    """
    if source.symbols != 2:
        raise UsageError(
            "alphabet", source.symbols, "this map takes bits", f"use {source.name} on bits"
        )
    if source.name == "index" and source.queries != source.n:
        raise UsageError(
            "marked", source.queries, "this map asks for every symbol", "drop the marks"
        )


class Mapped(Protocol):
    """A protocol for a map's target, used on its source."""

    def __init__(self, through: Map, protocol: Protocol) -> None:
        if protocol.problem.options() != through.target.options():
            raise UsageError(
                "protocol",
                protocol.problem.options(),
                f"must be for {through.target.name} {through.target.options()}",
                "build it for the map's target",
            )
        self.map, self.protocol = through, protocol
        self.problem, self.state_bits = through.source, protocol.state_bits

    def encode(self, x: Symbols) -> Bytes:
        """Map the input, then encode it."""
        return self.protocol.encode(self.map.instance(x))

    @property
    def has_bob(self) -> bool:
        """Whether the target's protocol has a Bob."""
        return self.protocol.has_bob

    def answer(self, message: Bytes, query: Queries) -> Answers:
        """Map the query, let the target's Bob answer it, and map his answer."""
        said = self.protocol.answer(message, self.map.query(query))
        return self.map.answer(query, said).astype(self.problem.answer_type)

    def features(self, message: Bytes) -> NDArray[np.float64]:
        """Return what a readout of the target's protocol sees."""
        return self.protocol.features(message)

    def describe(self) -> dict[str, Any]:
        """Return the map and what it is applied to."""
        name = f"{self.map.source_name}_to_{self.map.target_name}"
        return {"protocol": name, "of": self.protocol.describe()}


def make(source: Problem, target: str) -> Map:
    """Return the map from a problem to the problem named `target`.

    Raises
    ------
    UsageError
        When there is none, or the source is not of a form that it takes.
    """
    name = f"{source.name}_to_{target}"
    known = registry.names(PACKAGE)
    if name not in known:
        shown = ", ".join(k.replace("_to_", " -> ") for k in known)
        raise UsageError(
            "target", target, f"no map leads there from {source.name}", f"known: {shown}"
        )
    if source.filler:
        raise UsageError(
            "distractors", source.filler, "are no part of a map", "drop the distractors"
        )
    made: Map = registry.load(PACKAGE, name, "target").MAP(source)
    return made
