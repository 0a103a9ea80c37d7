"""limit: guess how well Bob can do with M bits; then the wall, and the best code."""

from __future__ import annotations

from math import comb
from typing import Any

from statebound.errors import UsageError
from statebound.experiments.demos._page import Step, Story, counted, level

SUMMARY = "Guess how often Bob is right with M bits; then see the wall."
MOST = 64
CODES = "statebound.protocols.codes"


def record(n: int = 7, state_bits: int = 4, guess: float | None = None) -> dict[str, Any]:
    """Gather what any protocol for Index with M bits can and cannot do.

    Parameters
    ----------
    n
        Bits of Alice, 1 to 64.
    state_bits
        M, 0 to n.
    guess
        Somebody's guess of the best success, in (0, 1]; None for none.

    Returns
    -------
    The record of ``statebound limits``; ``shells``, for each number of wrong answers t the
    words in a ball of radius t, and the greatest share of inputs that is answered with at
    most t mistakes; and ``codes``, the exact success of every code that has this size.

    Raises
    ------
    UsageError
        When a size or the guess does not fit.
    """
    if not 1 <= n <= MOST:
        raise UsageError("n", n, f"must be 1..{MOST} here", "pass a length in that range")
    if not 0 <= state_bits <= n:
        raise UsageError(
            "state_bits", state_bits, f"must be 0..{n} here", "pass message bits in that range"
        )
    if guess is not None and not 0 < guess <= 1:
        raise UsageError("guess", guess, "must be a number in (0, 1]", "pass a share such as 0.8")
    from statebound.protocols.limits.report import limits
    from statebound.protocols.problem import make

    problem = make("index", n)
    shells, words = [], 0
    for t in range(n):
        words += comb(n, t)
        share = min(1.0, words * 2**state_bits / 2**n)
        shells.append({"wrong": t, "words": words, "share": share})
    return {
        "demo": "limit",
        "problem": "index",
        "guess": guess,
        "shells": shells,
        "codes": _codes(problem, state_bits),
        **limits(problem, state_bits),
    }


def _codes(problem: Any, state_bits: int) -> list[dict[str, Any]]:
    """Return the codes of this size whose success is known exactly, worst first."""
    from statebound import registry

    found = []
    for name in registry.names(CODES):
        try:
            code = registry.load(CODES, name, "codes").PROTOCOL(problem, state_bits)
        except UsageError:
            continue
        success = code.success()
        if success is not None:
            found.append({"code": name, "success": float(success), "fraction": f"{success}"})
    return sorted(found, key=lambda row: (row["success"], row["code"]))


def steps(record: dict[str, Any], width: int) -> list[Step]:
    """Tell the record."""
    story = Story()
    n, M, wall = record["n"], record["state_bits"], record["ball"]
    story.scene("Guess")
    story.step(
        f"Alice has {counted(n, 'fair bit')}. She may send {counted(M, 'bit')}.",
        "Bob is asked for one of hers; each index comes equally often.",
    )
    story.step("", "How often can he be right, with the best Alice and the best Bob?")
    guess = record["guess"]
    story.step("Guess now." if guess is None else f"The guess: {guess:.4f}.")

    story.scene("Simple ways")
    story.step("Send nothing, toss a coin:", level("nothing", record["chance"], width))
    story.step(
        "",
        f"Send {counted(M, 'bit')} as they are, toss a coin for the other {n - M}:",
        level("bits as they are", record["truncation"], width),
    )
    story.step("", "Is more possible with the same bits?")

    story.scene("The wall")
    story.step(
        "To each message belongs what Bob would answer to k = 1, 2, ...: a word.",
        f"{counted(M, 'bit')} make 2^{M} messages, so he has 2^{M} words at most.",
    )
    story.step(
        f"Alice's input is one of 2^{n}. How near is the nearest of Bob's words?",
        "Within t places of one of his words is at most this share of the inputs:",
        "",
    )
    for shell in record["shells"]:
        story.step(
            level(
                f"within {shell['wrong']}",
                shell["share"],
                width,
                text=f"{shell['share']:.4f}",
            )
        )
        if shell["share"] == 1.0:
            break
    first = record["shells"][1] if n > 1 else record["shells"][0]
    story.step(
        "",
        f"(Within {first['wrong']} of a word are {counted(first['words'], 'input')}, and 2^{M} "
        "words have 2^M times as many at most.)".replace("2^M", f"2^{M}"),
        "All other inputs are answered with more mistakes.",
    )
    mean = sum(1 - shell["share"] for shell in record["shells"])
    story.step(
        "",
        f"So on average at least {mean:.4f} of {counted(n, 'answer')} are wrong, and the success "
        f"is at most 1 - {mean:.4f}/{n}:",
        level("any protocol", wall, width),
    )

    story.scene("The best code")
    for row in record["codes"]:
        story.step(level(row["code"], row["success"], width))
    low, high = record["optimum_low"], record["optimum_high"]
    story.step(level("best known", low, width))
    story.step(level("the wall", wall, width))
    story.step("", f"Best known: {record['optimum_low_source']}.")
    if low == high:
        story.step("It is the best possible, proved.")
    else:
        story.step(f"The best possible is somewhere from {low:.4f} to {high:.4f}.")
    if guess is not None:
        if guess > high:
            verdict = "is more than any protocol reaches"
        elif guess <= low:
            verdict = "is reached"
        else:
            verdict = "lies where nobody knows"
        story.step(f"The guess {guess:.4f} {verdict}.")
    story.step(
        "",
        "A code sees all the bits before it writes. A model reads them once, in order: "
        "the same wall holds for it, and it may stay further below.",
    )
    return story.steps
