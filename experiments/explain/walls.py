"""What no protocol with M message bits can pass, each wall with its numbers."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import comb, log2
from typing import Any

from statebound.experiments.estimates import binary_entropy
from statebound.experiments.explain.steps import Check, Step, check, number
from statebound.protocols.limits import report
from statebound.protocols.limits.patterns import profile
from statebound.protocols.limits.rate_distortion import rate_distortion
from statebound.protocols.limits.streaming import streaming_wall
from statebound.protocols.problem import Problem

WRITTEN = 8  # terms of a sum that are written out
WALLS = ("ball", "rate_distortion", "streaming")


def steps(row: dict[str, Any], problem: Problem) -> list[Step]:
    """Return the walls, or why there are none."""
    record = report.limits(problem, row["state_bits"])
    return [
        _ball(row, problem, record),
        _rate(row, problem, record),
        _streaming(row, problem, record),
        _best(row, record),
        _status(row, record),
    ]


def in_steps(row: dict[str, Any]) -> bool:
    """Whether the state that reads x itself is held to M bits after every symbol."""
    return row["regime"] == "step" and row["through"] is None


def _why(record: dict[str, Any], name: str) -> str:
    return "; ".join(record["notes"].get(name, ["not known here"]))


def _ball(row: dict[str, Any], problem: Problem, record: dict[str, Any]) -> Step:
    title = "The ball wall"
    text = (
        "N = 2^M messages give Bob N lists of answers, and each list serves only so many inputs "
        "with few errors: the inputs are filled into the cheapest errors first."
    )
    if record["ball"] is None:
        return Step(title, text, absent={"wall_ball": _why(record, "ball")})
    n, q, M = problem.structure.effective_n, problem.structure.alphabet, row["state_bits"]
    bits = min(M, n * (q - 1).bit_length())  # with q^n messages there is nothing left to err on
    if problem.structure.uniform:
        lines, value = _balls(n, q, M, 1 << bits)
    else:
        costs = profile(problem.structure.weights, q)
        assert costs is not None
        layers = ((Fraction(cost, costs.unit), count) for cost, count in costs.layers())
        lines, value = _fill(layers, costs.total, M, 1 << bits)
    return Step(title, text, tuple(lines), (check("wall_ball", row, value),))


def _balls(n: int, q: int, M: int, N: int) -> tuple[list[str], Fraction]:
    """Return the wall for equal weights, as a sum over balls."""
    sphere = "C(n, j)" if q == 2 else "C(n, j) (q-1)^j"
    lines = [
        "success <= 1 - (1/n) sum_{t=0}^{n-1} max(0, 1 - N V(t) / q^n)",
        f"V(t) = sum_(j<=t) {sphere} inputs within t errors; n = {n}, q = {q}, N = 2^{M}",
    ]
    total, V, over = q**n, 0, 0
    terms: list[str] = []
    for t in range(n):
        V += comb(n, t) * (q - 1) ** t
        left = max(0, total - N * V)
        over += left
        if len(terms) <= WRITTEN and (left or n <= WRITTEN):
            ratio = f"{number(N)} x {number(V)} / {number(total)}"
            terms.append(f"t = {t}: max(0, 1 - {ratio}) = {number(Fraction(left, total))}")
        if not left and n > WRITTEN:
            break
    lines += terms[:WRITTEN]
    if len(terms) > WRITTEN:
        lines.append(f"... until N V(t) reaches {q}^{n}, at t = {t}")
    elif n > WRITTEN:
        lines.append(f"and 0 from t = {t} on")
    sum_of = Fraction(over, total)
    value = 1 - sum_of / n
    return [*lines, f"= 1 - (1/{n}) x {number(sum_of)} = {number(value)}"], value


def _fill(
    layers: Iterable[tuple[Fraction, int]], total: int, M: int, N: int
) -> tuple[list[str], Fraction]:
    """Return the wall for unequal weights, as a fill by cost."""
    lines = [
        "success <= 1 - (1/q^n) sum over error patterns, the cheapest first, of cost x inputs",
        f"an error pattern e costs sum_k w_k e_k and serves N (q-1)^|e| inputs; N = 2^{M}",
    ]
    left, error, layer = total, Fraction(0), 0
    for cost, count in layers:
        taken = min(left, N * count)
        error += cost * taken
        left -= taken
        layer += 1
        if layer <= WRITTEN:
            lines.append(f"cost {number(cost)}: {number(taken)} inputs")
        if not left:
            break
    if layer > WRITTEN:
        lines.append(f"... {layer} layers until all {number(total)} inputs are placed")
    value = 1 - error / total
    return [*lines, f"= 1 - {number(error)} / {number(total)} = {number(value)}"], value


def _rate(row: dict[str, Any], problem: Problem, record: dict[str, Any]) -> Step:
    title = "The rate-distortion wall"
    text = "M bits hold at most M bits of information on the answers (Fano's inequality)."
    if record["rate_distortion"] is None:
        why = _why(record, "rate_distortion")
        return Step(title, text, absent={"wall_rate_distortion": why})
    n, q, M = problem.structure.effective_n, problem.structure.alphabet, row["state_bits"]
    if not problem.structure.uniform:
        lines: tuple[str, ...] = (
            "M = sum_k [log2 q - h(e_k) - e_k log2(q - 1)],  e_k = (q-1) / (q-1 + exp(l w_k))",
            f"l is solved for with M = {M}, n = {n}, q = {q}; success <= 1 - sum_k w_k e_k",
        )
        value: float | Fraction = rate_distortion(problem.structure.weights, q, M)
        return Step(title, text, lines, (check("wall_rate_distortion", row, value),))
    full = n * log2(q)
    if M == 0 or full <= M:
        value = 1.0 if M else 1 / q
        edge = f"M = {M} >= n log2 q = {full:.6g}" if M else "M = 0"
        lines = (f"{edge}: success <= {value:.6g}",)
        return Step(title, text, lines, (check("wall_rate_distortion", row, value),))
    stated = row["wall_rate_distortion"]
    error = 1 - stated if stated is not None else 0.0
    spent = n * information(error, q) if 0 <= error <= 1 else -1.0
    fits = stated is not None and 0 <= error <= 1 - 1 / q and abs(spent - M) <= 1e-6 * max(1, M)
    if q == 2:
        general = "success <= 1 - hinv(1 - M/n),  h(p) = -p log2 p - (1-p) log2(1-p)"
        filled = f"1 - M/n = 1 - {M}/{n} = {1 - M / n:.6g};  h({error:.6g}) = "
        filled += f"{1 - information(error, 2):.6g}" if fits else "another number"
    else:
        general = "M = n [log2 q - h(e) - e log2(q - 1)],  success <= 1 - e"
        filled = f"n = {n}, q = {q}, e = {error:.6g}: n [...] = {spent:.6g}, M = {M}"
    lines = (general, filled, f"= 1 - {error:.6g} = {1 - error:.6g}")
    computed = stated if fits else rate_distortion(problem.structure.weights, q, M)
    return Step(title, text, lines, (check("wall_rate_distortion", row, computed, agrees=fits),))


def information(error: float, q: int) -> float:
    """Return log2 q - h(e) - e log2(q - 1), what an answer of this error tells at least.

    Examples
    --------
    >>> information(0.5, 2), information(0.0, 4)
    (0.0, 2.0)
    """
    return log2(q) - binary_entropy(error) - error * log2(q - 1)


def _streaming(row: dict[str, Any], problem: Problem, record: dict[str, Any]) -> Step:
    title = "The streaming wall"
    text = "A state held to M bits after every symbol cannot wait and see: a sharper wall."
    M = row["state_bits"]
    if not in_steps(row):
        why = "only where x itself is read by a state of M bits after every symbol (regime step)"
        if row["wall_streaming"] is None:
            return Step(title, text, absent={"wall_streaming": why})
        return Step(title, text, checks=(check("wall_streaming", row, None),))
    wall = streaming_wall(problem.structure, M)
    if wall is None:
        if row["wall_streaming"] is None:
            return Step(title, text, absent={"wall_streaming": _why(record, "streaming")})
        return Step(title, text, checks=(check("wall_streaming", row, None),))
    n = problem.structure.effective_n
    lines = [f"{wall.source}, {wall.status}: success <= {number(wall.value)}"]
    value = wall.value
    if M == 0:
        lines, value = ["M = 0: success <= 1/2"], Fraction(1, 2)
    elif n <= M + 1:
        N = 1 << min(M, n)
        value = 1 - (1 - Fraction(N, 1 << n)) / n
        lines = [
            "n <= M + 1: success <= 1 - (1 - min(2^M, 2^n) / 2^n) / n",
            f"= 1 - (1 - {N} / {1 << n}) / {n} = {number(value)}",
        ]
    elif M == 1:
        half = -(-n // 2)
        value = Fraction(1, 2) + Fraction(2, 3 * n) * (1 - Fraction(1, 4**half))
        lines = [
            "M = 1: success <= 1/2 + (2 / (3n)) (1 - 4^(-ceil(n/2)))",
            f"= 1/2 + (2 / {3 * n}) (1 - 4^-{half}) = {number(value)}",
        ]
    return Step(title, text, tuple(lines), (check("wall_streaming", row, value),))


def _best(row: dict[str, Any], record: dict[str, Any]) -> Step:
    title, text = "The best code known", "What some protocol with M message bits reaches."
    if record["optimum_low"] is None:
        return Step(title, text, absent={"best_known": _why(record, "optimum_low")})
    source = record["optimum_low_source"]
    lines = (f"{source}: {record['optimum_low_fraction'] or record['optimum_low']}",)
    return Step(title, text, lines, (check("best_known", row, record["optimum_low"]),))


def _status(row: dict[str, Any], record: dict[str, Any]) -> Step:
    status = {name: record["status"][name] for name in WALLS}
    if not in_steps(row):
        status["streaming"] = None
    checks = (check("wall_status", row, status),)
    return Step("What is proved", "Only proved walls are drawn.", (), checks)


def passed(row: dict[str, Any], success: Fraction | None) -> Check:
    """Check that a success that was counted is not above a wall unless the row says so."""
    told = row["violates_wall"]
    value = row["success"] if success is None else success
    slack = 1e-9 if success is None else 0
    limits = [row[f"wall_{name}"] for name in ("ball", "streaming")]
    exact = row["engine"] != "sample"
    above = exact and any(w is not None and value - slack > Fraction(w) for w in limits)
    above = above and all(abs(float(value) - w) > 1e-12 for w in limits if w is not None)
    return check("violates_wall", row, told or above)
