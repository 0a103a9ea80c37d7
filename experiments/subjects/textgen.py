r"""The character model inside the package textgenrnn, as a stream: a state, a character, a state.

With x the character's embedding, two LSTMs of H = 128 units above each other, and their
outputs u = (x, h1, h2), the model weighs what it has read and predicts from the mean:

    a_t = exp(v . u_t),    m = sum_t a_t u_t / sum_t a_t,    p(next) = softmax(W m + b).

As its authors run it, it forgets everything before each character, and reads the last 40 again
from a zero state, zeros (a symbol of its own) before them where there are fewer: its state
between two characters is those 40 symbols. As a stream it keeps

    h1, c1, h2, c2    2 x 256 numbers,
    m                 356, and
    log sum_t a_t     one,

869 in all, and a new character changes m by a share a_t / sum a of u_t - m. After any 40
characters from the start both say the same.

The file's LSTMs are in the order of CuDNN: gates i, f, g, o next to each other; each input
block is the transposed matrix in row order, each recurrent block transposed; and there are two
biases. M. Woolf, textgenrnn 2.0.0, 2020 (MIT).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.experiments.subjects.arrays import Arrays, Layout, hdf5
from statebound.experiments.subjects.packages import Member, read
from statebound.models import Field, Vocabulary
from statebound.models._cell import Array, Settle, State, Tokens
from statebound.models._linear import linear
from statebound.models.lstm import LSTM, LSTMConfig, LSTMLayer, LSTMLayerConfig

FILE = Member("textgenrnn", "2.0.0", "textgenrnn/textgenrnn_weights.hdf5")
SYMBOLS = Member("textgenrnn", "2.0.0", "textgenrnn/textgenrnn_vocab.json")
WINDOW = 40
"""Characters that the model reads before each prediction, as its authors run it."""

_UNITS = 4  # fields before the mean
LAYOUT: Layout = {
    "embedding/embedding/embeddings:0": ("V", "E"),
    "rnn_1/rnn_1/kernel:0": ("E", "4H"),
    "rnn_1/rnn_1/recurrent_kernel:0": ("H", "4H"),
    "rnn_1/rnn_1/bias:0": ("8H",),
    "rnn_2/rnn_2/kernel:0": ("H", "4H"),
    "rnn_2/rnn_2/recurrent_kernel:0": ("H", "4H"),
    "rnn_2/rnn_2/bias:0": ("8H",),
    "attention/attention/attention_W:0": ("C", 1),
    "output/output/kernel:0": ("C", "V"),
    "output/output/bias:0": ("V",),
}


class TextGen:
    """The model at given weights, named as in the file; symbol 0 is what stands for none."""

    def __init__(self, weights: Arrays, symbols: Mapping[str, int]) -> None:
        self.weights, self.symbols = weights, symbols
        self.embedding = weights["embedding/embedding/embeddings:0"]
        V, E = self.embedding.shape
        H = len(weights["rnn_1/rnn_1/recurrent_kernel:0"])
        self.size = V
        below = _lstm(weights, 1) | {"embedding.weight": self.embedding}
        self._below = LSTM(LSTMConfig(H), below, Vocabulary(1, V, False, 0, V))
        above = _lstm(weights, 2)
        self._above = LSTMLayer(LSTMLayerConfig(H), above, np.dtype(np.float32))
        self._attention = np.ascontiguousarray(weights["attention/attention/attention_W:0"].T)
        self._output = np.ascontiguousarray(weights["output/output/kernel:0"].T)
        self._bias = weights["output/output/bias:0"]
        self.fields = (
            Field("h1", (H,), -1.0, 1.0),
            Field("c1", (H,)),
            Field("h2", (H,), -1.0, 1.0),
            Field("c2", (H,)),
            Field("mean", (E + 2 * H,)),
            Field("log_weight", (1,)),
        )

    @classmethod
    def load(cls, where: Path | None) -> TextGen:
        """Read weights and symbols from files or a package, by default the installed one.

        Raises
        ------
        UsageError
            When they are not there or not as they must be.
        """
        weights, sizes = hdf5(read(FILE, where), LAYOUT, str(where or FILE.path))
        if sizes["C"] != sizes["E"] + 2 * sizes["H"]:
            raise UsageError(
                "weights",
                where or FILE.path,
                f"C = {sizes['C']} is not E + 2 H with E = {sizes['E']} and H = {sizes['H']}",
                "pass the file as its package ships it",
            )
        return cls(weights, _symbols(read(SYMBOLS, where), sizes["V"], str(where or SYMBOLS.path)))

    def tokens(self, text: str) -> NDArray[np.int32]:
        """Return the symbols of a text; 0 for characters that the model does not know."""
        return np.array([self.symbols.get(character, 0) for character in text], np.int32)

    def start(self, tiles: int) -> State:
        """Return the public start state: nothing read, so no weight."""
        zeros = self._below.start(tiles) + self._above.start(tiles, np.dtype(np.float32))
        lanes = zeros[0].shape[2]
        mean = np.zeros((tiles, self.fields[_UNITS].numbers, lanes), np.float32)
        return (*zeros, mean, np.full((tiles, 1, lanes), -np.inf, np.float32))

    def step(self, state: State, token: Tokens, settle: Settle | None = None) -> State:
        """Read one character (tiles, 1, LANES).

        `settle` quantises fields from a number on, before what is above reads them.
        """
        settle = settle or (lambda _, values: values)
        one = settle(0, self._below.scan(state[:2], token))
        streams = self._above.project(_columns(one[0]))
        which = np.arange(token.size, dtype=np.int32).reshape(token.shape)
        two = settle(2, self._above.advance(state[2:4], streams, which))
        x = self.embedding[token[:, 0]].transpose(0, 2, 1)
        u = np.concatenate([x, one[0], two[0]], axis=1)
        logit = linear(self._attention, _columns(u)).reshape(len(u), 1, -1)
        total = np.logaddexp(state[5], logit)
        mean = state[4] + np.exp(logit - total) * (u - state[4])
        return (*one, *two, *settle(_UNITS, (mean, total)))

    def scan(self, state: State, tokens: Tokens) -> State:
        """Read characters (tiles, T, LANES)."""
        for t in range(tokens.shape[1]):
            state = self.step(state, np.ascontiguousarray(tokens[:, t : t + 1]))
        return state

    def surprise(self, state: State, token: Tokens) -> Array:
        """Return -log2 p of each lane's next character: (tiles, 1, LANES) to (tiles, LANES)."""
        scores = linear(self._output, _columns(state[_UNITS]), self._bias)  # (V, R)
        top = scores.max(axis=0)
        total = top + np.log(np.exp(scores - top).sum(axis=0))
        own = scores[token.reshape(-1), np.arange(token.size)]
        bits: Array = ((total - own) / np.log(2)).reshape(len(token), -1)
        return bits


def _columns(lanes: Array) -> Array:
    """Lay (tiles, C, LANES) out as (C, tiles * LANES)."""
    return np.ascontiguousarray(lanes.transpose(1, 0, 2)).reshape(lanes.shape[1], -1)


def _lstm(weights: Arrays, number: int) -> dict[str, Array]:
    """Return an LSTM's parameters as ``torch.nn.LSTM`` names and orders them."""
    inner = f"rnn_{number}/rnn_{number}"
    W, U = weights[f"{inner}/kernel:0"], weights[f"{inner}/recurrent_kernel:0"]
    first, second = weights[f"{inner}/bias:0"].reshape(2, -1)
    return {
        "weight_ih": np.concatenate([block.reshape(len(U), -1) for block in np.hsplit(W, 4)]),
        "weight_hh": np.concatenate(np.hsplit(U, 4)),
        "bias_ih": first,
        "bias_hh": second,
    }


def _symbols(content: bytes, size: int, where: str) -> dict[str, int]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UsageError("weights", where, f"{SYMBOLS.name} is no JSON", SYMBOLS.remedy) from error
    numbers = list(found.values()) if isinstance(found, dict) else []
    if sorted(n for n in numbers if type(n) is int) != list(range(1, size)):
        raise UsageError(
            "weights",
            where,
            f"{SYMBOLS.name} must map characters to the numbers 1 to {size - 1}, each once",
            SYMBOLS.remedy,
        )
    return {str(character): int(number) for character, number in found.items()}
