"""handoff: Alice reads, her rounded state is the message, Bob answers from it alone."""

from __future__ import annotations

from typing import Any

from statebound.errors import UsageError
from statebound.experiments.demos._page import (
    Line,
    Step,
    Story,
    aligned,
    chunks,
    counted,
    grouped,
    level,
    mark,
    strip,
)

SUMMARY = "A model is cut in two: what crosses, and what Bob can say from it."
MOST, EXACT = 64, 16  # bits of Alice; up to EXACT all inputs are tried
WALL_BROKEN = 3


def record(
    n: int = 16,
    model: str = "gru",
    numbers: int = 8,
    bits: int = 1,
    query: int | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Run one handoff of Index, and measure the same machine.

    Parameters
    ----------
    n
        Bits of Alice, 1 to 64; to 16 all inputs are tried and Bob is the optimal one.
    model, numbers, bits
        The machine: its name, the numbers of its state, bits a number. Its parameters are
        the trained ones where such a machine is shipped.
    query
        Bob's index from 1; drawn if None.
    seed
        What draws x and the index.

    Returns
    -------
    x, the state after every bit (``states``), the numbers before and after rounding, the
    codes, the message, for each index the truth and Bob's answer, and from ``measure`` the
    success over all inputs (above n = 16 over a sample).

    Raises
    ------
    UsageError
        When a size does not fit.
    """
    if not 1 <= n <= MOST:
        raise UsageError("n", n, f"must be 1..{MOST} here", "pass a length in that range")
    if seed < 0:
        raise UsageError("seed", seed, "must not be negative", "pass 0")
    import numpy as np

    from statebound.experiments import readout
    from statebound.experiments.measure import measure
    from statebound.experiments.request import Request, subject
    from statebound.protocols.message import bit_matrix, unpack
    from statebound.reductions.machine import CutMachine

    request = Request("index", n, model=model, numbers=numbers, bits=bits)
    machine = subject(request)
    assert isinstance(machine, CutMachine)
    problem = machine.problem
    generator = np.random.Generator(np.random.PCG64(seed))
    x = problem.sample(generator, 1)
    drawn = int(generator.integers(1, n + 1))
    asked = problem.query(drawn if query is None else query)
    measured = measure(request)

    tokens, state, states, read = machine.encoding.tokens(x), machine.starts(1), [], 0
    for a in range(n):
        more = machine.encoding.block(a).shape[1]
        state = machine.extend(state, tokens[:, read : read + more])
        states.append(machine.read_off(state)[0].tolist())
        read += more
    message = machine.message(state)
    truth = problem.answers(x)[0]
    every = np.arange(n)
    same = votes = own = None
    if machine.has_bob:
        own = machine.answer(np.repeat(message, n, axis=0), every)
    if measured.row["bob"] == "optimal":
        inputs = problem.enumerate(0, problem.inputs)
        alike = inputs[(machine.encode(inputs) == message).all(axis=1)]
        ones = problem.answers(alike).sum(axis=0, dtype=np.int64)
        same, votes = len(alike), [[len(alike) - int(c), int(c)] for c in ones]
        answers = np.array([int(one > zero) for zero, one in votes])
    elif measured.row["bob"] == "model":
        assert own is not None
        answers = own
    else:
        answers = readout.fit(machine).answer(np.repeat(message, n, axis=0), every)
    kept = (
        "state_bits", "message_bytes", "fields", "init", "quantiser", "encoding", "regime",
        "machine_seed", "engine", "bob", "trials", "chance", "success", "success_low",
        "success_high", "interval_level", "success_by_query", "own_success", "wall_ball", "leak",
    )  # fmt: skip
    return {
        "demo": "handoff",
        "problem": "index",
        "n": n,
        "model": model,
        "numbers": machine.numbers,
        "bits": bits,
        "seed": seed,
        "x": problem.text(x[0]),
        "query": asked + 1,
        "states": states,
        "restored": machine.features(message)[0].tolist(),
        "codes": unpack(message, machine.widths)[0, :, 0].tolist(),
        "widths": machine.widths.tolist(),
        "message": message[0].tobytes().hex(),
        "message_bits": "".join(map(str, bit_matrix(message, machine.state_bits)[0])),
        "inputs": problem.inputs,
        "same_message": same,
        "votes": votes,
        "truth": truth.tolist(),
        "answers": answers.tolist(),
        "own_answers": None if own is None else own.tolist(),
        "right": int((answers == truth).sum()),
        **{name: measured.row[name] for name in kept},
    }


def outcome(record: dict[str, Any]) -> tuple[int, str]:
    """Return exit code 3 and why where the measurement found an uncounted bit."""
    leak = record["leak"]
    return (WALL_BROKEN, f"an uncounted bit: {leak}") if leak else (0, "")


def steps(record: dict[str, Any], width: int) -> list[Step]:
    """Tell the record."""
    story = Story()
    n, M = record["n"], record["state_bits"]
    made = {"trained": "trained", "random": "random", "constructed": "constructed"}
    made_how = made.get(record["init"], record["init"])
    story.scene("The game")
    story.step(
        f"Alice has {counted(n, 'bit')}. Bob has an index k, and wants bit k.",
        "Alice does not know k. Bob does not know her bits.",
    )
    story.step(
        "",
        f"Alice reads her bits with a model ({record['model']}, {made_how} parameters).",
        f"Its state: {counted(record['numbers'], 'number')}. Rounded: {M} bits in all.",
    )
    story.step("", "She sends the rounded state, once. Nothing else crosses.")
    _alice(story, record, width)
    _message(story, record)
    _bob(story, record)
    _indices(story, record, width)
    _everybody(story, record, width)
    return story.steps


def _span(record: dict[str, Any]) -> tuple[float, float]:
    every = [v for state in [*record["states"], record["restored"]] for v in state]
    return min(every), max(every)


def _alice(story: Story, record: dict[str, Any], width: int) -> None:
    x, states = record["x"], record["states"]
    low, high = _span(record)
    story.scene("Alice reads")
    story.step(f"Columns: her numbers, from {low:.2f} (▁) to {high:.2f} (█).", "")
    place = len(str(len(x)))
    for part in chunks(len(x), 16):
        lines: list[Line] = [
            [f"bit {a + 1:>{place}} is ", (x[a], "alice"), "  ", *strip(states[a], low, high)]
            for a in part
        ]
        story.step(*lines)
    story.step("", f"All {len(x)} bits are read. What is left of them is this last state.")


def _message(story: Story, record: dict[str, Any]) -> None:
    codes, widths = record["codes"], record["widths"]
    values, bits, M = record["states"][-1], record["message_bits"], record["state_bits"]
    story.scene("Alice rounds and sends")
    story.step(
        "Each number becomes a code of few bits. Where it is cut is public, and was fixed "
        "before Alice had any bits.",
        "",
    )
    place, ends, at = len(str(len(codes))), [], 0
    for size in widths:
        at += size
        ends.append(at)
    for part in chunks(len(codes), 8):
        lines: list[Line] = []
        for c in part:
            value = f"{values[c]:>7.3f}" if len(codes) == len(values) else " " * 7
            cut = bits[ends[c] - widths[c] : ends[c]]
            counter = f"{ends[c]:>{len(str(M))}} of {M} bits"
            sent = f" {value}  code {codes[c]:>2}  "
            lines.append([f"{c + 1:>{place}} {sent}", (cut, "alice"), (f"  {counter}", "faint")])
        story.step(*lines)
    story.step(
        "",
        ["The message, in bits: ", (grouped(bits), "alice")],
        ["In hex:               ", (record["message"], "alice")],
        ("(The first bit of each byte is its lowest.)"),
    )
    missing = len(record["x"]) - M
    rest = f", {missing} fewer than she read" if missing > 0 else ""
    story.step(f"{counted(M, 'bit')} cross{'' if M > 1 else 'es'}{rest}.")


def _bob(story: Story, record: dict[str, Any]) -> None:
    k = record["query"]
    low, high = _span(record)
    story.scene("Bob answers")
    story.step(
        [
            "Bob has the message ",
            (record["message"], "alice"),
            " and his index ",
            (f"k = {k}", "bob"),
            ".",
        ],
        "He has no bit of x, and no number as it was before rounding.",
    )
    story.step(
        "",
        ["Alice's last state:          ", *strip(record["states"][-1], low, high)],
        ["Bob restores from the codes: ", *strip(record["restored"], low, high)],
    )
    if record["votes"] is not None:
        zero, one = record["votes"][k - 1]
        story.step(
            "",
            f"{record['same_message']} of the {record['inputs']} inputs send this very message.",
            "Bob cannot tell them apart.",
        )
        story.step(f"In {zero} of them bit {k} is 0, in {one} it is 1.")
        story.step(["So he does best to say ", (f"{record['answers'][k - 1]}", "bob"), "."])
    else:
        story.step(
            "",
            ["His readout, which never saw x, says ", (f"{record['answers'][k - 1]}", "bob"), "."],
        )
    truth = record["truth"][k - 1]
    right = mark(right=truth == record["answers"][k - 1])
    story.step([f"Alice's bit {k} is ", (f"{truth}", "alice"), ": ", right, "."])


def _indices(story: Story, record: dict[str, Any], width: int) -> None:
    n, truth, answers = record["n"], record["truth"], record["answers"]
    wrong = ["" if a == b else "✗" for a, b in zip(truth, answers, strict=True)]
    rows = [("k", range(1, n + 1)), ("x", truth), ("Bob", answers), ("", wrong)]
    story.scene("Every index")
    story.step("The same message, asked for each index in turn:", "", *aligned(rows, width))
    story.step("", f"{record['right']} of {n} are right for this x.")


def _everybody(story: Story, record: dict[str, Any], width: int) -> None:
    M, success, wall = record["state_bits"], record["success"], record["wall_ball"]
    exact = record["interval_level"] is None
    inputs = f"all {record['inputs']} inputs" if exact else f"{record['trials']} inputs drawn"
    story.scene("Every input")
    story.step(f"Now {inputs}, and each index equally often.", "")
    story.step(level("a coin", record["chance"], width))
    story.step(level("this machine", success, width, top=1.0))
    if not exact:
        low, high = record["success_low"], record["success_high"]
        story.step(
            f"({record['interval_level']:.0%} interval: {low:.4f} to {high:.4f})",
        )
    if wall is not None:
        story.step(level(f"any protocol, {M} bits", wall, width))
        story.step("No model and no Bob passes the last line: it is proved.")
    by_query = record["success_by_query"]
    story.step(
        "",
        "Success by index, from a coin (▁) to always right (█):",
        ["k = 1 ", *strip(by_query, record["chance"], 1.0), f" k = {record['n']}"],
    )
