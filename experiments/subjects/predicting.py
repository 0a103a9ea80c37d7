"""How textgenrnn predicts text when its state is held in so many bits.

Pieces of 50 characters are read from the public start state. The message crosses after 30, and
the next 20 characters are scored: the first from what the message stands for, each other one
after reading on. ``handoff``: quantised once, there. ``step``: quantised after every
character, before and after the handoff. Pieces overlap so that each character of the text is
scored once. The model counts its steps, and predicts well only some 30 to 50 of them after the
start, which `by_age` shows; so that is where it is measured.

Beside it the model as its authors run it: it reads the last W characters again each time, and
its state is those W symbols.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.experiments.estimates import student_interval
from statebound.experiments.subjects.packages import MOST_BYTES
from statebound.experiments.subjects.textgen import WINDOW, TextGen
from statebound.experiments.subjects.transit import BITS, Held, Transit, fit, format_at
from statebound.models._cell import State
from statebound.models._lanes import LANES, tile_count, to_lanes, to_rows
from statebound.protocols.message import pack, unpack
from statebound.reductions.spec import hash_arrays

QUANTISERS = ("uniform", "lloyd")
ROUNDINGS = ("nearest", "stochastic", "feedback")

LENGTH = 2560
LEAD, SCORED = 30, 20
WINDOWS = (1, 2, 3, 4, 6, 8, 16, WINDOW)
AGES = 160
LEVEL = 0.95
_POOLED = 64  # pieces whose states are pooled over all steps

Tokens = NDArray[np.int32]
Samples = list[NDArray[np.float64]]


def predicting(
    length: int = LENGTH,
    bits: Sequence[int] = BITS,
    quantisers: Sequence[str] = QUANTISERS,
    seed: int = 0,
    weights: Path | None = None,
    text: Path | None = None,
) -> dict[str, Any]:
    """Measure bits a character against the bits of the state.

    Parameters
    ----------
    length
        How many characters are scored.
    bits, quantisers
        Bits a number; registry names, or ``floats``. What one does not have is left out. All
        are measured at the handoff, the first of them also at every step, in each rounding.
    seed
        Of the coins of stochastic rounding.
    weights, text
        Where the model's file is, None for the installed package; a text in UTF-8, None for
        the one that comes with this module.

    Returns
    -------
    A record: the subject, what it does unquantised, and ``rows``, one a state size.
    """
    ways: list[tuple[str, str, tuple[str, ...]]] = [
        ("handoff", name, ("nearest",)) for name in quantisers
    ]
    ways.append(("step", quantisers[0], ROUNDINGS))
    plan = [
        (regime, family, roundings, p, name)
        for regime, family, roundings in ways
        for p in bits
        if (name := format_at(family, p))
    ]
    if not plan:
        raise UsageError(
            "bits",
            ",".join(map(str, bits)),
            f"are no precisions of {', '.join(quantisers)}",
            "see `statebound quantisers`",
        )
    model = TextGen.load(weights)
    public, own = shipped()
    tokens = model.tokens(own if text is None else _read(text))
    pieces = _pieces(tokens, length)
    samples = _calibrate(model, model.tokens(public))
    lead = model.scan(model.start(tile_count(len(pieces))), to_lanes(pieces[:, :LEAD]))
    rows: list[dict[str, Any]] = []
    for regime, family, roundings, p, name in plan:
        fitted = fit(model.fields, samples[regime], name, p)
        for rounding in roundings:
            transit = Transit(model.fields, fitted, rounding, seed)
            surprise, message_bytes = _cross(model, pieces, lead, transit, step=regime == "step")
            rows.append(
                {
                    "form": "stream",
                    "regime": regime,
                    "rounding": rounding,
                    "family": family,
                    "quantiser": name,
                    "bits_per_number": p,
                    "state_bits": transit.state_bits,
                    "message_bytes": message_bytes,
                    **_mean(surprise),
                }
            )
    whole = _go_on(model, pieces, lead, None, {})
    rows += [_window(model, tokens, len(pieces), window) for window in WINDOWS]
    return {
        "subject": "textgenrnn",
        "state_numbers": sum(field.numbers for field in model.fields),
        "symbols": model.size,
        "weights_hash": hash_arrays(model.weights),
        "text": "shipped" if text is None else str(text),
        "unknown_characters": int((tokens == 0).sum()),
        "characters": len(pieces) * SCORED,
        "trials": len(pieces),
        "lead": LEAD,
        "lead_bits": LEAD * _symbol_bits(model),
        "seed": seed,
        "interval_level": LEVEL,
        "unquantised": _mean(whole),
        "by_age": _by_age(model, tokens),
        "letters_alone": _entropy(tokens),
        "rows": rows,
    }


def shipped() -> tuple[str, str]:
    """Return the text to calibrate on, and the one to predict."""
    folder = resources.files("statebound.experiments.subjects")
    public, own = folder.joinpath("prose.txt").read_text(encoding="utf-8").split("\n\n")
    return public, own.strip()


def _read(path: Path) -> str:
    """Return a text with runs of white space as single spaces: the model knows no lines."""
    if path.is_file() and path.stat().st_size > MOST_BYTES:
        raise UsageError("text", path, f"is larger than {MOST_BYTES} bytes", "cut it")
    try:
        return " ".join(path.read_text(encoding="utf-8").split())
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            "text", path, "cannot be read as UTF-8", "pass a file of plain text"
        ) from error


def _pieces(tokens: Tokens, length: int) -> Tokens:
    """Return pieces (B, LEAD + SCORED) that score the text from character WINDOW on."""
    count = length // SCORED
    if count < 2:
        raise UsageError("length", length, f"must be at least {2 * SCORED}", "score 2560")
    if len(tokens) < WINDOW + count * SCORED:
        raise UsageError(
            "length",
            length,
            f"the text has {len(tokens)} characters, the first {WINDOW} are not scored",
            f"score at most {max(0, len(tokens) - WINDOW)}, or pass a longer --text",
        )
    starts = WINDOW - LEAD + SCORED * np.arange(count)
    pieces: Tokens = tokens[starts[:, None] + np.arange(LEAD + SCORED)]
    return pieces


def _calibrate(model: TextGen, tokens: Tokens) -> dict[str, Samples]:
    """Return what the fields hold on the public text, at the handoff and at any step."""
    every = np.lib.stride_tricks.sliding_window_view(tokens, LEAD + SCORED)[::3]
    state = model.scan(model.start(tile_count(len(every))), to_lanes(every[:, :LEAD]))
    at_handoff = [to_rows(part, len(every)).T.astype(np.float64) for part in state]
    few = every[:: -(-len(every) // _POOLED)]
    lanes = to_lanes(few)
    state, kept = model.start(len(lanes)), []
    for t in range(few.shape[1]):
        state = model.scan(state, lanes[:, t : t + 1])
        kept.append([to_rows(part, len(few)).T.astype(np.float64) for part in state])
    pooled = [np.concatenate(parts, axis=1) for parts in zip(*kept, strict=True)]
    return {"handoff": at_handoff, "step": pooled}


def _cross(
    model: TextGen, pieces: Tokens, lead: State, transit: Transit, *, step: bool
) -> tuple[NDArray[np.float64], int]:
    """Return the surprise (B, SCORED) beyond a message, and its bytes."""
    if step:
        held: Held = {}
        state, lanes = model.start(len(lead[0])), to_lanes(pieces)
        for t in range(LEAD):
            state = _settled(model, state, lanes[:, t : t + 1], transit, held, t + 1)
    else:
        held = transit.quantise(lead, LEAD)
    message = transit.pack(held, len(pieces))
    state, held = transit.unpack(message, LEAD)
    return _go_on(model, pieces, state, transit if step else None, held), message.shape[1]


def _settled(
    model: TextGen, state: State, token: Tokens, transit: Transit, held: Held, read: int
) -> State:
    def settle(first: int, values: State) -> State:
        return transit.settle(first, values, held, read)

    return model.step(state, np.ascontiguousarray(token), settle)


def _go_on(
    model: TextGen, pieces: Tokens, state: State, transit: Transit | None, held: Held
) -> NDArray[np.float64]:
    """Score the last characters of each piece from its state; return (B, SCORED)."""
    lanes, scored = to_lanes(pieces), []
    for t in range(LEAD, LEAD + SCORED):
        token = np.ascontiguousarray(lanes[:, t : t + 1])
        scored.append(model.surprise(state, token).reshape(-1)[: len(pieces)])
        if t + 1 == LEAD + SCORED:
            break
        if transit is None:
            state = model.scan(state, token)
        else:
            state = _settled(model, state, token, transit, held, t + 1)
    return np.stack(scored, axis=1).astype(np.float64)


def _symbol_bits(model: TextGen) -> int:
    return math.ceil(math.log2(model.size))


def _window(model: TextGen, tokens: Tokens, pieces: int, window: int) -> dict[str, Any]:
    """Return the row where the last characters are sent, and read again for each prediction."""
    first, count, each = WINDOW - window, pieces * SCORED, _symbol_bits(model)
    every = np.lib.stride_tricks.sliding_window_view(tokens[first:], window + 1)[:count]
    widths = np.full(window, each, np.int64)
    codes = np.ascontiguousarray(every[:, :window].T[None], np.uint32)
    message = pack(codes, widths, count)
    read = unpack(message, widths)[0].T.astype(np.int32)
    blank = np.zeros((1, first, LANES), np.int32)
    tiles = tile_count(count)
    start = tuple(np.repeat(part, tiles, axis=0) for part in model.scan(model.start(1), blank))
    state = model.scan(start, to_lanes(read))
    surprise = model.surprise(state, to_lanes(every[:, window:]))
    return {
        "form": "window",
        "regime": None,
        "rounding": None,
        "family": None,
        "quantiser": None,
        "bits_per_number": each,
        "state_bits": int(widths.sum()),
        "message_bytes": message.shape[1],
        **_mean(surprise.reshape(-1)[:count].reshape(pieces, SCORED).astype(np.float64)),
    }


def _by_age(model: TextGen, tokens: Tokens) -> list[float]:
    """Return bits a character after 1, 2, .. characters from the start, unquantised."""
    ages = min(AGES, len(tokens) // 2)
    last = len(tokens) - ages - 1
    starts = np.unique(np.linspace(0, last, 128).astype(np.int64))
    lanes = to_lanes(tokens[starts[:, None] + np.arange(ages + 1)])
    state, found = model.start(len(lanes)), []
    for t in range(ages):
        state = model.scan(state, lanes[:, t : t + 1])
        surprise = model.surprise(state, np.ascontiguousarray(lanes[:, t + 1 : t + 2]))
        found.append(float(surprise.reshape(-1)[: len(starts)].mean()))
    return found


def _entropy(tokens: Tokens) -> float:
    """Return the entropy of the text's characters taken one by one, in bits."""
    share = np.unique(tokens, return_counts=True)[1] / len(tokens)
    return float(-(share * np.log2(share)).sum())


def _mean(surprise: NDArray[np.float64]) -> dict[str, Any]:
    """Return bits a character with Student's interval over pieces, and by place after the cut.

    Pieces of one text are not independent draws, so the interval is approximate.
    """
    found = student_interval(surprise.mean(axis=1), LEVEL)
    return {
        "bits_per_character": found.best,
        "bits_per_character_low": found.low,
        "bits_per_character_high": found.high,
        "by_place": [float(v) for v in surprise.mean(axis=0)],
    }
