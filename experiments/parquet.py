"""Flat rows as a Parquet file, by pyarrow.

Whole numbers are int64 also where some are null: a note in the file's schema, in pandas' own
convention, makes pandas read such a column as its nullable Int64 and not as floats. Columns
of measured rows have their types whatever the rows hold; others have those of their values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from statebound.errors import StateboundError

# names of arrow's types, and of those of pandas that can hold null
_PANDAS = {"int64": "Int64", "double": "float64", "bool": "boolean", "string": "str"}
_TYPES = {
    "int64": "n effective_n alphabet queries state_numbers bits_per_number state_bits "
    "message_bytes trials distinct_messages deterministic_bits machine_seed seed",
    "double": "chance success success_low success_high interval_level optimal_success own_success "
    "all_correct message_entropy utilisation stored_bits certified_bits needed_bits efficiency "
    "best_known wall_ball wall_rate_distortion wall_streaming",
    "bool": "violates_wall",
}
DECLARED = {name: kind for kind, names in _TYPES.items() for name in names.split()}


def parquet(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> bytes:
    """Return flat rows as the bytes of a Parquet file.

    Raises
    ------
    StateboundError
        When pyarrow is missing, or a column holds what its type cannot.
    """
    try:
        import pyarrow
        from pyarrow import parquet as file
    except ImportError as error:
        raise StateboundError(
            "format parquet needs pyarrow, which is not installed; "
            "pip install 'statebound[parquet]', or take --format csv"
        ) from error
    arrays, kinds = [], {}
    for name in columns:
        values = [row[name] for row in rows]
        kinds[name] = kind = _kind(name, values)
        if kind == "string":
            values = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
        try:
            arrays.append(pyarrow.array(values, pyarrow.type_for_alias(kind)))
        except (pyarrow.ArrowException, OverflowError, TypeError, ValueError) as error:
            raise StateboundError(
                f"column {name}: does not fit {kind} ({error}); take --format csv, or leave it "
                "out with --columns"
            ) from error
    table = pyarrow.table(arrays, names=list(columns))
    sink = pyarrow.BufferOutputStream()
    file.write_table(table.replace_schema_metadata({"pandas": _note(kinds)}), sink)
    return bytes(sink.getvalue())


def _kind(name: str, values: Sequence[Any]) -> str:
    """Return the type of a column; mixed ones are text."""
    found = {type(v) for v in values if v is not None}
    declared = DECLARED.get(name)
    if declared is not None and found <= {int, float, bool}:
        return declared
    if found == {bool}:
        return "bool"
    if found == {int}:
        return "int64"
    return "double" if found and found <= {int, float} else "string"


def _note(kinds: Mapping[str, str]) -> str:
    """Return what pandas reads from a schema: the type of every column, and no index."""
    columns = [
        {
            "name": name,
            "field_name": name,
            "pandas_type": {"string": "unicode", "double": "float64"}.get(kind, kind),
            "numpy_type": _PANDAS[kind],
            "metadata": None,
        }
        for name, kind in kinds.items()
    ]
    return json.dumps({"index_columns": [], "column_indexes": [], "columns": columns})
