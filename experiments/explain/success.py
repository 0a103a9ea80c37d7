"""How often Bob was right."""

from __future__ import annotations

from fractions import Fraction
from math import fsum
from typing import Any

from statebound.errors import UsageError
from statebound.experiments.explain.steps import CLOSE, Check, Step, check, number
from statebound.protocols.problem import Problem

WRITTEN = 8
TEXT = "Success is the probability, over x and the query, that Bob's answer is right."


def steps(row: dict[str, Any], problem: Problem) -> list[Step]:
    """Return what a row says of success, on average, by query and at once."""
    return [_average(row), _by_query(row, problem), _bobs(row), _at_once(row, problem)]


def fraction(row: dict[str, Any]) -> Fraction | None:
    """Return the exact success where it is known.

    Raises
    ------
    UsageError
        When the column holds another text than a fraction.
    """
    text = row["success_fraction"]
    if text is None:
        return None
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError) as error:
        raise UsageError(
            "success_fraction", text, "must be p/q in whole numbers", "pass the row as it was"
        ) from error


def _average(row: dict[str, Any]) -> Step:
    exact = fraction(row)
    checks: list[Check] = []
    absent: dict[str, str] = {}
    formula: tuple[str, ...] = ()
    if exact is not None:
        p, q = row["success_fraction"].split("/") if "/" in row["success_fraction"] else (exact, 1)
        formula = (f"success = {p} / {q} = {float(exact):.6g}",)
        checks.append(check("success", row, exact))
        stated = {"success_fraction": row["success_fraction"]}
    else:
        stated = {"success": row["success"]}
        absent["success_fraction"] = (
            "success is a float, exact up to a rounding error"
            if row["engine"] == "automaton"
            else "a sample does not give an exact fraction"
        )
    low, high = row["success_low"], row["success_high"]
    if row["interval_level"] is None:
        checks += [check("success_low", row, row["success"])]
        checks += [check("success_high", row, row["success"])]
        absent["interval_level"] = "all was counted, so there is no interval"
        return Step("Success", TEXT, formula, tuple(checks), stated, absent)
    inside = low <= row["success"] <= high
    text = f"{TEXT} The interval covers the truth with probability {row['interval_level']}."
    stated["interval_level"] = row["interval_level"]
    formula = ("success_low <= success <= success_high", f"{low} <= {row['success']} <= {high}")
    for name in ("success_low", "success_high"):
        checks.append(check(name, row, row[name] if inside else row["success"], agrees=inside))
    return Step("Success", text, formula, tuple(checks), stated, absent)


def _by_query(row: dict[str, Any], problem: Problem) -> Step:
    title, values = "Success by query", row["success_by_query"]
    if values is None:
        absent = {"success_by_query": "there are too many queries to list"}
        return Step(title, "The queries are drawn, not listed.", absent=absent)
    weights = problem.weights
    pairs = [(w, s) for w, s in zip(weights, values, strict=False) if s is not None]
    mean = fsum(float(w) * s for w, s in pairs)
    shown = " + ".join(f"{number(w)} x {s:.6g}" for w, s in pairs[:WRITTEN])
    more = f" + ... ({len(pairs)} terms)" if len(pairs) > WRITTEN else ""
    if row["engine"] == "sample":
        text = "How often each query was answered rightly among those that were asked."
        fits = len(values) == problem.queries
        entry = check("success_by_query", row, values, agrees=fits)
        return Step(title, text, (), (entry,))
    formula = ("success = sum_k w_k s_k", f"        = {shown}{more}", f"        = {mean:.6g}")
    fits = len(values) == problem.queries and abs(mean - row["success"]) <= CLOSE
    entry = check("success_by_query", row, values if fits else [mean], agrees=fits)
    text = "The mean over queries, each with its weight w_k, is the average above."
    return Step(title, text, formula, (entry,))


def _bobs(row: dict[str, Any]) -> Step:
    checks: list[Check] = []
    absent: dict[str, str] = {}
    formula: list[str] = []
    best, own, success = row["optimal_success"], row["own_success"], row["success"]
    if best is None:
        absent["optimal_success"] = "a sample does not tell the joint law of message and answers"
    elif row["bob"] == "optimal":
        formula.append("optimal_success = success")
        checks.append(check("optimal_success", row, success))
    else:
        formula += ["success <= optimal_success", f"{success} <= {best}"]
        fits = success <= best + CLOSE or row["violates_wall"]
        checks.append(check("optimal_success", row, best if fits else success, agrees=fits))
    if own is None:
        absent["own_success"] = "it has no Bob of its own, or he was not counted"
    elif row["bob"] == "model":
        checks.append(check("own_success", row, success))
    else:
        fits = best is None or own <= best + CLOSE or row["violates_wall"]
        if best is not None:
            formula += ["own_success <= optimal_success", f"{own} <= {best}"]
        checks.append(check("own_success", row, own if fits else best, agrees=fits))
    text = "The optimal Bob is unbeatable given the messages; others may stay below him."
    return Step("Other Bobs", text, tuple(formula), tuple(checks), {}, absent)


def _at_once(row: dict[str, Any], problem: Problem) -> Step:
    title, text = "All queries right at once", "How often Bob would answer every query rightly."
    value = row["all_correct"]
    structure = problem.structure
    if value is None:
        why = {
            "enumerate": "some queries are never asked of some inputs, or are too many to list",
            "automaton": "whole vectors of answers were not followed",
        }.get(row["engine"], "whole vectors of answers were not counted")
        return Step(title, text, absent={"all_correct": why})
    distinct = row["distinct_messages"]
    exact = row["engine"] != "sample" and row["bob"] == "optimal"
    if exact and structure.index_stream and distinct is not None and structure.independent:
        formula = (
            "all_correct = distinct messages / inputs (Bob names one x for each message)",
            f"            = {distinct} / {problem.inputs}",
        )
        entry = check("all_correct", row, Fraction(distinct, problem.inputs))
        return Step(title, text, formula, (entry,))
    if not structure.walled or row["engine"] == "sample":
        fits = 0 <= value <= 1
        return Step(title, text, (), (check("all_correct", row, value, agrees=fits),))
    n, q = structure.effective_n, structure.alphabet
    bits = min(row["state_bits"], n * (q - 1).bit_length())
    most = min(Fraction(1), Fraction(1 << bits, q**n))
    fits = value <= most + CLOSE or row["violates_wall"]
    formula = (
        "all_correct <= min(1, 2^M / q^n)",
        f"            <= min(1, 2^{row['state_bits']} / {q}^{n}) = {number(most)}",
    )
    entry = check("all_correct", row, value if fits else most, agrees=fits)
    return Step(title, text, formula, (entry,))
