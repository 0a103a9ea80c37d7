"""Messages: strings of exactly M bits, packed into ceil(M/8) bytes.

Bit i of the message is bit i mod 8 (least significant first) of byte i div 8; codes
follow one another without gaps, each least significant bit first. The bits beyond M
in the last byte are zero, and whoever reads a message checks that they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statebound.errors import StateboundError
from statebound.jit import kernel

Bytes = NDArray[np.uint8]
Codes = NDArray[np.uint32]


class MessageError(StateboundError, ValueError):
    """Bytes that are not a message of the agreed size."""


def byte_length(bits: int) -> int:
    """Return the number of bytes that hold `bits` bits.

    Examples
    --------
    >>> byte_length(0), byte_length(8), byte_length(9)
    (0, 1, 2)
    """
    return -(-bits // 8)


@kernel
def _pack(codes: Codes, widths: NDArray[np.int64], out: Bytes) -> None:
    blocks, count, lanes = codes.shape
    for block in range(blocks):
        for lane in range(min(lanes, out.shape[0] - block * lanes)):
            row = block * lanes + lane
            held = np.uint64(0)  # bits not yet written, fewer than 8 between codes
            used = 0
            at = 0
            for c in range(count):
                held |= np.uint64(codes[block, c, lane]) << np.uint64(used)
                used += widths[c]
                while used >= 8:
                    out[row, at] = np.uint8(held & np.uint64(255))
                    held >>= np.uint64(8)
                    used -= 8
                    at += 1
            if used > 0:
                out[row, at] = np.uint8(held & np.uint64(255))


@kernel
def _pack_narrow(codes: Codes, widths: NDArray[np.int64], keys: NDArray[np.uint64]) -> None:
    """The same for messages of at most 64 bits, as integers: lanes side by side."""
    blocks, count, lanes = codes.shape
    for block in range(blocks):
        first = block * lanes
        here = min(lanes, keys.shape[0] - first)
        at = np.uint64(0)
        for c in range(count):
            for lane in range(here):
                keys[first + lane] |= np.uint64(codes[block, c, lane]) << at
            at += np.uint64(widths[c])


@kernel
def _unpack(message: Bytes, widths: NDArray[np.int64], codes: Codes) -> None:
    _, count, lanes = codes.shape
    for row in range(message.shape[0]):
        block, lane = row // lanes, row % lanes
        held = np.uint64(0)
        used = 0
        at = 0
        for c in range(count):
            while used < widths[c]:
                held |= np.uint64(message[row, at]) << np.uint64(used)
                used += 8
                at += 1
            mask = (np.uint64(1) << np.uint64(widths[c])) - np.uint64(1)
            codes[block, c, lane] = np.uint32(held & mask)
            held >>= np.uint64(widths[c])
            used -= widths[c]


def pack(codes: Codes, widths: NDArray[np.int64], count: int) -> Bytes:
    """Pack codes into messages.

    Parameters
    ----------
    codes
        (blocks, C, lanes): code c of message ``block * lanes + lane``; each below
        2^width. Rows (B, C) are passed as ``rows.T[None]``.
    widths
        (C,) bits of each code, 1 to 32.
    count
        B, the number of messages; lanes beyond it are ignored.

    Returns
    -------
    (B, ceil(sum(widths)/8)) bytes.
    """
    bits = int(widths.sum())
    if bits <= 64:
        keys = np.zeros(count, np.uint64)
        _pack_narrow(codes, widths, keys)
        whole = keys.astype("<u8", copy=False).view(np.uint8).reshape(count, 8)
        return np.ascontiguousarray(whole[:, : byte_length(bits)])
    out = np.zeros((count, byte_length(bits)), np.uint8)
    _pack(codes, widths, out)
    return out


def unpack(message: Bytes, widths: NDArray[np.int64], lanes: int | None = None) -> Codes:
    """Invert `pack` into codes (blocks, C, lanes); one block of B lanes by default.

    Raises
    ------
    MessageError
        See `check`.
    """
    check(message, int(widths.sum()))
    count = len(message)
    per_block = max(1, count) if lanes is None else lanes
    blocks = max(1, -(-count // per_block))
    codes = np.zeros((blocks, len(widths), per_block), np.uint32)
    if count and len(widths):
        _unpack(np.ascontiguousarray(message), widths, codes)
    return codes


def check(message: Bytes, bits: int) -> None:
    """Refuse bytes (B, anything) that are not B messages of `bits` bits.

    Raises
    ------
    MessageError
        When the length is wrong or a padding bit is not zero: either would be a
        channel beside the message.
    """
    size = byte_length(bits)
    if message.ndim != 2 or message.shape[1] != size:
        found = message.shape[1] if message.ndim == 2 else message.shape
        raise MessageError(
            f"message = {found} bytes: {bits} bits take exactly {size} bytes; "
            "send the message as it was made, nothing cut off or added"
        )
    if bits % 8 and len(message) and (message[:, -1] >> (bits % 8)).any():
        raise MessageError(
            f"message: the {8 * size - bits} padding bits of the last byte are not all zero; "
            "only the declared bits may carry anything"
        )


def bit_matrix(message: Bytes, bits: int) -> Bytes:
    """Return the messages as (B, bits) zeros and ones."""
    return np.unpackbits(message, axis=1, count=bits, bitorder="little")


def from_bits(matrix: Bytes) -> Bytes:
    """Pack (B, M) zeros and ones into messages."""
    return np.packbits(matrix, axis=1, bitorder="little")
