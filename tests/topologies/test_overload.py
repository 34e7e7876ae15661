"""Whoever asks more of a machine than it can forward is told so when the job fails."""

import pytest
from csaud_topologies.job.overload import overload


@pytest.mark.parametrize("after", [{}, {"l1:3 rx_ring_drops": 7}], ids=["never", "before the job alone"])
def test_where_nothing_was_lost_there_is_nothing_to_say(after):
    assert overload({"l1:3 rx_ring_drops": 7}, after) == ""


def test_the_worst_place_is_named_and_what_helps():
    before = {"l1:3 rx_ring_drops": 7, "l2:1 rx_ring_drops": 9000}
    said = overload(before, {"l1:3 rx_ring_drops": 1507, "l2:1 rx_ring_drops": 9010})
    assert said.startswith(
        "\n  1,510 packets came faster than this machine's switches could take them, 1,500 "
    )
    assert "at l1:3 rx_ring_drops: slower links (--rate)" in said
