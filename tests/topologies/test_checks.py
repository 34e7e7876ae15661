"""The verdicts: what passes, what does not, and that wrong bits are noticed."""

from __future__ import annotations

from csaud_topologies.record import checks
from csaud_topologies.record.books import HostCounts


def test_one_rank_with_other_bits_fails_and_is_named():
    good, bad = {"digest": "aa"}, {"digest": "ab"}
    assert checks.equal_results([good, good], good).passed
    verdict = checks.equal_results([good, bad, good], good)
    assert not verdict.passed
    assert "1" in verdict.value


def test_no_results_is_not_equality():
    assert not checks.equal_results([], {"digest": "aa"}).passed


def test_steps_are_those_of_the_slowest_rank():
    assert checks.all_steps([5, 5], 5).passed
    assert not checks.all_steps([5, 4], 5).passed
    assert not checks.all_steps([], 5).passed


def test_hidden_drops_name_their_place():
    assert checks.no_hidden_drops([HostCounts()], {}).passed
    verdict = checks.no_hidden_drops([HostCounts(), HostCounts(rx_queue_drops=2)], {"l1:3 rx_ring_drops": 1})
    assert not verdict.passed
    assert verdict.value == 3
    assert "host queue 1: 2" in verdict.about
    assert "l1:3 rx_ring_drops: 1" in verdict.about


def test_refused_packets_are_named():
    assert checks.nothing_rejected([{"rx_bad_icrc": 0, "rx_data": 7}]).passed
    verdict = checks.nothing_rejected([{"rx_bad_icrc": 1}, {"rx_stale_epoch": 2}])
    assert not verdict.passed
    assert verdict.value == "rx_bad_icrc 1, rx_stale_epoch 2"
    assert checks.nothing_rejected([{"rx_stale_epoch": 2, "rx_stale_data": 2}], epochs=True).passed
    assert not checks.nothing_rejected([{"rx_bad_icrc": 1, "rx_stale_epoch": 2}], epochs=True).passed
