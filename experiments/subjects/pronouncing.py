"""How g2p-en pronounces words whose encoding has crossed in p bits a number.

The encoder's numbers are quantised once, at the handoff, packed into M bits, unpacked, and
the decoder goes on from what they stand for. Ranges and codebooks are from other words of
the dictionary. The model was trained on that dictionary, so most words are not new to it:
what is measured is what its state keeps of them, not how it does on unseen ones.

Less than a bit a number: of the numbers that vary most on other words one bit each is sent
(by `lloyd`), and Bob takes all others at their means.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from statebound.errors import UsageError
from statebound.experiments.estimates import betting_interval, clopper_pearson
from statebound.experiments.subjects.g2p import G2P
from statebound.experiments.subjects.transit import BITS, Transit, fit, format_at
from statebound.experiments.subjects.words import Phonemes, accuracy, dictionary
from statebound.models._lanes import to_rows
from statebound.reductions.spec import hash_arrays

QUANTISERS = ("lloyd", "uniform", "absmax", "floats")
WORDS = 1000
CALIBRATION_WORDS = 1024
LEVEL = 0.95
FEWER = "some at 1 bit"
KEPT = (8, 16, 32, 64, 128)
"""How many numbers are sent where not all are; those fewer than the state has."""

Listed = Sequence[tuple[Phonemes, ...]]


def pronouncing(
    words: int = WORDS,
    bits: Sequence[int] = BITS,
    quantisers: Sequence[str] = QUANTISERS,
    seed: int = 0,
    weights: Path | None = None,
    entries: Path | None = None,
) -> dict[str, Any]:
    """Measure accuracy against the bits of the message.

    Parameters
    ----------
    words
        How many words are drawn, and said from every message.
    bits, quantisers
        Bits a number, and families of quantisers: registry names, or ``floats``. What a
        family does not have is left out.
    seed
        Of the draw of words.
    weights, entries
        Where the model's file and the dictionary are; None for installed packages.

    Returns
    -------
    A record: the subject, ``unquantised`` accuracies, and ``rows``, one a message size.
    """
    if words < 1:
        raise UsageError("words", words, "must be at least 1", "ask for 1000")
    formats = [(f, p, name) for f in quantisers for p in bits if (name := format_at(f, p))]
    if not formats:
        raise UsageError(
            "bits",
            ",".join(map(str, bits)),
            f"are no precisions of {', '.join(quantisers)}",
            "see `statebound quantisers`",
        )
    known = dictionary(entries)
    model = G2P.load(weights)
    numbers = model.fields[0].numbers
    plan = [(*each, numbers) for each in formats]
    drawn, others = known.draw(seed, words, CALIBRATION_WORDS)
    listed = [known.entries[word] for word in drawn]
    state = model.encode(drawn)
    sample = to_rows(model.encode(others), len(others)).T.astype(np.float64)
    whole = model.decode(state, words)
    varied = np.argsort(-sample.var(axis=1), kind="stable")
    if "lloyd" in quantisers and 1 in bits:
        plan = [(FEWER, 1, "lloyd", k) for k in KEPT if k < numbers] + plan
    rows = []
    for family, p, name, sent in plan:
        kept = np.sort(varied[:sent])
        field = replace(model.fields[0], shape=(sent,))
        transit = Transit([field], fit([field], [sample[kept]], name, p))
        message = transit.pack(transit.quantise((state[:, kept],), 1), words)
        back = np.empty_like(state)
        back[:] = sample.mean(axis=1)[:, None]
        back[:, kept] = transit.unpack(message, 1)[0][0]
        said = model.decode(back, words)
        found = _accuracies(said, listed)
        needed = known.needed_bits(found["word_accuracy_low"])
        rows.append(
            {
                "family": family,
                "quantiser": name,
                "numbers_sent": sent,
                "bits_per_number": p * sent / numbers,
                "state_bits": transit.state_bits,
                "message_bytes": message.shape[1],
                **found,
                "as_unquantised": sum(a == b for a, b in zip(said, whole, strict=True)) / words,
                "word_accuracy_wall": known.wall(transit.state_bits),
                "needed_bits": needed,
                "efficiency": needed / transit.state_bits,
            }
        )
    letters = [len(word) for word in drawn]
    return {
        "subject": "g2p-en",
        "regime": "handoff",
        "state_numbers": numbers,
        "weights_hash": hash_arrays(model.weights),
        "dictionary_words": len(known.entries),
        "dictionary_bits": math.log2(len(known.entries)),
        "letters": sum(letters) / words,
        "letters_bits": sum(letters) / words * math.log2(26),
        "trials": words,
        "calibration_words": CALIBRATION_WORDS,
        "seed": seed,
        "interval_level": LEVEL,
        "wall": [(m, known.wall(m)) for m in range(math.ceil(math.log2(len(known.entries))) + 1)],
        "unquantised": _accuracies(whole, listed),
        "rows": rows,
    }


def _accuracies(said: Sequence[Phonemes], listed: Listed) -> dict[str, float]:
    """Return the mean accuracy of phonemes and of whole words, with intervals."""
    each = [accuracy(one, known) for one, known in zip(said, listed, strict=True)]
    right = sum(one in known for one, known in zip(said, listed, strict=True))
    parts = betting_interval(each, LEVEL)
    whole = clopper_pearson(right, len(said), LEVEL)
    return {
        "phoneme_accuracy": parts.best,
        "phoneme_accuracy_low": parts.low,
        "phoneme_accuracy_high": parts.high,
        "word_accuracy": whole.best,
        "word_accuracy_low": whole.low,
        "word_accuracy_high": whole.high,
    }
