"""The code of parity: whatever is missing comes back, as long as there are as many rows."""

import random
from functools import reduce
from operator import xor

import csaud_testnet
from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(0, 2**32), st.integers(1, 90), st.integers(1, 150), st.integers(1, 8), st.data())
def test_as_many_rows_as_are_missing_give_them_back(
    seed: int, payload: int, packets: int, sent: int, data: st.DataObject
) -> None:
    draw = random.Random(seed)
    message = draw.randbytes((packets - 1) * payload + data.draw(st.integers(1, payload), "last packet"))
    covered = data.draw(st.integers(1, min(packets, 128)), "covered")
    rows = csaud_testnet.parity_of(message, payload, covered, sent)
    lost = draw.sample(range(covered), data.draw(st.integers(0, min(sent, covered)), "missing"))
    came = draw.sample(range(sent), data.draw(st.integers(len(lost), sent), "rows that came"))
    damaged = bytearray(message)
    for column in lost:
        begin = (packets - 1 - column) * payload
        damaged[begin : begin + payload] = draw.randbytes(len(damaged[begin : begin + payload]))
    expected = data.draw(st.integers(0, sent), "rows expected")
    whole = csaud_testnet.repaired(
        bytes(damaged), payload, covered, {row: rows[row] for row in came}, lost, expected
    )
    assert whole == message


def test_fewer_rows_than_are_missing_change_nothing() -> None:
    message = bytes(range(64))
    rows = csaud_testnet.parity_of(message, 8, 8, 2)
    assert csaud_testnet.repaired(message, 8, 8, dict(enumerate(rows)), [0, 3, 5], 2) is None


def test_the_first_row_is_the_sum_of_the_packets() -> None:
    message = random.Random(1).randbytes(50)
    padded = message.ljust(56, b"\0")
    (row,) = csaud_testnet.parity_of(message, 8, 7, 1)
    assert row == bytes(reduce(xor, padded[at::8]) for at in range(8))
