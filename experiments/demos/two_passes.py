"""two_passes: a model that reads again beats the one-way bound, which is not about it."""

from __future__ import annotations

from typing import Any

from statebound.errors import UsageError
from statebound.experiments.demos._page import Line, Span, Step, Story, chunks, level

SUMMARY = "Reading twice beats the one-way bound; what it costs."
LEAST, MOST = 4, 64
TRIALS = 400


def record(n: int = 32, seed: int = 0) -> dict[str, Any]:
    """Run the machine that reads x, the query, and x again, and count what crosses.

    Parameters
    ----------
    n
        Bits of Alice, 4 to 64.
    seed
        What draws x, the query, and the inputs of the rows.

    Returns
    -------
    ``trace``, the state after each symbol of the second reading; the one-way limits for as
    many bits; ``rows``, those of ``statebound hierarchy passes``.

    Raises
    ------
    UsageError
        When a size does not fit.
    """
    if not LEAST <= n <= MOST:
        raise UsageError("n", n, f"must be {LEAST}..{MOST} here", "pass a length in that range")
    if seed < 0:
        raise UsageError("seed", seed, "must not be negative", "pass 0")
    import numpy as np

    from statebound.experiments.hierarchy.passes import rows
    from statebound.models.constructions.rereading import IndexReader, IndexState
    from statebound.protocols.limits.report import limits
    from statebound.protocols.problem import make

    generator = np.random.Generator(np.random.PCG64(seed))
    x = generator.integers(0, 2, (1, n)) > 0
    query = generator.integers(1, n + 1, 1)
    reader = IndexReader(n)

    def told(state: IndexState, read: int | None) -> dict[str, Any]:
        return {
            "read": read,
            "countdown": int(state.countdown[0]),
            "latch": int(state.latch[0]),
            "kept": bool(state.kept[0]),
        }

    state = reader.start(1)
    for a in range(n):
        state = reader.read(state, x[:, a])
    first = told(state, None)
    state = reader.ask(state, query)
    asked = told(state, None)
    trace = []
    for a in range(n):
        state = reader.read(state, x[:, a])
        trace.append(told(state, int(x[0, a])))
    walls = limits(make("index", n), reader.state_bits)
    return {
        "demo": "two-passes",
        "problem": "index",
        "n": n,
        "seed": seed,
        "x": "".join(str(int(bit)) for bit in x[0]),
        "query": int(query[0]),
        "fields": dict(reader.fields),
        "state_bits": reader.state_bits,
        "first_pass": first,
        "asked": asked,
        "trace": trace,
        "answer": int(reader.answer(state)[0]),
        "truth": int(x[0, query[0] - 1]),
        "chance": walls["chance"],
        "wall_ball": walls["ball"],
        "rows": rows([n], TRIALS, seed),
    }


def steps(record: dict[str, Any], width: int) -> list[Step]:
    """Tell the record."""
    story = Story()
    n, M, k = record["n"], record["state_bits"], record["query"]
    story.scene("Once")
    story.step(
        f"Alice has {n} bits. A model reads them once and keeps {M} bits.",
        "Then comes the question: bit k?",
    )
    story.step("", level("any model, one pass", record["wall_ball"], width))
    story.step("", "That wall is proved. Now let the model read the bits once more.")
    _second(story, record)
    fields = ", ".join(f"{name} {bits}" for name, bits in record["fields"].items())
    twice = next(row for row in record["rows"] if row["kind"] == "index, two passes")
    story.scene("Twice")
    story.step(f"The state: {fields}. In all {M} bits.", "")
    story.step(level("any model, one pass", record["wall_ball"], width))
    story.step(level("this one, two passes", twice["success"], width))
    story.step(
        f"({twice['trials']} inputs drawn; {twice['interval_level']:.0%} interval from "
        f"{twice['success_low']:.4f}. It counts k bits, so it always keeps the right one.)"
    )
    story.step(
        "",
        "No contradiction: the wall is for one message, sent before k is known.",
        "In the second pass the model knows k.",
    )
    story.scene("What it costs")
    story.step(
        "If Alice holds the bits and Bob the question, the state now crosses "
        f"{twice['crossings']} times:",
        "  Alice to Bob, Bob to Alice, Alice to Bob.",
        f"  {twice['crossings']} × {M} = {twice['bits']} bits. One way, never to err takes {n}.",
    )
    story.step("", "Someone must also keep the input, to read it again.")
    _disjoint(story, record, width)
    assert record["answer"] == record["truth"], k
    return story.steps


def _second(story: Story, record: dict[str, Any]) -> None:
    k, trace, n = record["query"], record["trace"], record["n"]
    story.scene("The second reading")
    story.step(f"First reading: it keeps nothing of the {n} bits.")
    story.step(["Question: ", (f"k = {k}", "bob"), f". It sets a countdown to {k}.", ""], "")
    place = len(str(n))
    for part in chunks(k, 8):
        lines: list[Line] = []
        for a in part:
            at = trace[a]
            kept: list[Span] = [", keeps ", (f"{at['latch']}", "right")] if at["kept"] else []
            lines.append(
                [
                    f"bit {a + 1:>{place}} is ",
                    (f"{at['read']}", "alice"),
                    f"   countdown {at['countdown']:>{place}}",
                    *kept,
                ]
            )
        story.step(*lines)
    story.step("", f"Whatever follows is not kept. The answer: {record['answer']}.")
    story.step(f"Alice's bit {k} is {record['truth']}.")


def _disjoint(story: Story, record: dict[str, Any], width: int) -> None:
    n = record["n"]
    rows = [row for row in record["rows"] if row["kind"] == "disjointness"]
    story.scene("Not everything gets cheap")
    story.step(
        f"Alice has {n} bits and Bob has {n}. Is there a place where both have a 1?",
        "A model reads x, then y, again and again, and keeps a block of x each time.",
    )
    story.step("", f"Bits exchanged in all; never to err takes {rows[0]['floor']} or more:", "")
    top = float(max(row["bits"] for row in rows))
    for row in rows:
        times = "pass" if row["passes"] == 1 else "passes"
        label = f"M {row['state_bits']}, {row['passes']} {times}"
        story.step(level(label, row["bits"], width, top=top, text=f"{row['bits']}"))
    story.step("", "A smaller state reads more often. The bits move; they do not go away.")
