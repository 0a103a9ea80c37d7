"""What the message holds, what success needed, and the verdict."""

from __future__ import annotations

from fractions import Fraction
from math import fsum, log2
from typing import Any

from statebound.experiments.estimates import certified_bits
from statebound.experiments.explain.steps import CLOSE, Check, Step, check, number
from statebound.experiments.explain.success import fraction
from statebound.experiments.explain.walls import passed
from statebound.protocols.limits import report
from statebound.protocols.problem import Problem

WRITTEN = 8
NOT_COUNTED = "a sample does not count messages"
CAN_BE_WRITTEN = 40  # bits of a number of messages that a float still tells apart


def steps(row: dict[str, Any], problem: Problem) -> list[Step]:
    """Return what a row says of the bits needed, sent, and held."""
    return [
        _needed(row, problem),
        _efficiency(row),
        _entropy(row),
        _stored(row, problem),
        _certified(row, problem),
        _verdict(row),
    ]


def _needed(row: dict[str, Any], problem: Problem) -> Step:
    title = "Bits needed"
    text = "The least any protocol sends for this success: the fewest messages N whose ball wall"
    text += " reaches it (for a sample, its lower end)."
    if not problem.structure.walled:
        return Step(title, text, absent={"needed_bits": "no wall applies to this problem"})
    goal = fraction(row) or Fraction(row["success_low"])
    needed = _bits(problem, goal)
    if needed is None:
        return Step(title, text, absent={"needed_bits": "patterns of errors cannot be counted"})
    stated = row["needed_bits"]
    fits = None
    if row["engine"] == "automaton" and stated is not None:  # it is less its error bound
        least = _bits(problem, goal - Fraction(CLOSE))
        fits = least is not None and least - CLOSE <= stated <= needed + CLOSE
    lines = ["needed_bits = log2 of the least N with ball wall(N) >= success"]
    if needed <= CAN_BE_WRITTEN:
        N = round(2**needed)
        here, before = report.wall(problem, N), report.wall(problem, max(1, N - 1))
        assert here is not None
        assert before is not None
        if N > 1:
            lines.append(f"wall({N - 1}) = {number(before)} < {number(goal)}")
        lines.append(f"wall({N}) = {number(here)} >= {number(goal)}")
        lines.append(f"log2 {N} = {needed:.6g}")
    computed = stated if fits else needed
    return Step(title, text, tuple(lines), (check("needed_bits", row, computed, agrees=fits),))


def _bits(problem: Problem, goal: Fraction) -> float | None:
    if goal <= 0:
        return 0.0
    needed: float | None = report.bits_needed(problem, goal)["bits_needed"]["ball"]
    return needed


def _efficiency(row: dict[str, Any]) -> Step:
    title, text = (
        "Efficiency",
        "The bits needed over the bits sent: 1 where no fewer messages could do, by the ball.",
    )
    M, needed = row["state_bits"], row["needed_bits"]
    if not M or needed is None:
        why = "nothing is sent" if not M else "the bits needed are not known"
        return _null(title, text, row, "efficiency", why)
    lines = (f"efficiency = needed_bits / M = {needed} / {M} = {needed / M:.6g}",)
    return Step(title, text, lines, (check("efficiency", row, needed / M),))


def _null(title: str, text: str, row: dict[str, Any], name: str, why: str) -> Step:
    if row[name] is None:
        return Step(title, text, absent={name: why})
    return Step(title, text, checks=(check(name, row, None),))


def _entropy(row: dict[str, Any]) -> Step:
    title = "Messages that occur"
    text = "Alice is a fixed function of x, so what her message tells of x is its entropy H."
    names = ("distinct_messages", "message_entropy", "utilisation")
    if row["engine"] == "sample":
        return Step(title, text, absent=dict.fromkeys(names, NOT_COUNTED))
    M, distinct, H = row["state_bits"], row["distinct_messages"], row["message_entropy"]
    if distinct is None or H is None or distinct < 1:
        missing = tuple(check(name, row, row[name], agrees=False) for name in names[:2])
        return Step(title, text, checks=missing)
    most = log2(distinct)
    few, low = distinct <= 1 << min(M, 1 << 12), -CLOSE <= H <= most + CLOSE
    lines = [
        "H <= log2(distinct messages) <= M",
        f"{H} <= log2 {distinct} = {most:.6g} <= {M}",
    ]
    checks = [
        check("distinct_messages", row, distinct if few else f"at most 2^{M}", agrees=few),
        check("message_entropy", row, H if low else most, agrees=low),
    ]
    absent = {}
    if M:
        lines.append(f"utilisation = H / M = {H} / {M} = {H / M:.6g}")
        checks.append(check("utilisation", row, H / M))
    else:
        absent["utilisation"] = "nothing is sent"
    return Step(title, text, tuple(lines), tuple(checks), {}, absent)


def _stored(row: dict[str, Any], problem: Problem) -> Step:
    title = "What the message tells about the answers"
    text = "Mutual information of the message with each answer, in bits."
    names = ("information_by_query", "stored_bits")
    if row["engine"] == "sample":
        return Step(title, text, absent=dict.fromkeys(names, NOT_COUNTED))
    held, stored = row["information_by_query"], row["stored_bits"]
    if held is None:
        absent = {names[0]: "there are too many queries to list"}
        return Step(title, text, (), (), {"stored_bits": stored}, absent)
    fits = len(held) == problem.queries
    checks: list[Check] = [check(names[0], row, held, agrees=fits)]
    if not problem.structure.independent:
        if stored is None:
            absent = {"stored_bits": "the answers depend on one another and were not followed"}
            return Step(title, text, (), tuple(checks), {}, absent)
        low = 0 - CLOSE <= stored <= row["message_entropy"] + CLOSE
        line = f"stored_bits = I(all answers; message) = {stored} <= H = {row['message_entropy']}"
        bound = stored if low else row["message_entropy"]
        checks.append(check("stored_bits", row, bound, agrees=low))
        return Step(title, text, (line,), tuple(checks))
    values = [value for value in held if value is not None]
    terms = " + ".join(f"{value:.6g}" for value in values[:WRITTEN])
    more = f" + ... ({len(values)} terms)" if len(values) > WRITTEN else ""
    total = fsum(values)
    lines = (
        "stored_bits = sum_k I(answer k; message) <= I(x; message) = H",
        f"= {terms}{more} = {total:.6g} <= {row['message_entropy']}",
    )
    checks.append(check("stored_bits", row, total))
    return Step(title, text, lines, tuple(checks))


def _certified(row: dict[str, Any], problem: Problem) -> Step:
    title = "Bits that a sample certifies"
    text = "Information that the message must hold, by the lower end of the interval."
    structure = problem.structure
    if row["engine"] != "sample":
        return _null(title, text, row, "certified_bits", "all was counted, nothing estimated")
    if not (structure.walled and structure.alphabet == 2 and structure.uniform):
        why = "claimed for independent fair bits, equally often asked"
        return _null(title, text, row, "certified_bits", why)
    n, low = structure.effective_n, row["success_low"]
    value = certified_bits(low, n)
    lines = (
        "certified_bits = n (1 - h(max(1/2, success_low)))",
        f"= {n} (1 - h({max(0.5, low):.6g})) = {value:.6g}",
    )
    return Step(title, text, lines, (check("certified_bits", row, value),))


def _verdict(row: dict[str, Any]) -> Step:
    text = "A success above a proved wall, or an answer from elsewhere, means an uncounted bit."
    checks = [passed(row, fraction(row))]
    absent = {}
    if row["violates_wall"]:
        told = row["leak"] is not None
        checks.append(check("leak", row, row["leak"] if told else "the reason", agrees=told))
    elif row["leak"] is None:
        absent["leak"] = "every bit was counted"
    else:
        checks.append(check("leak", row, None))
    return Step("The verdict", text, (), tuple(checks), {}, absent)
