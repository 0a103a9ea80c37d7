"""Tables: rows of a record as plain text, CSV, Markdown or LaTeX.

CSV is for programs and keeps every digit. The others are for readers: numbers are rounded
to a few decimals, but what is not whole never looks whole, and everything that a format
would take for markup is escaped.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

FORMATS = ("text", "csv", "markdown", "latex")
DIGITS = 4
_NOISE = 1e-12  # closer to a whole number than this is rounding, not a value

Row = Mapping[str, Any]
Columns = Mapping[str, str]
Shown = Callable[[Row, str], str]

_MARKDOWN = re.compile(r"([\\`*\[\]<>|~&$])|(?<![A-Za-z0-9])(_)|(_)(?![A-Za-z0-9])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "[": "{[}",  # after the end of a row it would open an option, as * would
    "*": "{*}",
}


def number(value: float, digits: int = DIGITS) -> str:
    """Return a number with this many decimals; what is not whole is not shown as whole.

    Examples
    --------
    >>> number(0.75), number(1.0), number(0.99999), number(0.00001), number(-0.00001)
    ('0.7500', '1.0000', '>0.9999', '<0.0001', '>-0.0001')
    """
    text = f"{value:.{digits}f}"
    if not math.isfinite(value):
        return text
    away = value - round(value)
    if float(text) != round(value) or abs(away) < _NOISE:
        return text.removeprefix("-") if float(text) == 0 else text
    step = Decimal(1).scaleb(-digits)
    return f"<{round(value) + step}" if away > 0 else f">{round(value) - step}"


def bound(value: float, digits: int = DIGITS, *, upper: bool) -> str:
    """Return an end of an interval, rounded outwards so that the interval still covers.

    Examples
    --------
    >>> bound(0.56789, 3, upper=False), bound(0.56712, 3, upper=True), bound(0.7, upper=False)
    ('0.567', '0.568', '0.7000')
    """
    step = Decimal(1).scaleb(-digits)
    rounded = Decimal(repr(value)).quantize(step, ROUND_CEILING if upper else ROUND_FLOOR)
    return f"{abs(rounded) if rounded == 0 else rounded:f}"


def decimals(low: float, high: float, most: int = DIGITS) -> int:
    """Return how many decimals give the half width of an interval two digits, 1 to `most`.

    Examples
    --------
    >>> decimals(0.5939, 0.6061), decimals(0.4, 0.6), decimals(0.5, 0.5)
    (4, 2, 4)
    """
    half = (high - low) / 2
    if half <= 0:
        return most
    return max(1, min(most, math.ceil(-math.log10(half)) + 1))


def plain(row: Row, key: str, digits: int = DIGITS) -> str:
    """Return one cell for a reader; null is a dash."""
    value = row[key]
    if value is None:
        return "-"
    return number(value, digits) if isinstance(value, float) else str(value)


def text(rows: Sequence[Row], columns: Columns, shown: Shown = plain) -> str:
    """Return a plain table; `columns` maps keys to headings, `shown` gives each cell."""
    cells = [list(columns.values())] + [[shown(row, key) for key in columns] for row in rows]
    widths = [max(len(line[c]) for line in cells) for c in range(len(columns))]
    numeric = _numeric(rows, columns)
    lines = []
    for line in cells:
        parts = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ]
        lines.append("  ".join(parts).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines) + "\n"


def csv(rows: Sequence[Row], columns: Columns) -> str:
    """Return comma-separated values with every digit, keys as headings.

    Null is an empty field and an empty text a quoted one; true and false are in small
    letters; lists and objects are JSON (see `flat`).
    """
    lines = [",".join(_quoted(key) for key in columns)]
    for row in rows:
        fields = [_field(row[key]) for key in columns]
        # a line without a character would be skipped as blank
        lines.append(",".join(fields) if len(fields) > 1 else fields[0] or '""')
    return "\n".join(lines) + "\n"


def markdown(rows: Sequence[Row], columns: Columns, shown: Shown = plain) -> str:
    """Return a table in Markdown, with pipes."""
    numeric = _numeric(rows, columns)
    lines = [
        [_in_markdown(heading) for heading in columns.values()],
        ["---:" if right else "---" for right in numeric],
        *([_in_markdown(shown(row, key)) for key in columns] for row in rows),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def latex(rows: Sequence[Row], columns: Columns, shown: Shown = plain) -> str:
    """Return a tabular for LaTeX; it needs the package booktabs."""
    numeric = _numeric(rows, columns)

    def line(cells: list[str]) -> str:
        return " & ".join(cells) + r" \\"

    body = [
        line(
            [
                _figure(shown(row, key)) if right else _in_latex(shown(row, key))
                for key, right in zip(columns, numeric, strict=True)
            ]
        )
        for row in rows
    ]
    made = [
        "% needs \\usepackage{booktabs}",
        rf"\begin{{tabular}}{{{''.join('r' if right else 'l' for right in numeric)}}}",
        r"\toprule",
        line([_in_latex(heading) for heading in columns.values()]),
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(made) + "\n"


def render(rows: Sequence[Row], columns: Columns, form: str, shown: Shown = plain) -> str:
    """Return a table in one of `FORMATS`."""
    if form == "csv":
        return csv(rows, columns)
    return {"text": text, "markdown": markdown, "latex": latex}[form](rows, columns, shown)


def flat(value: Any) -> Any:
    """Return a value that fits one cell: lists and objects become JSON text.

    Examples
    --------
    >>> flat({"d_state": 4}), flat([0.5, None]), flat(3)
    ('{"d_state":4}', '[0.5,null]', 3)
    """
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return value


def _numeric(rows: Sequence[Row], columns: Columns) -> list[bool]:
    return [all(isinstance(row[key], int | float | None) for row in rows) for key in columns]


def _field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    held = flat(value)
    return _quoted(held) if isinstance(held, str) else repr(held)


def _quoted(held: str) -> str:
    if held and not re.search(r'[",\r\n]', held) and held == held.strip():
        return held
    return '"' + held.replace('"', '""') + '"'


def _in_markdown(cell: str) -> str:
    return _MARKDOWN.sub(lambda found: "\\" + found.group(0), " ".join(cell.split()))


def _in_latex(cell: str) -> str:
    escaped = "".join(_LATEX.get(c, c) for c in " ".join(cell.split()))
    return re.sub(r"(-|,|!|\?)(?=-|,|!|\?)", r"\1{}", escaped)  # no dashes or other ligatures


def _figure(cell: str) -> str:
    """Return the digits of a column of numbers, with a real minus sign."""
    if cell == "-":
        return "--"
    return f"${cell}$" if cell[:1] in "-<>" else _in_latex(cell)
