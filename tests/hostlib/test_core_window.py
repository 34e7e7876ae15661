"""How many packets of one sender may be under way: what marks and delay make of it, and when that is told."""

import csaud_testnet
import pytest

from tests.hostlib.core_support import config

TARGET = 1000  # ns


def of_one_sender(size: int, most: int = 64) -> csaud_testnet.ReceiveWindow:
    """Who shares with nobody what may be under way to us, as the schedule knows."""
    window = csaud_testnet.ReceiveWindow(size)
    window.set_share(config(window=size, shared_window=most), 1, alone=True)
    return window


def judged(window: csaud_testnet.ReceiveWindow, marks: int, late: int) -> None:
    """A whole window of packets that come so late, some of them marked."""
    for _ in range(marks):
        window.marked()
    samples = 1
    while not window.sample(late):
        samples += 1
    assert samples == window.size
    window.judge(TARGET)


@pytest.mark.parametrize(
    ("marks", "late", "size"),
    [
        (0, 0, 36),
        (0, TARGET, 36),
        (0, TARGET + 1, 33),
        (1, TARGET, 32),
        (32, 0, 32),
        (1, TARGET + 1, 31),
        (1, 2 * TARGET, 19),
        (32, 2 * TARGET, 19),
        (1, 4 * TARGET, 16),
        (1, 100 * TARGET, 16),
    ],
)
def test_a_window_is_what_marks_and_delay_make_of_it(marks: int, late: int, size: int) -> None:
    """Grows by an eighth, by one packet where packets are late, and shrinks where they are marked as well: by
    0.8 of the part of the delay that is too much, by half at most."""
    window = of_one_sender(32)
    judged(window, marks, late)
    assert window.size == size


def test_what_was_judged_is_not_judged_again() -> None:
    window = of_one_sender(32)
    judged(window, 32, 2 * TARGET)
    judged(window, 0, TARGET)
    assert window.size == 21  # 19.2 and an eighth


def test_a_window_goes_from_one_packet_to_the_most_that_are_allowed() -> None:
    window, sizes = of_one_sender(4, most=12), []
    for _ in range(4):
        judged(window, 1, 100 * TARGET)
        sizes.append(window.size)
    for _ in range(11):
        judged(window, 0, 0)
        sizes.append(window.size)
    assert sizes == [2, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    judged(window, 0, 0)
    assert window.size == 12


def after(window: csaud_testnet.ReceiveWindow) -> int:
    """How many more packets are worth telling of."""
    packets = 0
    while not window.worth_telling:
        window.arrived(1)
        packets += 1
    return packets


@pytest.mark.parametrize(("late", "size", "quarter"), [(0, 32, 8), (2 * TARGET, 19, 4), (4 * TARGET, 16, 4)])
def test_a_quarter_of_what_may_be_under_way_is_told_at_once(late: int, size: int, quarter: int) -> None:
    """Of a window that has shrunk since it was told, too: its sender knows less than there is."""
    window = of_one_sender(32)
    assert window.tell() == (0, 32)
    judged(window, 1, late)
    assert after(window) == quarter
    assert window.tell() == (quarter, size)
    assert after(window) == quarter


def test_of_a_window_that_has_grown_the_quarter_is_of_what_its_sender_knows() -> None:
    window = of_one_sender(32)
    judged(window, 0, 0)
    assert after(window) == 8
    assert window.tell() == (8, 36)
    assert after(window) == 9


def test_of_a_window_that_is_shared_the_quarter_is_of_its_part() -> None:
    window = of_one_sender(32)
    window.set_share(config(shared_window=64), 4)
    assert after(window) == 4
    assert window.tell() == (4, 16)
    window.set_share(config(shared_window=64), 1)
    assert after(window) == 4
    assert window.tell() == (8, 32)
    assert after(window) == 8


def test_every_packet_of_a_small_window_is_told() -> None:
    assert after(of_one_sender(1)) == 1
    assert after(of_one_sender(7)) == 1
