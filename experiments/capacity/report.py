"""What ``statebound capacity`` prints: bits by part, and the lengths at which they run out.

All is counting. Of n tokens from an alphabet of V there are V^n; a state of S bits tells
at most 2^S of them apart. So from the first n with S < n log2 V on, some two inputs share
a state, whatever the weights. Keys and values grow with n, and S with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from statebound.errors import UsageError
from statebound.experiments.capacity.config import Config, language_model
from statebound.experiments.capacity.families import FAMILIES
from statebound.experiments.capacity.parts import WIDTHS, Part, total

PRECISIONS = (16, 8, 4, 1)  # bits a number that the table shows beside what is held
MOST_TOKENS = 10**15
MOST_SYMBOLS = 2**64
_EXACT = Context(prec=80)

Settings = Mapping[str, Any]


def capacity(
    values: dict[str, Any],
    *,
    settings: Settings | None = None,
    options: Sequence[str] = (),
    dtype: str | None = None,
    alphabet: int | None = None,
    n: int | None = None,
) -> dict[str, Any]:
    """Return what a model's state holds.

    Parameters
    ----------
    values
        The object in its ``config.json``.
    settings
        Sizes that replace those there, by key.
    options
        Which of the settings go by the name of an option (``layers``) and not of a key.
    dtype
        Of the model, a name in `parts.WIDTHS`; as the configuration says if None.
    alphabet
        How many symbols a token may be; the vocabulary if None.
    n
        A length at which to compare what is needed with what is held.

    Returns
    -------
    dict
        JSON-able; docs/capacity.md lists the fields.

    Raises
    ------
    UsageError
        When the model is not known, or a size makes no sense.

    Examples
    --------
    >>> record = capacity({"model_type": "mamba", "num_hidden_layers": 24, "dtype": "bfloat16"})
    >>> record["fixed"]["live_numbers"], record["fixed"]["live_bits"]
    (700416, 20643840)
    """
    inner, nested = language_model(values, list(FAMILIES))
    kind = inner.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise UsageError(
            "model_type", kind, "is not known here", f"known are {', '.join(FAMILIES)}"
        )
    family = FAMILIES[kind]
    given = {}
    for name, value in (settings or {}).items():
        if name in options and name not in family.names:
            raise UsageError(
                name, value, f"is no size of {kind}", f"choose from {', '.join(family.names)}"
            )
        given[family.names[name] if name in options else name] = value
    config = Config({**inner, **given})
    held = _dtype(config, dtype)
    parts = family.parts(config, held)
    vocabulary = config.size("vocab_size", family.vocabulary)
    symbols = _within("alphabet", vocabulary if alphabet is None else alphabet, 2, MOST_SYMBOLS)
    fixed = [part for part in parts if part.kind != "kv"]
    record: dict[str, Any] = {
        "model_type": kind,
        "nested_in": nested or None,
        "dtype": held,
        "vocabulary": vocabulary,
        "alphabet": symbols,
        "bits_a_token": float(log2(symbols)),
        "parts": [_row(part) for part in parts],
        "fixed": _sums(fixed),
        "windows": _sums([part for part in parts if part.kind == "kv" and not part.growing]),
        "growing_bits_a_token": sum(p.bits(1) for p in parts if p.growing),
        "kv_bits_a_token": sum(p.bits(1) for p in parts if p.kind == "kv"),
        "state_bits_at_most": None if any(p.growing for p in parts) else total(parts, None),
        "precisions": [
            _line(parts, symbols, label, precision=precision, stored=stored)
            for label, precision, stored in (
                ("as held, live", None, False),
                ("as held, stored", None, True),
                *((f"{p} bit{'s' if p > 1 else ''} a number", p, False) for p in PRECISIONS),
            )
        ],
        "kv_exceeds_fixed_from": exceeds(
            [part for part in parts if part.kind == "kv"], total(fixed, None)
        )
        if fixed
        else None,
        "at": None,
        "assumed": config.assumed,
        "note": family.note or None,
    }
    if n is not None:
        n = _within("n", n, 1, MOST_TOKENS)
        needed, bits = n * log2(symbols), total(parts, n)
        record["at"] = {
            "n": n,
            "needed_bits": float(needed),
            "fixed_bits": total(fixed, n),
            "kv_bits": bits - total(fixed, n),
            "state_bits": bits,
            "needed_by_available": float(needed / bits) if bits else None,
        }
    return record


def parts_of(record: Mapping[str, Any]) -> list[Part]:
    """Return the parts of a record of `capacity`."""
    keys = ("name", "kind", "layers", "dtype", "window")
    return [
        Part(
            **{key: row[key] for key in keys},
            shape=tuple(row["shape"]),
            live=row["live_a_layer"],
            stored=row["stored_a_layer"],
        )
        for row in record["parts"]
    ]


def against(record: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return from which length on the state of one of two models is the larger.

    One of them must be bounded: it is taken at its most, the other grows past it.
    """
    ours, theirs = parts_of(record), parts_of(other)
    found: dict[str, Any] = {
        "model_type": other["model_type"],
        "state_bits_at_most": other["state_bits_at_most"],
        "growing_bits_a_token": other["growing_bits_a_token"],
        "exceeds_from": None,
        "exceeded_from": None,
    }
    if record["state_bits_at_most"] is not None:
        found["exceeds_from"] = exceeds(theirs, record["state_bits_at_most"])
    if other["state_bits_at_most"] is not None:
        found["exceeded_from"] = exceeds(ours, other["state_bits_at_most"])
    return found


def too_small(bits: Callable[[int], int], growth: int, alphabet: int) -> int | None:
    """Return the first n at which a state has fewer bits than n log2(alphabet).

    Parameters
    ----------
    bits
        The state's bits after n tokens: concave in n, at least 0 at n = 0.
    growth
        What each further token adds for large n.
    alphabet
        How many symbols a token may be, at least 2.

    Returns
    -------
    int or None
        None where it grows as fast as what is needed. Concavity makes the condition
        hold from there on, so that it can be bisected.

    Examples
    --------
    >>> too_small(lambda n: 100, 0, 2), too_small(lambda n: 100, 0, 50280)
    (101, 7)
    """
    rate = log2(alphabet)
    if growth >= rate:
        return None
    return _first(lambda n: bits(n) < n * rate)


def exceeds(parts: Sequence[Part], bound: int) -> int | None:
    """Return the first n at which parts hold more than `bound` bits, or None if never."""
    if not any(part.growing and part.live for part in parts) and total(parts, None) <= bound:
        return None
    return _first(lambda n: total(parts, n) > bound)


def log2(value: int) -> Fraction:
    """Return log2 of a whole number: exact for powers of 2, else to 79 digits.

    No state counted here has more than 10^45 bits, so that 30 digits are to spare where a
    multiple is compared with it. A tie needs a power of 2: other logarithms are irrational.
    """
    if value & (value - 1) == 0:
        return Fraction(value.bit_length() - 1)
    return Fraction(_EXACT.divide(_EXACT.ln(Decimal(value)), _EXACT.ln(Decimal(2))))


def _first(holds: Callable[[int], bool]) -> int:
    """Return the first n >= 0 from which a condition holds; it must hold somewhere."""
    if holds(0):
        return 0
    high = 1
    while not holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _dtype(config: Config, asked: str | None) -> str:
    key = next((k for k in ("dtype", "torch_dtype") if config.has(k)), "dtype")
    value = asked if asked is not None else config.values.get(key)
    if value is None:
        value = config.assume("dtype", "float32")
    name = str(value).removeprefix("torch.")
    if name not in WIDTHS:
        raise UsageError("dtype", value, "is not known here", f"choose {', '.join(WIDTHS)}")
    return name


def _within(argument: str, value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise UsageError(argument, value, f"must be in {least}..{most}", "pass a number in range")
    return value


def _row(part: Part) -> dict[str, Any]:
    return {
        "name": part.name,
        "kind": part.kind,
        "dtype": part.dtype,
        "layers": part.layers,
        "shape": list(part.shape),
        "window": part.window,
        "a_token": part.kind == "kv",
        "live_a_layer": part.live,
        "stored_a_layer": part.stored,
        "live_numbers": part.layers * part.live,
        "stored_numbers": part.layers * part.stored,
        "live_bits": part.layers * part.live * WIDTHS[part.dtype],
        "stored_bits": part.layers * part.stored * WIDTHS[part.dtype],
    }


def _sums(parts: Sequence[Part]) -> dict[str, Any]:
    """Return numbers and bits at most; with windows that is when they are full."""
    return {
        "live_numbers": sum(part.numbers(None) for part in parts),
        "stored_numbers": sum(part.numbers(None, stored=True) for part in parts),
        "live_bits": total(parts, None),
        "stored_bits": total(parts, None, stored=True),
        "live_bits_by_dtype": {
            dtype: total([p for p in parts if p.dtype == dtype], None)
            for dtype in dict.fromkeys(p.dtype for p in parts)
        },
    }


def _line(
    parts: Sequence[Part], alphabet: int, label: str, *, precision: int | None, stored: bool
) -> dict[str, Any]:
    bounded = [part for part in parts if not part.growing]

    def bits(chosen: Sequence[Part], n: int | None) -> int:
        return total(chosen, n, stored=stored, precision=precision)

    def ends(chosen: Sequence[Part], symbols: int) -> int | None:
        if not any(part.live for part in chosen):
            return None
        growth = bits([p for p in chosen if p.growing], 1)
        return too_small(lambda n: bits(chosen, n), growth, symbols)

    return {
        "held": label,
        "bounded_bits": bits(bounded, None),
        "growing_bits_a_token": bits([p for p in parts if p.growing], 1),
        "bounded_too_small_from": ends(bounded, alphabet),
        "bounded_too_small_for_bits_from": ends(bounded, 2),
        "state_too_small_from": ends(parts, alphabet),
    }
