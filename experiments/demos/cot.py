"""cot: Bob thinks aloud for ever longer, and knows no more than the message said."""

from __future__ import annotations

from typing import Any

from statebound.errors import UsageError
from statebound.experiments.demos._page import Line, Step, Story, counted, level

SUMMARY = "Bob thinks ever longer; what he can know does not change."
TOKENS = (0, 1, 2, 4, 8, 16, 32, 64)
SHOWN = 24  # tokens of a transcript
WALL_BROKEN = 3


def record(
    n: int = 8, model: str = "gru", numbers: int = 6, bits: int = 1, seed: int = 0
) -> dict[str, Any]:
    """Let a machine's Bob think, over all inputs and queries of Index.

    Parameters
    ----------
    n
        Bits of Alice; all inputs are tried.
    model, numbers, bits
        The machine, with random parameters.
    seed
        Of its parameters, of the head that chooses tokens, and of the search for a collision.

    Returns
    -------
    ``rows``, those of ``statebound think``; and two inputs with one message and different
    answers with what Bob writes on each (null where there are none).

    Raises
    ------
    UsageError
        When a size does not fit.
    """
    if n < 2:
        raise UsageError("n", n, "must be at least 2", "pass 8, say")
    if seed < 0:
        raise UsageError("seed", seed, "must not be negative", "pass 0")
    import numpy as np

    from statebound.experiments import think as work
    from statebound.experiments.collision import find_collision
    from statebound.protocols.problem import make
    from statebound.protocols.thinker import NOTHING
    from statebound.reductions.thinking import thinking

    problem = make("index", n)
    rows = work.think(
        problem,
        models=(model,),
        codes=(),
        numbers=numbers,
        bits=bits,
        tokens=TOKENS,
        machine_seeds=(seed,),
        seed=seed,
    )
    bob = thinking(problem, model, numbers=numbers, bits=bits, machine_seed=seed, seed=seed)
    held = find_collision(bob.protocol, "auto", seed).certificate
    collision = None
    if held is not None:
        asked = np.array([problem.query(held["query"])])
        written = []
        for name in ("x1", "x2"):
            message = bob.protocol.encode(problem.parse(held[name]))
            thought = bob.think(bob.begin(message, asked), SHOWN)
            written.append([int(t) for t in thought.transcript[0] if t != NOTHING])
        kept = ("x1", "x2", "message", "query", "answers")
        collision = {name: held[name] for name in kept} | {"written": written}
    return {
        "demo": "cot",
        "problem": "index",
        "n": n,
        "model": model,
        "numbers": numbers,
        "bits": bits,
        "seed": seed,
        "state_bits": rows[0]["state_bits"],
        "inputs": problem.inputs,
        "done": bob.done,
        "collision": collision,
        "rows": rows,
        "leaks": work.leaks(rows),
    }


def outcome(record: dict[str, Any]) -> tuple[int, str]:
    """Return exit code 3 and why where Bob knew what the message does not say."""
    leaks = record["leaks"]
    return (WALL_BROKEN, f"an uncounted bit: {leaks[0]}") if leaks else (0, "")


def steps(record: dict[str, Any], width: int) -> list[Step]:
    """Tell the record."""
    story = Story()
    M, rows = record["state_bits"], record["rows"]
    story.scene("Let him think")
    story.step(
        f"Alice has {record['n']} bits and sends {counted(M, 'bit')} "
        f"({record['model']}, random parameters)."
    )
    story.step(
        "",
        "Bob restores the state, and reads his question.",
        "Before he answers, he may write tokens and read them, as many as he likes.",
    )
    story.step("", "Will that help?")
    held = record["collision"]
    if held is not None:
        _twice(story, held, record["done"])
    _longer(story, record, width)
    _information(story, record, width)
    story.scene("Why")
    story.step(
        "What Bob writes is a function of the message, the question and his own coins.",
        "None of them knows more of Alice's bits than the message.",
    )
    story.step("", "So message and thoughts together hold what the message holds.")
    story.step(
        "",
        "Thinking may help Bob to use the message. It adds nothing to it.",
        f"After {rows[-1]['tokens']} tokens as after none: {M} bits have crossed.",
    )
    return story.steps


def _twice(story: Story, held: dict[str, Any], done: int) -> None:
    story.scene("Two inputs, one thought")
    story.step(["x1 = ", (held["x1"], "alice")], ["x2 = ", (held["x2"], "alice")])
    story.step(["Alice sends the same for both: ", (held["message"] or "nothing", "alice"), "."])
    a, b = held["answers"]
    k = held["query"]
    story.step(["Ask for ", (f"bit {k}", "bob"), f": in x1 it is {a}, in x2 it is {b}.", ""], "")
    for name, written in zip(("x1", "x2"), held["written"], strict=True):
        said = " ".join("done" if token == done else f"{token}" for token in written)
        story.step([f"{name}, Bob writes: ", (said, "bob")])
    story.step("", "He writes the same, token for token, and so answers the same.")


def _longer(story: Story, record: dict[str, Any], width: int) -> None:
    rows = record["rows"]
    story.scene("Ever longer")
    story.step(
        f"All {record['inputs']} inputs, all questions. Who is right how often?",
        "",
        level("best with message", rows[0]["optimal_success"], width),
    )
    for row in rows:
        story.step(level(f"Bob, {counted(row['tokens'], 'token')}", row["success"], width))
    story.step(level("best with message", rows[-1]["optimal_success"], width))
    story.step(
        "",
        "His readout is fitted anew at each length. None passes the best reader of the "
        "message, who is the same at every length.",
    )


def _information(story: Story, record: dict[str, Any], width: int) -> None:
    rows, M = record["rows"], record["state_bits"]
    top = float(max(M, 1))
    story.scene("What is known of Alice's bits")
    story.step(f"Bits of information on her {record['n']} bits, up to {M}:", "")
    lines: list[Line] = [level("the message alone", rows[0]["message_entropy"], width, top=top)]
    story.step(*lines)
    for row in rows:
        told = level(f"and {counted(row['tokens'], 'token')}", row["information"], width, top=top)
        story.step(told)
    if not record["leaks"]:
        story.step("", "The line does not move.")
