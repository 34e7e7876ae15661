"""Background bursts: how many packets are due when."""

from __future__ import annotations

from csaud_topologies.workloads.traffic import due_packets


def test_burst_is_paced_and_then_rests():
    assert due_packets(0.0, 1000, 20, 1.0) == 1
    assert due_packets(0.0105, 1000, 20, 1.0) == 11
    assert due_packets(0.5, 1000, 20, 1.0) == 20
    assert due_packets(0.999, 1000, 20, 1.0) == 20


def test_bursts_follow_each_other():
    assert due_packets(1.0, 1000, 20, 1.0) == 21
    assert due_packets(7.9, 1000, 20, 1.0) == 160


def test_due_packets_never_go_back():
    times = [step / 997 for step in range(4000)]
    due = [due_packets(time, 333.3, 50, 0.4) for time in times]
    assert due == sorted(due)
