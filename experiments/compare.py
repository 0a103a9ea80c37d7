"""compare: two machines on the same inputs, and what lies between them.

Where both are counted exactly the difference is exact. On a sample both machines read the same
x's and are asked the same queries. Each x gives one number d = a - b in [-1, 1], the difference
of their shares of right answers; these are independent from x to x, so a betting interval for
the mean of (d + 1) / 2 is one for the mean difference. What the two have in common, such as
hard inputs, cancels in d before any interval is drawn.

For comparison the two rows alone give an interval too, by the union bound: each machine's own
interval is widened to level 1 - (1 - level) / 2, and the difference lies between the extremes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from statebound.errors import UsageError
from statebound.experiments import blocks, tables
from statebound.experiments.blocks import LEVEL
from statebound.experiments.estimates import Interval, Values, betting_interval
from statebound.experiments.measure import (
    Exact,
    Measured,
    count_given,
    counter,
    sampled,
    stored_inputs,
    whole,
)
from statebound.experiments.point import Point, choose, facts, prepare
from statebound.experiments.request import Request
from statebound.experiments.threads import serial_algebra
from statebound.protocols.problem import Symbols
from statebound.protocols.protocol import Protocol
from statebound.protocols.table import is_partial

SIDES = ("a", "b")
COLUMNS = {
    "side": "",
    "machine": "machine",
    "state_bits": "M",
    "success": "success",
    "low": "low",
    "high": "high",
    "needed_bits": "needed bits",
    "efficiency": "efficiency",
    "wall_ball": "ball limit",
    "bob": "Bob",
}

Record = dict[str, Any]


def compare(a: Request, b: Request) -> Record:
    """Measure two machines on the same inputs.

    Parameters
    ----------
    a, b
        The machines; all that does not belong to a machine is equal in both.

    Returns
    -------
    dict
        JSON-able, as docs/compare.md lists it: both rows and ``difference``, the success of A
        less that of B, between ``difference_low`` and ``difference_high``.

    Raises
    ------
    UsageError
        When one of them has no meaning, or both cannot read the same inputs.
    """
    with serial_algebra():
        points = prepare(a), prepare(b)
        if "sample" in [point.engine for point in points]:  # both are, where one must be
            return _record(*_sampled(_as_sample(points[0]), _as_sample(points[1])))
        first, second = whole(points[0], 2), whole(points[1], 2)
        assert first.exact is not None
        assert second.exact is not None
        return _record(first, second, _exact(first.exact, second.exact))


def _as_sample(point: Point) -> Point:
    request = replace(point.request, engine="sample")
    return replace(point, request=request, engine="sample", bob=choose(request, point.protocol)[1])


def _sampled(a: Point, b: Point) -> tuple[Measured, Measured, Record]:
    """Count both on the same inputs, and what is between them."""
    x = _shared_inputs(a.protocol, b.protocol)
    measured, shares = [], []
    for point in (a, b):
        if x is None:
            count, trials = counter(point), point.request.trials
            every = range(blocks.number(trials))
            counted = [count(block, blocks.size_of(block, trials)) for block in every]
        else:
            counted = [count_given(point, x)]
        about = facts(point) | ({} if x is None else {"seed": None})
        measured.append(sampled(about, counted, 2, problem=point.protocol.problem))
        shares.append(blocks.shares(counted))
    return measured[0], measured[1], _paired(*shares)


def _record(first: Measured, second: Measured, found: Record) -> Record:
    one, other = first.row, second.row
    return {
        "problem": one["problem"],
        "n": one["n"],
        "query_law": one["query_law"],
        **found,
        "better": _better(found),
        "state_bits_difference": one["state_bits"] - other["state_bits"],
        "trials": one["trials"] if found["interval_level"] is not None else None,
        "seed": one["seed"],
        "violates_wall": one["violates_wall"] or other["violates_wall"],
        "a": one,
        "b": other,
    }


def _shared_inputs(a: Protocol, b: Protocol) -> Symbols | None:
    """Return the inputs that a table brings, None where fresh ones are drawn for both."""
    x, y = (stored_inputs(p) if is_partial(p) else None for p in (a, b))
    if x is not None and y is not None and not np.array_equal(x, y):
        raise UsageError(
            "b",
            "table",
            "its second half holds other inputs than that of A, or in another order",
            "store both tables for the same inputs",
        )
    return y if x is None else x


def _exact(a: Exact, b: Exact) -> Record:
    difference, error = a.success - b.success, a.error + b.error
    low, high = difference - error, difference + error
    by_query = [
        None if p is None or q is None else float(p - q)
        for p, q in zip(a.by_query, b.by_query, strict=True)
    ]
    exact = f"{difference.numerator}/{difference.denominator}"
    return {
        "difference": float(difference),
        "difference_fraction": None if error else exact,
        "difference_low": float(low),
        "difference_high": float(high),
        "interval_level": None,
        "unpaired_low": None,
        "unpaired_high": None,
        "difference_by_query": by_query,
    }


def paired_interval(a: Values, b: Values, level: float = LEVEL) -> Interval:
    """Return the interval for the mean difference of shares (X,) on the same x's.

    With d in [-1, 1] and m the mean of d, (d + 1) / 2 lies in [0, 1] and has the mean
    (m + 1) / 2: the betting interval of the one, stretched, is an interval of the other.
    """
    found = betting_interval((a - b + 1.0) / 2.0, level)
    best = float((a - b).mean())
    low, high = 2.0 * found.low - 1.0, 2.0 * found.high - 1.0
    return Interval(min(low, best), best, max(high, best), level)


def unpaired_interval(a: Values, b: Values, level: float = LEVEL) -> Interval:
    """Return what the intervals of both alone say about the difference (union bound)."""
    each = 1.0 - (1.0 - level) / 2.0
    one, other = betting_interval(a, each), betting_interval(b, each)
    return Interval(one.low - other.high, one.best - other.best, one.high - other.low, level)


def _paired(a: Values, b: Values) -> Record:
    paired, alone = paired_interval(a, b), unpaired_interval(a, b)
    return {
        "difference": paired.best,
        "difference_fraction": None,
        "difference_low": paired.low,
        "difference_high": paired.high,
        "interval_level": paired.level,
        "unpaired_low": alone.low,
        "unpaired_high": alone.high,
        "difference_by_query": None,
    }


def _better(found: Record) -> str | None:
    """Return whose success is proved higher, "equal" where exactly, None where open."""
    if found["difference_low"] > 0:
        return "a"
    if found["difference_high"] < 0:
        return "b"
    exact = found["difference_fraction"]
    return "equal" if exact is not None and Fraction(exact) == 0 else None


def lines(record: Record, names: tuple[str, str]) -> list[Record]:
    """Return the rows of the table: A, B and the difference."""
    shown: list[Record] = []
    for side, name in zip(SIDES, names, strict=True):
        row = record[side]
        sampled = row["interval_level"] is not None
        ends = {
            "low": row["success_low"] if sampled else None,
            "high": row["success_high"] if sampled else None,
        }
        kept = ("state_bits", "success", "needed_bits", "efficiency", "wall_ball", "bob")
        shown.append(
            {"side": side.upper(), "machine": name} | ends | {key: row[key] for key in kept}
        )
    exact = record["difference_fraction"] is not None
    shown.append(
        dict.fromkeys(COLUMNS)
        | {
            "side": "A - B",
            "state_bits": record["state_bits_difference"],
            "success": record["difference"],
            "low": None if exact else record["difference_low"],
            "high": None if exact else record["difference_high"],
        }
    )
    return shown


def cell(row: Mapping[str, Any], key: str) -> str:
    """Return a cell of the table: ends rounded outwards, no more digits than are known."""
    value, low, high = row[key], row["low"], row["high"]
    if value is None and key in ("machine", "bob"):
        return ""
    if not isinstance(value, float):
        return tables.plain(row, key)
    digits = tables.DIGITS if low is None else tables.decimals(low, high)
    if key in ("low", "high"):
        return tables.bound(value, digits, upper=key == "high")
    if low is not None and key in ("needed_bits", "efficiency"):  # both go by the lower end
        return tables.bound(value, digits, upper=False)
    return tables.number(value, digits)


def words(record: Record) -> list[str]:
    """Return what the table means, a sentence each."""
    said = [_verdict(record), _bits(record)]
    if record["interval_level"] is not None:
        said.append(_pairing(record))
    if record["a"]["bob"] != record["b"]["bob"]:
        said.append(
            f"the Bobs differ ({record['a']['bob']}, {record['b']['bob']}): this compares them too"
        )
    leaks = {side.upper(): record[side]["leak"] for side in SIDES}
    said += [f"error: {side}: an uncounted bit: {leak}" for side, leak in leaks.items() if leak]
    return said


def _verdict(record: Record) -> str:
    low, high, level = (
        record[key] for key in ("difference_low", "difference_high", "interval_level")
    )
    better = {"a": "A is right more often", "b": "B is right more often"}.get(record["better"])
    if record["difference_fraction"] is not None:
        return f"{better or 'A and B are right equally often'}: A - B = " + (
            f"{Fraction(record['difference_fraction'])}, exactly"
        )
    if level is None:
        return f"{better or 'no difference beyond rounding'}: A - B = {record['difference']:.6g}"
    digits = tables.decimals(low, high, 6)
    ends = f"[{tables.bound(low, digits, upper=False)}, {tables.bound(high, digits, upper=True)}]"
    side = "leaves out 0" if better else "holds 0"
    return (
        f"{better or 'no difference is shown'}: the {level:.0%} interval of A - B, {ends}, {side}"
    )


def _bits(record: Record) -> str:
    more = record["state_bits_difference"]
    if more == 0:
        return f"both send {record['a']['state_bits']} bits"
    side = "A" if more > 0 else "B"
    plural = "" if abs(more) == 1 else "s"
    return (
        f"{side} has {abs(more)} bit{plural} more, and more bits allow more: the efficiencies and "
        "limits tell who uses them better"
    )


def _pairing(record: Record) -> str:
    width = record["difference_high"] - record["difference_low"]
    alone = record["unpaired_high"] - record["unpaired_low"]
    drawn = f"seed {record['seed']}" if record["seed"] is not None else "a table's own"
    said = f"paired on {record['trials']} inputs ({drawn}): the interval is "
    if width < alone:
        return said + f"{alone / width:.2g} times narrower than from both rows alone"
    return said + f"{width / alone:.2g} times as wide as from both rows alone"
