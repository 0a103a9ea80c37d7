"""What SmolLM2 still knows when its cache holds so many entries, and its state so many bits.

Two things are measured, each from a message: Alice's cache is quantised once, at the handoff,
packed, unpacked, and Bob's model goes on from what it stands for.

*Who has what.* Alice reads a list, Bob a name of it; he answers with the likeliest thing. The
policies and budgets are those of `statebound.experiments.subjects.evicting`, and ``full`` is
the contrast that grows.

*Again.* Alice reads a passage and, after it, other text; Bob's surprise is measured where the
same passage comes again. A model that still has it predicts it well (Olsson et al. 2022,
"In-context learning and induction heads"). ``fresh`` is the same passage where another one was
read in its place.

The states are far larger than what is asked: no wall of the problem binds at any of these
sizes. What is lost is lost because the policy dropped it, not for want of bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import StateboundError, UsageError
from statebound.experiments.estimates import betting_interval, clopper_pearson, student_interval
from statebound.experiments.subjects.cache_message import bounded, cross, transit
from statebound.experiments.subjects.evicting import Cache, Policy, policy
from statebound.experiments.subjects.predicting import shipped
from statebound.experiments.subjects.prompts import Book, book, passages, problem
from statebound.experiments.subjects.smollm import Llama, Tokens, load
from statebound.experiments.subjects.transit import format_at
from statebound.protocols.limits.report import bits_needed, limits

ENTRIES, BITS, QUANTISERS = (16, 32, 48), (8, 4, 2), ("uniform",)
NAMES, STRETCHES = 12, 6
TRIALS, PUBLIC = 40, 2
PIECES, LENGTH, GAPS = 6, 24, (0, 16, 64)
LEVEL = 0.95
EXACT = ("fp32", 32)
_LN2 = float(np.log(2.0))

Told = Callable[[int, int, str], None]


@dataclass(frozen=True)
class _Work:
    """What is common to all rows."""

    model: Llama
    formats: Sequence[tuple[str, int]]

    def messages(
        self, cache: Cache, trials: int, formats: Sequence[tuple[str, int]]
    ) -> Iterator[tuple[dict[str, Any], Cache]]:
        """Send the first rows of a cache in each format, calibrated on the others.

        Raises
        ------
        StateboundError
            When a message is not as long as declared: a bug.
        """
        sent, public = cache.rows(slice(trials)), cache.rows(slice(trials, None))
        rule = cache.policy
        for name, bits in formats:
            way = transit(public, name, bits)
            got, size = cross(sent, way)
            if size != -(-way.state_bits // 8):
                raise StateboundError(f"{way.state_bits} bits took {size} bytes")
            yield (
                {
                    "policy": rule.name,
                    "entries": rule.held(cache.read),
                    "kept": rule.kept,
                    "read": cache.read,
                    "quantiser": name,
                    "bits_per_number": bits,
                    "state_bits": way.state_bits,
                    "message_bytes": size,
                },
                got,
            )


def remembering(
    model: Llama | None = None,
    *,
    trials: int = TRIALS,
    names: int = NAMES,
    entries: Sequence[int] = ENTRIES,
    bits: Sequence[int] = BITS,
    quantisers: Sequence[str] = QUANTISERS,
    gaps: Sequence[int] = GAPS,
    seed: int = 0,
    weights: Path | None = None,
    told: Told = lambda done, total, label: None,
) -> dict[str, Any]:
    """Measure what is retrieved, and how surprising what comes again is, by policy and budget.

    Parameters
    ----------
    model
        The model; None to read the one of the package.
    trials
        Prompts, each asked once in every stretch.
    names
        Names in a prompt, a multiple of `STRETCHES`.
    entries
        Entries that are kept in each head of each layer.
    bits, quantisers
        Bits a number at the handoff beside exact ones; what a quantiser lacks is left out.
    gaps
        Tokens between a passage and its return.
    seed
        Public: of x, of which names are where, and of what is asked.
    weights
        Where the model's file is; None for the installed package.
    told
        Is told how many of how many readings are done.

    Returns
    -------
    A record: ``rows`` of retrieval, ``again`` of passages, ``splits`` the error of a message
    that is not rounded.

    Raises
    ------
    UsageError
        When an argument is out of range, or the weights are not there.
    """
    if trials < 1:
        raise UsageError("trials", trials, "must be at least 1", "ask for 40")
    if not entries or not gaps or min(gaps) < 0:
        raise UsageError("gaps", list(gaps), "must be numbers from 0 on", "pass 0,16,48")
    formats = [(q, p) for family in quantisers for p in bits if (q := format_at(family, p))]
    rules = [policy(n, e) for e in entries for n in ("fifo", "sinks", "heavy")]
    model = load(weights) if model is None else model
    work = _Work(model, [EXACT, *formats])
    asked = book(model, names, STRETCHES, trials + PUBLIC, seed)
    length = asked.tokens.shape[1]
    text = passages(model, shipped()[1], PIECES + PUBLIC, LENGTH, max(gaps))
    room = policy("full", max(length + asked.asks.shape[2], text.shape[1] + 1 + LENGTH))
    every = [room, *rules]
    rows: list[dict[str, Any]] = []
    again: list[dict[str, Any]] = []
    for done, rule in enumerate(every):
        told(done, len(every), f"{rule.name}, {rule.entries} entries")
        rows += _retrieved(work, asked, rule, trials)
        again += _again(work, text, rule, gaps)
    told(len(every), len(every), "done")
    task = problem(names)
    return {
        "subject": "smollm",
        "regime": "handoff",
        "weights_hash": model.digest,
        "layers": model.layers,
        "heads": model.heads,
        "width": model.width,
        "numbers": {
            f"{rule.name},{rule.entries}": bounded(rule, model.layers, model.heads, model.width)
            for rule in rules
        },
        "problem": task.name,
        "options": task.options(),
        "names": names,
        "tokens": length,
        "head": asked.head,
        "content_bits": names * float(np.log2(task.base)),
        "chance": 1 / task.base,
        "trials": trials,
        "stretches": STRETCHES,
        "public": PUBLIC,
        "seed": seed,
        "interval_level": LEVEL,
        "rows": rows,
        "pieces": PIECES,
        "passage": LENGTH,
        "fresh": _fresh(work, text, room),
        "again": again,
        "splits": {f"{r.name},{r.entries}": _split(work, asked.tokens[-1:], r) for r in every},
    }


def _retrieved(work: _Work, asked: Book, rule: Policy, trials: int) -> list[dict[str, Any]]:
    cache = work.model.start(rule, len(asked.tokens))
    work.model.read(cache, asked.tokens)
    task, rows = problem(asked.names), []
    for row, got in work.messages(cache, trials, work.formats):
        right = np.empty((trials, asked.asks.shape[1]), bool)
        for q in range(right.shape[1]):
            said = work.model.read(got.copy(), asked.asks[:trials, q])
            scores = work.model.scores(said[:, -1])[:, asked.things]
            right[:, q] = scores.argmax(dim=-1).numpy() == asked.truth[:trials, q]
        found = betting_interval(right.mean(axis=1), LEVEL)
        needed = bits_needed(task, found.low)["bits_needed"]["ball"] if found.low > 0 else 0.0
        each = [clopper_pearson(int(n), trials, LEVEL) for n in right.sum(axis=0)]
        rows.append(
            row
            | {
                "success": found.best,
                "success_low": found.low,
                "success_high": found.high,
                "by_stretch": [[one.low, one.best, one.high] for one in each],
                "wall": limits(task, row["state_bits"])["ball"],
                "needed_bits": needed,
                "efficiency": needed / row["state_bits"],
            }
        )
    return rows


def _again(
    work: _Work, text: Tokens, rule: Policy, gaps: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """Read passages and what follows; stop after each gap, and read the passage again."""
    model, read = work.model, 0
    opened = _opened(model, text)
    cache = model.start(rule, len(opened))
    for gap in sorted(set(gaps)):
        end = 1 + LENGTH + gap
        model.read(cache, opened[:, read:end])
        read = end
        for row, got in work.messages(cache, PIECES, [EXACT]):
            bits = _surprise(model, got, text[:PIECES, :LENGTH])
            yield row | {"gap": gap, **_mean(bits)}


def _fresh(work: _Work, text: Tokens, room: Policy) -> dict[str, Any]:
    """Read passages that Bob has not seen, after the passage and text of a neighbour."""
    others = _opened(work.model, np.roll(text[:PIECES], PIECES // 2, axis=0))
    cache = work.model.start(room, PIECES)
    work.model.read(cache, others)
    return _mean(_surprise(work.model, cache, text[:PIECES, :LENGTH]))


def _opened(model: Llama, text: Tokens) -> Tokens:
    return np.concatenate([np.full((len(text), 1), model.first), text], axis=1)


def _surprise(model: Llama, cache: Cache, tokens: Tokens) -> NDArray[np.float64]:
    """Return -log2 p of tokens (B, T) but the first, which only says what is to come."""
    hidden = model.read(cache, tokens[:, :-1])
    return chosen(model.scores(hidden), tokens[:, 1:])


def chosen(scores: Any, tokens: Tokens) -> NDArray[np.float64]:
    """Return -log2 p of tokens (B, T) from natural logarithms (B, T, vocabulary)."""
    held = np.take_along_axis(scores.numpy(), tokens[..., None], axis=-1)[..., 0]
    bits: NDArray[np.float64] = -held.astype(np.float64) / _LN2
    return bits


def _mean(bits: NDArray[np.float64]) -> dict[str, float]:
    """Return bits a token with Student's interval over passages, approximate: one text's."""
    found = student_interval(bits.mean(axis=1), LEVEL)
    return {
        "bits_per_token": found.best,
        "bits_per_token_low": found.low,
        "bits_per_token_high": found.high,
    }


def _split(work: _Work, tokens: Tokens, rule: Policy) -> float:
    """Return the largest difference in log2 p that a message without rounding makes."""
    model, half = work.model, tokens.shape[1] // 2
    whole = model.read(model.start(rule, 1), tokens)[:, half:]
    cache = model.start(rule, 1)
    model.read(cache, tokens[:, :half])
    got, _ = cross(cache, transit(cache, *EXACT))
    parted = model.read(got, tokens[:, half:])
    return float((model.scores(whole) - model.scores(parted)).abs().max()) / _LN2
