"""Ranks on one link send each other trains of packets by default, and nobody else gets any."""

import json
from collections.abc import Iterator

import pytest

from tests.hostlib.jobs import Event, Job
from tests.hostlib.test_device_jobs import balanced
from tests.hostlib.test_device_shared import datagrams_sent
from tests.hostlib.wire import Wire
from tests.support.forwarder import Forwarder, forwarder, ttl_of
from tests.support.netns import NetworkNamespace

pytestmark = pytest.mark.root

PORT = 29500  # the namespaces are a test's own
MTU = 1500
SUMS = [[1, "float32", 3], [500_000, "float32", 4]]
HERE, THERE = Wire.addresses
FURTHER = "10.9.0.1"
QUESTIONS = 4 * 2  # to one peer at most, where it answers none; each may be asked again once


@pytest.fixture
def wire() -> Iterator[Wire]:
    with Wire(mtu=MTU) as made:
        yield made


def frames_sent(host: NetworkNamespace) -> int:
    """Through its interface; a train is one where the interface does not cut it."""
    (found,) = json.loads(host.ip("-j -s link show eth0"))
    return int(found["stats64"]["tx"]["packets"])


def packets_sent(end: Event) -> int:
    return int(end["stats"]["tx_data"]) + int(end["stats"]["tx_control"])


def run(wire: Wire | Forwarder, **settings: object) -> list[Event]:
    """A job of two, a rank on each host."""
    options = {"master": HERE, "port": PORT, "spawn": lambda rank: wire.ends[rank].entered()}
    with Job(2, "sums", {"sums": SUMS, "settings": settings}, **options) as job:
        ends = job.ends()
        assert [(end["error"], end["stats"]["rx_bad_icrc"]) for end in ends] == [(None, 0)] * 2
        return ends


def ends_of(wire: Wire | Forwarder, **settings: object) -> list[Event]:
    """The same without a loss."""
    ends = run(wire, **settings)
    balanced(ends)
    return ends


@pytest.mark.parametrize("mode", ["auto", "udp"])
def test_ranks_on_one_link_send_trains(wire: Wire, mode: str) -> None:
    ends = ends_of(wire, mode=mode)
    assert frames_sent(wire.ends[0]) < packets_sent(ends[0]) / 3


@pytest.mark.parametrize("settings", [{"segmentation": "off"}, {"mode": "raw"}], ids=str)
def test_who_asks_for_single_packets_gets_them(wire: Wire, settings: dict[str, str]) -> None:
    ends = ends_of(wire, **settings)
    assert frames_sent(wire.ends[0]) >= packets_sent(ends[0])


def test_a_rank_to_which_a_gateway_leads_is_not_even_asked(wire: Wire) -> None:
    """A router would have to make an ICMP message of each question."""
    wire.ends[1].ip(f"address add {FURTHER}/32 dev lo")
    wire.ends[0].ip(f"route add {FURTHER}/32 via {THERE}")
    options = {"master": HERE, "port": PORT, "spawn": wire.host_of}
    with Job(2, "sums", {"sums": SUMS, "settings_of": {"1": {"address": FURTHER}}}, **options) as job:
        balanced(job.ends())
    with wire.ends[0].entered():
        assert datagrams_sent() == 0


@pytest.mark.parametrize("settings", [{"segmentation": "off"}, {"mode": "raw"}], ids=str)
def test_a_rank_that_takes_no_trains_is_not_even_asked(wire: Wire, settings: dict[str, str]) -> None:
    """Its device has no port for them."""
    options = {"master": HERE, "port": PORT, "spawn": wire.host_of}
    with Job(2, "sums", {"sums": SUMS, "settings_of": {"1": settings}}, **options) as job:
        balanced(job.ends())
    with wire.ends[0].entered():
        assert datagrams_sent() == 0


def routed(frame: bytes) -> bool:
    return ttl_of(frame) <= 1


def train_of_trial(frame: bytes) -> bool:
    return routed(frame) and len(frame) > 1000


@pytest.mark.parametrize("drops", [routed, train_of_trial], ids=["a router", "short packets alone"])
def test_no_train_goes_where_something_on_the_way_does_not_carry_it(drops) -> None:
    with forwarder(MTU) as between:
        between.drops = drops
        ends_of(between)
        with between.ends[0].entered():
            assert 0 < datagrams_sent() <= QUESTIONS


def test_trains_go_through_what_carries_them() -> None:
    """A bridge, say: it counts nothing down."""
    with forwarder(MTU) as between:
        ends = ends_of(between)
        with between.ends[0].entered():
            assert datagrams_sent() > packets_sent(ends[0]) / 64


@pytest.mark.parametrize("later", [routed, train_of_trial], ids=["a router", "short packets alone"])
def test_a_job_goes_on_by_single_packets_when_its_trains_come_through_no_more(later) -> None:
    """Routes change; trains end there, and the job does not."""
    trains = []  # lengths of frames that live for one hop
    singles = []

    def drops(frame: bytes) -> bool:
        if routed(frame):
            trains.append(len(frame))
            return len(trains) > 300 and later(frame)
        if len(trains) > 300 and len(frame) > 1000:
            singles.append(len(frame))
        return False

    with forwarder(MTU) as between:
        between.drops = drops
        run(between)
    assert len(trains) > 300 and len(singles) > 1000
