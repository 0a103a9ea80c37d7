"""A record of `report.capacity` as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from statebound.experiments import tables


def words(record: Mapping[str, Any]) -> str:
    """Return the tables and what was assumed, for stdout."""
    parts = [
        {
            "part": row["name"],
            "dtype": row["dtype"],
            "layers": _number(row["layers"]),
            "of a layer": " x ".join(map(str, row["shape"])),
            **{
                key.replace("_", " "): _number(row[key])
                for key in ("live_numbers", "live_bits", "stored_bits")
            },
            "each": "token" if row["a_token"] else "state",
        }
        for row in record["parts"]
    ]
    lines = [
        {
            "held": row["held"],
            "bounded bits": _number(row["bounded_bits"]),
            "growing, a token": _number(row["growing_bits_a_token"]),
            "bounded < n log2 V": _from(row["bounded_too_small_from"], row["bounded_bits"]),
            "bounded < n": _from(row["bounded_too_small_for_bits_from"], row["bounded_bits"]),
            "all < n log2 V": _from(row["state_too_small_from"], 1),
        }
        for row in record["precisions"]
    ]
    return (
        f"{record['model_type']}, {record['dtype']}, vocabulary {record['vocabulary']:,}; "
        f"V = {record['alphabet']:,}, log2 V = {record['bits_a_token']:.6g} bits\n\n"
        f"{_table(parts, 2)}\n{_table(lines)}\n"
        + "".join(f"{line}\n" for line in _sentences(record))
    )


def _table(rows: list[dict[str, str]], left: int = 1) -> str:
    """Return rows of text as a table; all but the first `left` columns are numbers."""
    names = list(rows[0])
    for name in names[left:]:
        if name not in ("of a layer", "each"):
            width = max(len(name), *(len(row[name]) for row in rows))
            for row in rows:
                row[name] = row[name].rjust(width)
    return tables.text(rows, {name: name for name in names})


def _from(value: int | None, bits: int) -> str:
    if value is not None:
        return f"n = {value:,}"
    return "never" if bits else "-"


def _sentences(record: Mapping[str, Any]) -> list[str]:
    said = []
    fixed = record["fixed"]
    if fixed["live_bits"]:
        shares = ", ".join(f"{bits:,} in {d}" for d, bits in fixed["live_bits_by_dtype"].items())
        said.append(f"fixed state: {fixed['live_bits']:,} bits live ({shares})")
    if fixed["live_bits"] and record["kv_bits_a_token"]:
        from_n = record["kv_exceeds_fixed_from"]
        said.append(
            f"keys and values exceed it from n = {from_n:,}"
            if from_n is not None
            else "keys and values never exceed it"
        )
    at = record["at"]
    if at is not None:
        share = at["needed_by_available"]
        said.append(
            f"at n = {at['n']:,}: {at['needed_bits']:,.0f} bits needed of {at['state_bits']:,} held"
            + (f", a share of {share:.3g}" if share is not None else "")
        )
    other = record.get("against")
    if other is not None:
        said.append(_compared(other))
    if record["nested_in"]:
        said.append(f"read from {record['nested_in']}")
    if record["note"]:
        said.append(f"note: {record['note']}")
    if record["assumed"]:
        taken = ", ".join(f"{key} = {value}" for key, value in record["assumed"].items())
        said.append(f"assumed, since missing: {taken}")
    return said


def _compared(other: Mapping[str, Any]) -> str:
    name = f"{other['config']} ({other['model_type']})"
    if other["exceeds_from"] is not None:
        return f"the state of {name} exceeds this one's most from n = {other['exceeds_from']:,}"
    if other["exceeded_from"] is not None:
        return f"this state exceeds the most of {name} from n = {other['exceeded_from']:,}"
    if other["state_bits_at_most"] is None:
        return f"both states grow: {name} by {other['growing_bits_a_token']:,} bits a token"
    return f"the state of {name} is at most {other['state_bits_at_most']:,} bits"


def _number(value: int) -> str:
    return f"{value:,}"
