"""No frame is lost unseen: what senders wrote is captured or counted, in every loss-signal mode, exactly.

docs/evidence/hidden-drops.json has the same for simple_switch_grpc over a minute, as recorded by
tests.evidence.hidden_drops.
"""

from __future__ import annotations

import pytest

from tests.evidence import incast_bmv2, incast_soft
from tests.evidence.incast import MODES, Books, Mode

SECONDS = 60.0
FRAMES_PER_S = 4000
SEED = 5
by_mode = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)


def check(mode: Mode, books: Books, least: int = 100) -> None:
    """`least`: packets of each kind that show that there was traffic at all."""
    assert books.balanced, (books.unexplained, books.hidden)
    told = {"trim": "trim_sent", "bounce": "bounce_sent", "both": "both", "drop": "congestion_dropped"}
    assert books.counted[told[mode.action]] > least, "there was no congestion to speak of"
    assert books.captured["data"] > least
    assert books.counted["overflow_alarm"] == 0


@by_mode
def test_a_minute_of_incast_is_accounted_for_to_the_frame(mode: Mode) -> None:
    print("seed", SEED)
    books = incast_soft.run(mode, SECONDS, seed=SEED, frames_per_s=FRAMES_PER_S)
    check(mode, books)
    assert sum(books.written.values()) > 0.8 * SECONDS * FRAMES_PER_S


@by_mode
def test_a_queue_that_is_too_short_is_noticed(mode: Mode) -> None:
    """The books of a switch whose queues end below drop_at do not balance."""
    books = incast_soft.run(mode, 2.0, seed=SEED, queue=20, alarm_at=20)
    assert not books.balanced
    total = books.unexplained["written + second LOSS of both - captured - counted drops"]
    assert total == books.hidden["queue_full"] > 0
    assert books.counted["overflow_alarm"] > 0


def test_an_alarm_is_noticed() -> None:
    books = incast_soft.run(MODES[0], 2.0, seed=SEED, alarm_at=30)
    assert not books.balanced
    assert {name for name, left in books.unexplained.items() if left} == {"overflow alarm"}


@pytest.mark.bmv2
@pytest.mark.root
@pytest.mark.parametrize("mode", [MODES[1], MODES[3]], ids=lambda mode: mode.name)
def test_the_reference_switch_keeps_the_same_books(mode: Mode) -> None:
    # In a second of real time: how far it gets depends on what else the machine does.
    check(mode, incast_bmv2.run(mode, 1.0, seed=SEED), least=10)
