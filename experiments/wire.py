"""The pipe between two processes: a header that carries nothing, then the message.

The header names the protocol by a digest of everything that is public. Bob works the
same header out from his own arguments and refuses any other, so it can tell him
nothing. In raw form there is no header: the bytes on the pipe are the message.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np

from statebound.errors import StateboundError
from statebound.experiments.engines.enumerate import best_answer
from statebound.experiments.readout import feature_count, fit, refuse_if_too_large
from statebound.protocols.message import Bytes, check
from statebound.protocols.protocol import Protocol

MAGIC = "statebound/1"


def header(protocol: Protocol) -> bytes:
    """Return the line that names a protocol: magic, digest, M."""
    public = {
        "problem": protocol.problem.name,
        "options": protocol.problem.options(),
        "protocol": protocol.describe(),
    }
    text = json.dumps(public, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{MAGIC} {digest} {protocol.state_bits}\n".encode()


def send(protocol: Protocol, message: Bytes, *, raw: bool) -> bytes:
    """Return the bytes that cross for one message (1, message_bytes)."""
    return (b"" if raw else header(protocol)) + message.tobytes()


def receive(protocol: Protocol, sent: bytes, *, raw: bool) -> Bytes:
    """Return the message in the bytes that came, (1, message_bytes).

    Raises
    ------
    StateboundError
        When the header differs from Bob's own, or the message is cut off, too long or
        wrongly padded.
    """
    if not raw:
        expected = header(protocol)
        if not sent.startswith(expected):
            raise StateboundError(
                f"message = {_head(sent)}: its header is not the one that these arguments make; "
                "give bob exactly the machine arguments of alice, and --raw to both or to none"
            )
        sent = sent[len(expected) :]
    message = np.frombuffer(sent, np.uint8).reshape(1, -1)
    check(message, protocol.state_bits)
    return message


def _head(sent: bytes) -> str:
    line = sent[:48].split(b"\n")[0]
    return repr(line.decode("ascii", "backslashreplace")) if line else "nothing"


def reply(protocol: Protocol, message: Bytes, query: int, bob: str | None) -> tuple[int, str]:
    """Return Bob's answer to one query (from 0) and which Bob gave it.

    The protocol's own Bob where it has one, else a readout fitted on public inputs;
    ``optimal`` enumerates all inputs.
    """
    asked = np.array([query], np.int64)
    kind = bob or ("model" if protocol.has_bob else "learned")
    if kind == "optimal":
        best = best_answer(protocol, message, query)
        if best is None:
            raise StateboundError(
                f"message = {message.tobytes().hex()}: no input makes it; "
                "give bob exactly the machine arguments of alice"
            )
        return best, kind
    if kind == "learned":
        refuse_if_too_large(protocol.problem, feature_count(protocol))
    answer = protocol.answer if kind == "model" else fit(protocol).answer
    return int(answer(message, asked)[0]), kind
