"""Bitmap and reassembly against sets of integers."""

import csaud_testnet
from hypothesis import given
from hypothesis import strategies as st

indices = st.lists(st.integers(0, 511), max_size=300)


@given(indices)
def test_bitmap_is_a_set(marks: list[int]) -> None:
    bitmap, model = csaud_testnet.Bitmap(), set()
    for i in marks:
        assert bitmap.set(i) == (i not in model)
        model.add(i)
    assert bitmap.count() == len(model)
    assert all(bitmap.test(i) == (i in model) for i in range(512))


@given(indices, st.integers(0, 512), st.integers(0, 512))
def test_first_clear(marks: list[int], start: int, end: int) -> None:
    bitmap = csaud_testnet.Bitmap()
    for i in marks:
        bitmap.set(i)
    start = min(start, end)
    expected = next((i for i in range(start, end) if i not in set(marks)), end)
    assert bitmap.first_clear(start, end) == expected


@given(st.integers(1, 512), indices)
def test_wire_form_is_most_significant_bit_first(bits: int, marks: list[int]) -> None:
    bitmap = csaud_testnet.Bitmap()
    for i in marks:
        if i < bits:
            bitmap.set(i)
    form = bitmap.write(bits)
    assert len(form) == (bits + 7) // 8
    assert [i for i in range(bits) if form[i // 8] & 0x80 >> i % 8] == sorted({i for i in marks if i < bits})


@given(st.integers(1, 512), st.data())
def test_merge_takes_only_the_bits_of_the_message(bits: int, data: st.DataObject) -> None:
    form = data.draw(st.binary(min_size=(bits + 7) // 8, max_size=(bits + 7) // 8))
    bitmap = csaud_testnet.Bitmap()
    bitmap.set(0)
    expected = {i for i in range(bits) if form[i // 8] & 0x80 >> i % 8}
    assert bitmap.merge(form, bits) == len(expected - {0})
    assert {i for i in range(512) if bitmap.test(i)} == expected | {0}
    assert bitmap.merge(form, bits) == 0  # the same report again says nothing new


@given(st.integers(1, 512), st.data())
def test_reassembly_in_any_order(packets: int, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(packets)))
    message, model = csaud_testnet.Reassembly(packets), set()
    for i in order:
        assert not message.complete
        assert message.mark(i)
        assert not message.mark(i)
        model.add(i)
        assert message.received == len(model)
        assert message.high == max(model) + 1
        assert message.first_missing == next((k for k in range(packets) if k not in model), packets)
    assert message.complete
