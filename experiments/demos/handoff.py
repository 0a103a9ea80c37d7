"""handoff: Alice reads, her rounded state is the message, Bob answers from it alone."""

from __future__ import annotations

from typing import Any

from statebound.errors import UsageError
from statebound.experiments.demos import _handoff_told
from statebound.experiments.demos._page import Step

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

    engine = "enumerate" if n <= EXACT else "sample"
    request = Request("index", n, model=model, numbers=numbers, bits=bits, engine=engine)
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
    return _handoff_told.steps(record, width)
