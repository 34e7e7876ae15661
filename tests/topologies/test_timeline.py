"""Goodput and queues over time, from what switches had counted at each sample."""

from __future__ import annotations

from csaud_runs.errors import RunError
from csaud_topologies.job.timeline import DATA_HEADERS, Sample, Sampler, series

from tests.topologies import worlds

FABRIC = worlds.fabric()
PORTS = [(name, port) for name in FABRIC.switches for port in FABRIC.uplinks(name)]


def sample(at_s, packets, payload, queue):
    """Every port has sent as many packets of `payload` bytes each."""
    return Sample(
        at_s,
        dict.fromkeys(PORTS, packets),
        dict.fromkeys(PORTS, packets * (payload + DATA_HEADERS)),
        None if queue is None else dict.fromkeys(PORTS, queue),
    )


def test_goodput_is_payload_alone_over_the_time_between_samples():
    made = series(FABRIC, [sample(0.0, 100, 1024, 9), sample(2.0, 300, 1024, 4), sample(2.5, 300, 1024, 0)])
    assert made.at_s == [2.0, 2.5]
    assert [(link.switch, link.port) for link in made.links] == PORTS
    first = made.links[0]
    assert first.peer == FABRIC.peers[first.switch][first.port].node
    assert first.goodput_bps == [200 * 1024 * 8 / 2.0, 0.0]
    assert first.queue_packets == [4, 0]


def test_without_queues_or_without_a_second_sample():
    assert series(FABRIC, [sample(0.0, 1, 8, 1)]) is None
    made = series(FABRIC, [sample(0.0, 0, 8, None), sample(1.0, 1, 8, None)])
    assert {link.queue_packets for link in made.links} == {None}


def test_samples_are_taken_once_a_second(monkeypatch):
    now = 100.0
    monkeypatch.setattr("csaud_topologies.job.timeline.time.monotonic", lambda: now)
    sampler = Sampler(lambda at_s: sample(at_s, 0, 0, 0))
    for now in (100.0, 100.1, 100.9, 101.05, 101.9, 103.0):  # noqa: B007
        sampler.tick()
    assert [round(taken.at_s, 2) for taken in sampler.samples] == [0.0, 1.05, 3.0]


def test_a_sample_that_a_switch_is_too_slow_for_is_left_out(monkeypatch):
    now = 100.0
    monkeypatch.setattr("csaud_topologies.job.timeline.time.monotonic", lambda: now)

    def read(at_s):
        if at_s == 1.0:
            raise RunError("s1: registers cannot be read: Deadline Exceeded")
        return sample(at_s, 0, 0, 0)

    sampler = Sampler(read)
    for now in (100.0, 101.0, 101.5, 102.0):  # noqa: B007
        sampler.tick()
    assert [taken.at_s for taken in sampler.samples] == [0.0, 2.0]
