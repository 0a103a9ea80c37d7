"""Packing is exact and inverted exactly; nothing fits beside the declared bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.protocols import message as messages
from statebound.protocols.message import (
    MessageError,
    bit_matrix,
    byte_length,
    check,
    from_bits,
    pack,
    unpack,
)

WIDTHS = st.lists(st.integers(1, 32), min_size=1, max_size=12)


def draw(widths, count, seed):
    generator = np.random.Generator(np.random.PCG64(seed))
    codes = generator.integers(0, 2**32, (count, len(widths)), dtype=np.uint64)
    codes = codes & ((np.uint64(1) << np.array(widths, np.uint64)) - np.uint64(1))
    if count > 1:
        codes[0] = 0
        codes[1] = [2**w - 1 for w in widths]
    return codes.astype(np.uint32)


def reference(rows, widths) -> np.ndarray:
    """Write each code's bits, lowest first, into one text of zeros and ones."""
    text = np.array(
        [
            [int(b) for code, w in zip(row, widths, strict=True) for b in f"{code:0{w}b}"[::-1]]
            for row in rows.tolist()
        ],
        np.uint8,
    ).reshape(len(rows), sum(widths))
    return np.packbits(text, axis=1, bitorder="little")


@settings(deadline=None, max_examples=150)
@given(WIDTHS, st.integers(1, 9), st.integers(1, 5), st.integers(0, 10**6))
def test_pack_is_the_reference_and_unpack_inverts_it(widths, count, lanes, seed):
    rows, sizes = draw(widths, count, seed), np.array(widths, np.int64)
    blocks = -(-count // lanes)
    laid = np.zeros((blocks * lanes, len(widths)), np.uint32)
    laid[:count] = rows
    codes = laid.reshape(blocks, lanes, -1).transpose(0, 2, 1).copy()
    sent = pack(codes, sizes, count)
    assert sent.shape == (count, -(-sum(widths) // 8))
    assert (sent == reference(rows, widths)).all()
    assert (unpack(sent, sizes, lanes) == codes).all()
    assert (rows == unpack(sent, sizes)[0].T).all()


@settings(deadline=None, max_examples=60)
@given(WIDTHS, st.data())
def test_every_bit_of_the_codes_is_a_bit_of_the_message(widths, data):
    """Flip one bit of one code: exactly the bit that belongs to it flips."""
    rows, sizes = draw(widths, 3, 7), np.array(widths, np.int64)
    c = data.draw(st.integers(0, len(widths) - 1))
    b = data.draw(st.integers(0, widths[c] - 1))
    flipped = rows.copy()
    flipped[:, c] ^= np.uint32(1 << b)
    total = sum(widths)
    before = bit_matrix(pack(rows.T[None].copy(), sizes, 3), total)
    after = bit_matrix(pack(flipped.T[None].copy(), sizes, 3), total)
    assert [sum(widths[:c]) + b] * 3 == [int(np.flatnonzero(row)[0]) for row in before ^ after]
    assert ((before ^ after).sum(axis=1) == 1).all()


@pytest.mark.parametrize("lanes", [1, 3])
def test_compiled_and_interpreted_agree(lanes):
    widths = np.array([1, 32, 7, 8, 31, 2], np.int64)
    rows = draw(widths.tolist(), 3 * lanes, 3)
    codes = rows.reshape(3, lanes, -1).transpose(0, 2, 1).copy()
    sent = pack(codes, widths, len(rows))
    again = np.zeros_like(sent)
    messages._pack.py_func(codes, widths, again)
    assert (again == sent).all()
    back = np.zeros_like(codes)
    messages._unpack.py_func(sent, widths, back)
    assert (back == codes).all()


@pytest.mark.parametrize("bits", [1, 7, 8, 9, 64, 65])
def test_other_lengths_and_set_padding_are_refused(bits):
    size = byte_length(bits)
    good = np.zeros((4, size), np.uint8)
    check(good, bits)
    for wrong in (size - 1, size + 1):
        with pytest.raises(MessageError, match=f"{bits} bits take exactly {size} bytes"):
            check(np.zeros((4, wrong), np.uint8), bits)
    with pytest.raises(MessageError):
        check(good[0], bits)
    for bit in range(bits, 8 * size):
        bad = good.copy()
        bad[2, bit // 8] |= 1 << bit % 8
        with pytest.raises(MessageError, match="padding"):
            check(bad, bits)
        with pytest.raises(MessageError, match="padding"):
            unpack(bad, np.ones(bits, np.int64))


def test_a_message_of_no_bits():
    none = np.zeros(0, np.int64)
    sent = pack(np.zeros((1, 0, 5), np.uint32), none, 5)
    assert sent.shape == (5, 0)
    assert unpack(sent, none).shape == (1, 0, 5)
    with pytest.raises(MessageError):
        unpack(np.zeros((5, 1), np.uint8), none)


@pytest.mark.parametrize("bits", [1, 5, 8, 19])
def test_bits_and_bytes_invert_each_other(bits):
    generator = np.random.Generator(np.random.PCG64(1))
    matrix = generator.integers(0, 2, (20, bits), dtype=np.uint8)
    assert (bit_matrix(from_bits(matrix), bits) == matrix).all()
    ones = pack(matrix.T[None].astype(np.uint32).copy(), np.ones(bits, np.int64), 20)
    assert (ones == from_bits(matrix)).all()
