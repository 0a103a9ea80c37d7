"""The letters-to-phonemes model inside the package g2p-en: a GRU that reads, a GRU that says.

The encoder reads a word's letters and an end mark from a zero state; its H = 256 numbers are
all that the decoder gets. The decoder starts from them with a start mark, and each phoneme
that it finds likeliest is its next input, until an end mark or 20 phonemes.

Both are the project's own GRU: the file's gates are in the order r, z, n, and the recurrent
bias of n is inside the product with r, as in ``torch.nn.GRU``. K. Park and J. Kim, g2pE,
2019 (Apache-2.0); trained on the CMU Pronouncing Dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray

from statebound.experiments.subjects.arrays import Arrays, Layout, npz
from statebound.experiments.subjects.packages import Member, read
from statebound.experiments.subjects.words import Phonemes
from statebound.models import Vocabulary
from statebound.models._cell import Array
from statebound.models._lanes import take_lanes, tile_count, to_lanes, to_rows
from statebound.models._linear import linear
from statebound.models._torch import Units
from statebound.models.gru import GRU

FILE = Member("g2p-en", "2.1.0", "g2p_en/checkpoint20.npz")
LONGEST = 20
"""Phonemes after which the decoder stops by itself."""

_VOWELS = "AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW"
_CONSONANTS = "B CH D DH F G HH JH K L M N NG P R S SH T TH V W Y Z ZH"
_START, _END = 2, 3
GRAPHEMES = ("<pad>", "<unk>", "</s>", *ascii_lowercase)
PHONEMES = (
    *("<pad>", "<unk>", "<s>", "</s>"),
    *sorted(
        [*(v + stress for v in _VOWELS.split() for stress in "012"), "UW", *_CONSONANTS.split()]
    ),
)
LAYOUT: Layout = {
    "enc_emb": (len(GRAPHEMES), "E"),
    "enc_w_ih": ("3H", "E"),
    "enc_w_hh": ("3H", "H"),
    "enc_b_ih": ("3H",),
    "enc_b_hh": ("3H",),
    "dec_emb": (len(PHONEMES), "D"),
    "dec_w_ih": ("3H", "D"),
    "dec_w_hh": ("3H", "H"),
    "dec_b_ih": ("3H",),
    "dec_b_hh": ("3H",),
    "fc_w": (len(PHONEMES), "H"),
    "fc_b": (len(PHONEMES),),
}


class G2P:
    """Encoder and decoder at given weights, named as in the file."""

    def __init__(self, weights: Arrays, units: int) -> None:
        self.weights = weights
        self.encoder = _gru(weights, "enc", units, len(GRAPHEMES))
        self.decoder = _gru(weights, "dec", units, len(PHONEMES))
        self.fields = self.encoder.fields

    @classmethod
    def load(cls, where: Path | None) -> G2P:
        """Read the weights from a file or package, by default the installed one.

        Raises
        ------
        UsageError
            When they are not there or not as they must be.
        """
        content = read(FILE, where)
        weights, sizes = npz(content, LAYOUT, str(where or FILE.path))
        return cls(weights, sizes["H"])

    def encode(self, words: Sequence[str]) -> Array:
        """Return the states (tiles, H, LANES) after the words' letters and end marks.

        Characters that are no letters from a to z are read as unknown.
        """
        (start,) = self.encoder.start(1)
        rows = np.empty((len(words), start.shape[1]), start.dtype)
        lengths = np.array([len(word) for word in words])
        for length in np.unique(lengths):
            same = np.flatnonzero(lengths == length)
            tokens = np.array([_letters(words[int(i)]) for i in same], np.int32)
            state = self.encoder.scan(self.encoder.start(tile_count(len(same))), to_lanes(tokens))
            rows[same] = to_rows(state[0], len(same))
        return to_lanes(rows)

    def decode(self, state: Array, count: int) -> list[Phonemes]:
        """Return what is said from each of `count` states."""
        said = np.full((count, LONGEST), _END)
        rows = np.arange(count)
        tokens = np.full(count, _START, np.int32)
        for t in range(LONGEST):
            (state,) = self.decoder.scan((state,), to_lanes(tokens[:, None]))
            best = to_rows(self._scores(state), len(rows)).argmax(axis=1)
            said[rows, t] = best
            going = np.flatnonzero(best != _END)
            if not len(going):
                break
            state, rows, tokens = take_lanes(state, going), rows[going], best[going].astype("i4")
        return [_phonemes(row) for row in said]

    def _scores(self, state: Array) -> Array:
        """Return the decoder's scores (tiles, phonemes, LANES)."""
        columns = np.ascontiguousarray(state.transpose(1, 0, 2)).reshape(state.shape[1], -1)
        scores = linear(self.weights["fc_w"], columns, self.weights["fc_b"])
        return scores.reshape(len(scores), len(state), -1).transpose(1, 0, 2)


def _gru(weights: Arrays, part: str, units: int, symbols: int) -> GRU:
    named: dict[str, Array] = {
        "embedding.weight": weights[f"{part}_emb"],
        "weight_ih": weights[f"{part}_w_ih"],
        "weight_hh": weights[f"{part}_w_hh"],
        "bias_ih": weights[f"{part}_b_ih"],
        "bias_hh": weights[f"{part}_b_hh"],
    }
    return GRU(Units(units), named, Vocabulary(1, symbols, False, 0, symbols))


def _letters(word: str) -> list[int]:
    """Return the tokens of a word, its end mark last."""
    known = {letter: i for i, letter in enumerate(GRAPHEMES) if len(letter) == 1}
    return [known.get(letter, 1) for letter in word] + [2]


def _phonemes(row: NDArray[np.int64]) -> Phonemes:
    end = np.flatnonzero(row == _END)
    return tuple(PHONEMES[i] for i in row[: end[0] if len(end) else len(row)])
