"""What an explanation is made of, and how it is written."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

LONGEST = 30  # digits of a whole number that is written out
CLOSE = 1e-9

FORMATS = ("text", "markdown")


@dataclass(frozen=True)
class Check:
    """A column of the row, and the same value computed from other columns.

    Attributes
    ----------
    column, stated
        The column and what the row holds there.
    computed
        What follows from the formula that stands before it.
    agrees
        Whether both are the same, floats to within rounding.
    """

    column: str
    stated: Any
    computed: Any
    agrees: bool


def check(column: str, row: dict[str, Any], computed: Any, *, agrees: bool | None = None) -> Check:
    """Compare a column with a value; `agrees` decides where equality is not what is claimed."""
    stated = row[column]
    if agrees is None:
        agrees = same(stated, computed)
    return Check(column, stated, computed, agrees)


def same(stated: Any, computed: Any) -> bool:
    """Whether two values are equal, floats to within rounding.

    Examples
    --------
    >>> same(0.1 + 0.2, 0.3), same(0.3, None), same([1, 0.5], [1, 0.5])
    (True, False, True)
    """
    if isinstance(stated, list) and isinstance(computed, list):
        return len(stated) == len(computed) and all(map(same, stated, computed))
    numbers = (int, float, Fraction)
    if isinstance(stated, numbers) and isinstance(computed, numbers):
        return math.isclose(float(stated), float(computed), rel_tol=CLOSE, abs_tol=CLOSE)
    return bool(stated == computed)


@dataclass(frozen=True)
class Step:
    """One thing that a row says.

    Attributes
    ----------
    title, text
        What it is, in words.
    formula
        Lines: the formula, then with numbers.
    checks
        The columns that follow from it.
    stated
        Columns that are facts of their own.
    absent
        Columns that are null, each with the reason.
    """

    title: str
    text: str
    formula: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    stated: dict[str, Any] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Explanation:
    """All steps, and what they come to."""

    steps: tuple[Step, ...]

    @property
    def disagreements(self) -> list[Check]:
        """The columns whose value does not follow from the rest of the row."""
        return [c for step in self.steps for c in step.checks if not c.agrees]

    def plain(self) -> dict[str, Any]:
        """Return the explanation as JSON-able data."""
        return {
            "steps": [
                {
                    "title": step.title,
                    "text": step.text,
                    "formula": list(step.formula),
                    "checks": [
                        {
                            "column": c.column,
                            "stated": c.stated,
                            "computed": _plain(c.computed),
                            "agrees": c.agrees,
                        }
                        for c in step.checks
                    ],
                    "stated": step.stated,
                    "absent": step.absent,
                }
                for step in self.steps
            ],
            "disagreements": [c.column for c in self.disagreements],
        }

    def write(self, style: str) -> str:
        """Return the explanation as text for a terminal, or as Markdown."""
        mark = style == "markdown"
        made: list[str] = []
        for step in self.steps:
            made += [f"## {step.title}" if mark else step.title, "", step.text, ""]
            if step.formula:
                made += ["```text", *step.formula, "```"] if mark else _indented(step.formula)
                made.append("")
            said = [f"{name} = {shown(value)}" for name, value in step.stated.items()]
            said += [_verdict(c) for c in step.checks]
            said += [f"{name} is null: {why}" for name, why in step.absent.items()]
            made += [f"- {line}" if mark else f"  {line}" for line in said]
            made.append("")
        wrong = [c.column for c in self.disagreements]
        made.append(
            f"Disagrees: {', '.join(wrong)}."
            if wrong
            else f"All {sum(len(s.checks) for s in self.steps)} derived values agree with the row."
        )
        return "\n".join(made) + "\n"


def _indented(lines: tuple[str, ...]) -> list[str]:
    return [f"    {line}" for line in lines]


def _verdict(c: Check) -> str:
    if c.agrees:
        return f"{c.column} = {shown(c.stated)}, as computed"
    return f"{c.column} = {shown(c.stated)} DISAGREES: computed {shown(_plain(c.computed))}"


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def shown(value: Any) -> str:
    """Return a value of the row exactly: what JSON would say, lists with commas."""
    if isinstance(value, list) and any(isinstance(part, dict) for part in value):
        return "; ".join(map(shown, value))
    if isinstance(value, list):
        return ", ".join(map(shown, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{k} {shown(v)}" for k, v in value.items()) or "none"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def number(value: Fraction | float) -> str:
    """Return a computed value for reading: short fractions as such, others to six digits.

    Examples
    --------
    >>> number(Fraction(7, 8)), number(1 / 3), number(2**200), number(Fraction(1, 3**80))
    ('7/8', '0.333333', '2^200', '6.7655e-39')
    """
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value) if abs(value.numerator).bit_length() < 4 * LONGEST else ""
    if 0 < len(text) <= LONGEST:
        return text
    if isinstance(value, int):
        exponent = value.bit_length() - 1
        return f"2^{exponent}" if value == 1 << exponent else f"about 2^{math.log2(value):.6g}"
    return f"{float(value):.6g}"
