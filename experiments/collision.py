"""Two inputs with one message and different answers: a proof that Bob must err.

A collision is a certificate that anybody can check: Alice sends the same bytes for x1 and
x2, both of the same public length, yet a query k has different answers, so whatever Bob
says to k is wrong for one of them. With fewer messages than answer vectors one must exist
(pigeonhole); the searches here find it. Collisions whose answers all agree are no proof
and are passed over.

Three searches: `exhaustive` over all inputs (finding none proves that there is none),
`birthday` with a table of message keys, and distinguished points (`collision_trails`),
which need little memory and reach messages of about 48 bits.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.experiments.collision_trails import Words, inputs_of, mix, walk
from statebound.experiments.tally import message_keys
from statebound.protocols.message import Bytes
from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.protocol import Protocol

METHODS = ("auto", "exhaustive", "birthday", "trails")

_FIELDS = (
    "problem", "options", "protocol", "state_bits", "x1", "x2", "message", "query", "answers",
)  # fmt: skip
_BATCH = 1 << 14
_MOST_INPUTS = 1 << 20
_AUTO_INPUTS = 1 << 16
_TABLE = 1 << 23
_TABLE_BITS = 36
"""To this size messages collide within 1.25 * 2^18 random inputs on average; a table is quick."""


@dataclass(frozen=True)
class Search:
    """The outcome of a search.

    Attributes
    ----------
    certificate
        JSON-able facts that `verify` checks; None when nothing was found.
    exhausted
        Whether all inputs were tried: None then proves that no collision exists.
    method
        The search that ended it.
    encodings
        How many inputs were encoded.
    """

    certificate: dict[str, Any] | None
    exhausted: bool
    method: str
    encodings: int


def find_collision(
    protocol: Protocol, method: str = "auto", seed: int = 0, budget: int = 1 << 27
) -> Search:
    """Search for two inputs that force Bob to err.

    Parameters
    ----------
    protocol
        Any deterministic Alice.
    method
        ``exhaustive``, ``birthday``, ``trails``, or ``auto``: exhaustive to 2^16 inputs, a
        table for messages to 36 bits, trails to 64, a table beyond (which succeeds only where
        few of the messages are reached).
    seed
        Public; the same seed gives the same certificate.
    budget
        Largest number of encodings for the two random searches. A table stops at 2^23.

    Raises
    ------
    UsageError
        When the method does not fit the protocol.
    """
    if method not in METHODS:
        raise UsageError("method", method, "is not a search", f"choose one of {', '.join(METHODS)}")
    if budget < 2:
        raise UsageError("budget", budget, "must be at least 2", "allow more encodings")
    problem, bits = protocol.problem, protocol.state_bits
    problem.refuse_unlisted()
    if method == "auto":
        if problem.inputs <= _AUTO_INPUTS:
            method = "exhaustive"
        else:
            method = "trails" if _TABLE_BITS < bits <= 64 else "birthday"
    if method == "exhaustive":
        if problem.inputs > _MOST_INPUTS:
            raise UsageError(
                "method", method, f"cannot try {problem.inputs} inputs", "choose birthday or trails"
            )
        return _exhaustive(protocol, seed)
    if method == "birthday":
        return _birthday(protocol, seed, budget)
    if bits > 64:
        raise UsageError("method", method, "needs messages of at most 64 bits", "choose birthday")
    return _trails(protocol, seed, budget)


def verify(certificate: dict[str, Any], protocol: Protocol) -> list[str]:
    """Check a certificate from scratch; return what is wrong with it, nothing if it holds.

    Each input is parsed from its digits and encoded alone, so nothing is shared between
    the two encodings but the protocol. Where the protocol has a Bob, his answers to the two
    equal messages must agree, and so be wrong for at least one input.
    """
    problem = protocol.problem
    if missing := [name for name in _FIELDS if name not in certificate]:
        return [f"the certificate lacks {name}" for name in missing]
    faults = []
    if certificate["problem"] != problem.name or certificate["options"] != problem.options():
        faults.append("the problem is another one")
    if certificate["protocol"] != _plain(protocol.describe()):
        faults.append("the protocol is another one")
    if certificate["state_bits"] != protocol.state_bits:
        faults.append("the message has another size")
    try:
        x = [problem.parse(str(certificate[name])) for name in ("x1", "x2")]
        if type(certificate["query"]) is not int:
            raise TypeError("the query is not a whole number")
        query = problem.query(certificate["query"])
    except (ValueError, TypeError) as error:
        return [*faults, str(error)]
    sent = [protocol.encode(each) for each in x]
    for name, message in zip(("x1", "x2"), sent, strict=True):
        if message[0].tobytes().hex() != certificate["message"]:
            faults.append(f"the message of {name} is another one")
    answers = [int(problem.answers(each)[0, query]) for each in x]
    if answers != certificate["answers"]:
        faults.append("the answers are others")
    held = [problem.multiplicities(each) for each in x]
    if any(times is not None and not times[0, query] for times in held):
        faults.append("the query is never asked of one of the inputs")
    if answers[0] == answers[1]:
        faults.append("the answers agree, so Bob can be right on both")
    if not faults and protocol.has_bob:
        asked = np.array([query], np.int64)
        said = [int(protocol.answer(message, asked)[0]) for message in sent]
        if said[0] != said[1]:
            faults.append("Bob tells equal messages apart: something else reaches him")
    return faults


def _plain(facts: dict[str, Any]) -> Any:
    return json.loads(json.dumps(facts))


def _exhaustive(protocol: Protocol, seed: int) -> Search:
    problem = protocol.problem
    total = problem.inputs
    x = np.concatenate(
        [problem.enumerate(a, min(a + _BATCH, total)) for a in range(0, total, _BATCH)]
    )
    sent = np.concatenate([protocol.encode(x[a : a + _BATCH]) for a in range(0, total, _BATCH)])
    if protocol.state_bits <= 64:
        keys = message_keys(sent)
    else:  # exact labels: a hash could hide a collision, and None would prove nothing
        labels = np.unique(sent, axis=0, return_inverse=True)[1]
        keys = labels.reshape(-1).astype(np.uint64)

    pair = _first_pair(protocol, keys, lambda i: x[i])
    found = None if pair is None else _certificate(protocol, *pair, "exhaustive", seed)
    return Search(found, True, "exhaustive", total)


def _birthday(protocol: Protocol, seed: int, budget: int) -> Search:
    """Encode inputs numbered by a counter until two keys agree; look at growing intervals."""
    problem = protocol.problem
    salt = _salt(seed)
    keys = np.empty(0, np.uint64)
    parts: list[Words] = []
    done, look, limit = 0, _BATCH, min(budget, _TABLE)
    while done < limit:
        step = min(_BATCH, limit - done)
        counter = np.arange(done, done + step, dtype=np.uint64)
        parts.append(_keys(protocol.encode(inputs_of(problem, counter, salt))))
        done += step
        if done >= look or done == limit:
            keys = np.concatenate([keys, *parts])
            parts = []
            look = done + done // 2
            pair = _first_pair(protocol, keys, lambda i: inputs_of(problem, i, salt))
            if pair is not None:
                found = _certificate(protocol, *pair, "birthday", seed)
                return Search(found, False, "birthday", done)
    return Search(None, False, "birthday", done)


def _trails(protocol: Protocol, seed: int, budget: int) -> Search:
    problem = protocol.problem
    spent = 0
    for a, b, salt, spent in walk(protocol, _salt(seed), budget):
        pair = _useful(protocol, inputs_of(problem, a, salt), inputs_of(problem, b, salt))
        if pair is not None:
            return Search(_certificate(protocol, *pair, "trails", seed), False, "trails", spent)
    return Search(None, False, "trails", spent)


def _first_pair(
    protocol: Protocol, keys: Words, inputs: Callable[[Words], Symbols]
) -> tuple[Symbols, Symbols] | None:
    """Return a useful pair among items with equal keys; `inputs` makes numbers into x.

    Within a group of equal keys neighbours suffice: if any two differ in an answer, so do
    two neighbours. Not so where queries depend on x, as two neighbours may have none in
    common: then all pairs are tried, the nearest first.
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    for apart in range(1, len(keys) if protocol.problem.joint else 2):
        at = np.flatnonzero(ordered[apart:] == ordered[:-apart])
        if not len(at):
            break
        for part in range(0, len(at), 4096):
            where = at[part : part + 4096]
            first, second = (order[where + j].astype(np.uint64) for j in (0, apart))
            pair = _useful(protocol, inputs(first), inputs(second))
            if pair is not None:
                return pair
    return None


def _useful(protocol: Protocol, x1: Symbols, x2: Symbols) -> tuple[Symbols, Symbols] | None:
    """Return the first pair with equal messages and different answers, (length,) each."""
    for i in np.flatnonzero(_apart(protocol.problem, x1, x2).any(axis=1)):
        first, second = x1[i : i + 1], x2[i : i + 1]
        if (protocol.encode(first) == protocol.encode(second)).all():
            return first[0], second[0]
    return None


def _apart(problem: Problem, x1: Symbols, x2: Symbols) -> NDArray[np.bool_]:
    """Return which queries, asked of both inputs, have different answers: (B, queries)."""
    apart = problem.answers(x1) != problem.answers(x2)
    for x in (x1, x2):
        times = problem.multiplicities(x)
        apart = apart if times is None else apart & (times > 0)
    return np.asarray(apart, np.bool_)


def _certificate(
    protocol: Protocol, x1: Symbols, x2: Symbols, method: str, seed: int
) -> dict[str, Any]:
    problem: Problem = protocol.problem
    answers = problem.answers(np.stack([x1, x2]))
    query = int(np.flatnonzero(_apart(problem, x1[None], x2[None])[0])[0])
    return {
        "problem": problem.name,
        "options": problem.options(),
        "protocol": _plain(protocol.describe()),
        "state_bits": protocol.state_bits,
        "x1": problem.text(x1),
        "x2": problem.text(x2),
        "message": protocol.encode(x1[None])[0].tobytes().hex(),
        "query": query + 1,
        "answers": [int(v) for v in answers[:, query]],
        "method": method,
        "seed": seed,
    }


def _salt(seed: int) -> int:
    return int(mix(np.array([seed % (1 << 64)], np.uint64))[0])


def _keys(message: Bytes) -> NDArray[np.uint64]:
    """Return 64-bit keys: the message itself to 64 bits, a hash of it beyond."""
    if message.shape[1] <= 8:
        return message_keys(message)
    key = np.zeros(len(message), np.uint64)
    for a in range(0, message.shape[1], 8):
        key = mix(key ^ message_keys(message[:, a : a + 8]))
    return key
