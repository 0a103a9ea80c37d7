"""Twins: the recurrences of cells in torch, to be differentiated.

A twin takes the parameters of its Numba cell, under the same names and in the same shapes,
with one axis more in front: S sets of parameters (restarts) go through the same inputs side
by side, which costs little more than one, since cells this small spend their time between
operations. From zeros it computes the cell's states, field by field.

As in a layer, what a token brings is computed once a token (`table`), and then a state goes
through a sequence of such rows (`scan`).

Axes: S restarts, V tokens, T time, B batch, q symbols, C whatever a row holds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from statebound.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor

    from statebound.models import Cell

State = tuple["Tensor", ...]
Parameters = dict[str, "Tensor"]

HOMES = {
    "rnn": "gates",
    "gru": "gates",
    "lstm": "gates",
    "s4d": "linear",
    "s4d_real": "linear",
    "linear_attention": "linear",
    "deltanet": "delta",
    "mamba": "selective",
}
"""Where each cell's twin is: a module here, which lists its twins in ``TWINS``."""


class Twin(ABC):
    """The recurrence of one cell, of the size of `cell`."""

    name: ClassVar[str]

    def __init__(self, cell: Cell) -> None:
        self.config: Any = cell.config
        self.fields = cell.fields

    @abstractmethod
    def table(self, w: Parameters) -> Tensor:
        """Return what every token brings: (S, V, C)."""

    @abstractmethod
    def scan(self, state: State, w: Parameters, rows: Tensor) -> State:
        """Take `state`, (S, B, numbers) a field, through rows (S, T, B, C)."""

    def start(self, restarts: int, batch: int, like: Tensor) -> State:
        """Return the start states: zeros."""
        return tuple(like.new_zeros(restarts, batch, f.numbers) for f in self.fields)

    def whole(self, w: Parameters, choices: Tensor, picks: Tensor) -> State:
        """Return the states after whole streams.

        Parameters
        ----------
        w
            Parameters.
        choices
            (S, T, q, C): the rows of the q tokens that may come at each time.
        picks
            (T, B, q): one-hot, which one does.
        """
        start = self.start(len(choices), picks.shape[1], choices)
        return self.scan(start, w, rows_of(choices, picks))


def rows_of(choices: Tensor, picks: Tensor) -> Tensor:
    """Return the rows (S, T, B, C) that `picks` (T, B, q) takes of `choices` (S, T, q, C)."""
    if choices.shape[2] == 2:
        low = choices[:, :, :1]
        return low + picks[:, :, 1:] * (choices[:, :, 1:] - low)
    return picks @ choices


def twin_of(cell: Cell) -> Twin:
    """Return the twin of a cell.

    Raises
    ------
    UsageError
        When it has none.
    """
    if cell.name not in HOMES:
        raise UsageError(
            "model", cell.name, "has no trainable twin", f"choose from {', '.join(HOMES)}"
        )
    made: Twin = import_module(f"{__name__}.{HOMES[cell.name]}").TWINS[cell.name](cell)
    return made
