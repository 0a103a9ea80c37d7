"""The contract of maps: instances of one problem turned into instances of another.

A map acts on Alice's input and on Bob's query separately, so it needs no
communication: any protocol for the target becomes one for the source with the same
messages, and every wall of the source bounds it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from statebound import registry
from statebound.errors import UsageError
from statebound.protocols.message import Bytes
from statebound.protocols.problem import Problem, Symbols
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

    def answer(self, message: Bytes, query: Queries) -> Symbols:
        """Map the query, then let the target's Bob answer it."""
        return self.protocol.answer(message, self.map.query(query))

    def describe(self) -> dict[str, Any]:
        """Return the map and what it is applied to."""
        name = f"{self.map.source_name}_to_{self.map.target_name}"
        return {"protocol": name, "of": self.protocol.describe()}


def make(source: Problem, target: str) -> Map:
    """Return the map from a problem to the problem named `target`."""
    name = f"{source.name}_to_{target}"
    known = registry.names(PACKAGE)
    if name not in known:
        shown = ", ".join(k.replace("_to_", " -> ") for k in known)
        raise UsageError(
            "target", target, f"no map leads there from {source.name}", f"known: {shown}"
        )
    made: Map = registry.load(PACKAGE, name, "target").MAP(source)
    return made
