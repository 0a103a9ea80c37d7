"""pigeonhole: two inputs with one message, and the index at which Bob must err."""

from __future__ import annotations

from typing import Any

from statebound.errors import UsageError
from statebound.experiments.demos._page import Line, Step, Story, counted, grouped, level

SUMMARY = "Two inputs that send the same message, so that Bob must err on one."
MOST = 64


def record(
    n: int = 12, model: str = "gru", numbers: int = 4, bits: int = 1, seed: int = 0
) -> dict[str, Any]:
    """Search for a collision of a model with random parameters, and check it afresh.

    Parameters
    ----------
    n
        Bits of Alice, 2 to 64; to 16 all inputs are tried.
    model, numbers, bits
        The machine.
    seed
        Of its parameters and of the search.

    Returns
    -------
    The counts, the certificate of ``statebound collide`` (null if there is none), what
    checking it from scratch finds wrong (``faults``, nothing), and the limits.

    Raises
    ------
    UsageError
        When a size does not fit.
    """
    if not 2 <= n <= MOST:
        raise UsageError("n", n, f"must be 2..{MOST} here", "pass a length in that range")
    if seed < 0:
        raise UsageError("seed", seed, "must not be negative", "pass 0")
    from statebound.experiments.collision import find_collision, verify
    from statebound.experiments.request import Request, subject
    from statebound.protocols.limits.report import limits

    request = Request(
        "index",
        n,
        model=model,
        numbers=numbers,
        bits=bits,
        init="random",
        machine_seed=seed,
    )
    machine = subject(request)
    found = find_collision(machine, "auto", seed)
    M = machine.state_bits
    walls = limits(machine.problem, M)
    return {
        "demo": "pigeonhole",
        "problem": "index",
        "n": n,
        "model": model,
        "numbers": numbers,
        "bits": bits,
        "seed": seed,
        "state_bits": M,
        "inputs": machine.problem.inputs,
        "messages": 2**M,
        "fullest": -(-machine.problem.inputs // 2**M),
        "method": found.method,
        "encodings": found.encodings,
        "exhausted": found.exhausted,
        "certificate": found.certificate,
        "faults": None if found.certificate is None else verify(found.certificate, machine),
        "all_correct": walls["all_correct"],
        "wall_ball": walls["ball"],
    }


def steps(record: dict[str, Any], width: int) -> list[Step]:
    """Tell the record."""
    n, M = record["n"], record["state_bits"]
    story = Story()
    story.scene("Count")
    story.step(f"Alice has {n} bits: one of 2^{n} = {record['inputs']} inputs.")
    story.step(f"She sends {counted(M, 'bit')}: one of 2^{M} = {record['messages']} messages.")
    if record["fullest"] > 1:
        story.step(
            "",
            "There are more inputs than messages.",
            f"So some message is sent for {record['fullest']} inputs or more.",
        )
    else:
        story.step("", "There are enough messages for every input to have its own.")
    story.scene("Search")
    story.step("Look for two inputs with the same message.")
    story.step(
        f"Alice ({record['model']}, random parameters) has encoded {record['encodings']} "
        f"inputs ({record['method']} search)."
    )
    held = record["certificate"]
    if held is None:
        sure = (
            "No two inputs share a message: all were tried."
            if record["exhausted"]
            else ("None was found; that is no proof that there is none.")
        )
        story.step("", sure)
        return story.steps
    one, two = held["x1"], held["x2"]
    differs = "".join("^" if a != b else " " for a, b in zip(one, two, strict=True))
    story.step("", "Found:", *_pair(one, two, differs, width))
    apart = len(differs.replace(" ", ""))
    story.step(f"They differ at {counted(apart, 'place')}.")

    story.scene("One message")
    sent = bytes.fromhex(held["message"])
    shown = "".join(f"{byte:08b}"[::-1] for byte in sent)[:M]
    for name in ("x1", "x2"):
        story.step([f"{name} makes Alice send  ", (f"{held['message'] or 'nothing'}", "alice")])
    story.step(["In bits:             ", (grouped(shown), "alice")] if shown else "")
    story.step("", "From here on Bob cannot know which of the two she has.")

    story.scene("Ask")
    a, b = held["answers"]
    k = held["query"]
    story.step(["Ask him for ", (f"bit {k}", "bob"), "."])
    story.step(["In x1 it is ", (f"{a}", "alice"), ", in x2 it is ", (f"{b}", "alice"), "."])
    story.step(
        "",
        "Bob sees the same message and the same k, so he says the same for both.",
        [f"If he says {a}, he is ", ("wrong on x2", "wrong"), "."],
        [f"If he says {b}, he is ", ("wrong on x1", "wrong"), "."],
    )
    story.step("", "No training of Bob helps, and no thinking. He must err on one.")
    checked = "it holds" if not record["faults"] else "; ".join(record["faults"])
    story.step(f"Checked again, each input encoded alone: {checked}.")

    story.scene("How often")
    story.step(f"With {counted(M, 'bit')}, for any model and any Bob:", "")
    rarely = record["all_correct"]
    shown_rate = f"{rarely:.4f}" if rarely >= 1e-3 else f"{rarely:.0e}"
    story.step(level(f"all {n} bits right", rarely, width, text=shown_rate))
    story.step(level("a bit right", record["wall_ball"], width))
    story.step("", "At most so often, on average over all inputs. `demo limit` shows why.")
    return story.steps


def _pair(one: str, two: str, differs: str, width: int) -> list[Line]:
    """Return two strings below each other with what differs marked, in blocks that fit."""
    size = max(8, width - 5)
    lines: list[Line] = []
    for at in range(0, len(one), size):
        part = slice(at, at + size)
        lines.append(["x1 = ", (one[part], "alice")])
        lines.append(["x2 = ", (two[part], "alice")])
        lines.append(["     ", (differs[part].rstrip(), "wrong")])
    return lines
