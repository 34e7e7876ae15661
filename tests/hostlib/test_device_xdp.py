"""The soft device on AF_XDP and BPF: whole jobs between two hosts, and what it leaves to others."""

import errno
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address

import csaud
import numpy as np
import pytest
from csaud import _core
from csaud.cli import command as cli
from csaud.devices.interfaces import Interface, find_interfaces
from csaud.doctor import soft as doctor_soft
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from typer.testing import CliRunner

from tests.hostlib.jobs import Job, run
from tests.hostlib.test_device_counters import FLOOD, QPN, SMALL, bad, datagram, flood, until
from tests.hostlib.test_device_hosts import PORT, SUMS, drop_privileges
from tests.hostlib.test_device_jobs import balanced
from tests.hostlib.wire import Wire
from tests.support.ranks import Rank, on_host, run_job
from tests.support.roce import LOSS_PORT, ROCE_PORT
from tests.support.soft import Address, SoftJob, SoftRank, soft_rank

pytestmark = [pytest.mark.root, pytest.mark.xdp]

HERE, THERE = Wire.addresses
JOB = SoftJob({0: Address(HERE, QPN), 1: Address(THERE, QPN + 1)}, qkey=0x1CEB00DA, epoch=4)
XDP = {"mode": "xdp"}
OTHER_PORT, LAST = 9, b"the last one"
WRONG_MAC = "02:00:00:00:00:99"


@pytest.fixture
def wire() -> Iterator[Wire]:
    with Wire(mtu=4200) as made:
        yield made


def device(address: str = HERE, qpn: int = QPN, room: int = 1 << 22) -> _core.XdpDevice:
    return _core.XdpDevice(int(IPv4Address(address)), qpn, 4224, 32, room)


def config() -> _core.EndpointConfig:
    """Of rank 0 of two at the first host."""
    made = _core.EndpointConfig()
    made.world, made.local_ipv4, made.local_qpn = 2, int(IPv4Address(HERE)), QPN
    return made


def options(wire: Wire) -> dict:
    return {"master": HERE, "port": PORT, "spawn": wire.host_of}


@pytest.mark.parametrize("settings", [{}, {"spin": 0}, {"mtu": 4096}, {"mtu": 256, "batch": 1}], ids=str)
def test_sums_between_two_hosts(wire: Wire, settings: dict) -> None:
    """Also where a rank sleeps before each packet, and where a packet takes two of the kernel's chunks."""
    balanced(run(2, "sums", {"sums": SUMS, "settings": {**XDP, **settings}}, **options(wire)))


def test_every_collective(wire: Wire) -> None:
    balanced(run(2, "collectives", {"count": 10_000, "settings": XDP}, **options(wire)))


@pytest.mark.parametrize("modes", [("xdp", "raw"), ("raw", "xdp"), ("xdp", "udp")], ids="-".join)
def test_ranks_with_their_own_modes_understand_each_other(wire: Wire, modes: tuple[str, str]) -> None:
    arguments = {"seed": 5, "lengths": [1, 70_000]}
    with on_host(wire.ends[0]) as one, on_host(wire.ends[1]) as two:
        ranks = [
            Rank(place, address, {"mode": mode})
            for place, address, mode in zip((one, two), Wire.addresses, modes, strict=True)
        ]
        results = run_job(ranks, HERE, "all_reduce", arguments)
    assert results[0]["digests"] == results[1]["digests"]
    for result in results:
        assert bad(result["stats"]) == 0


def test_a_second_rank_at_the_interface_is_told_why_it_cannot(wire: Wire) -> None:
    with wire.ends[0].entered():
        first = device()
        with pytest.raises(OSError) as refused:
            device(qpn=QPN + 1)
        assert refused.value.errno == errno.EBUSY
        with pytest.raises(csaud.ConfigError, match=f"one rank at each queue .* that has {HERE} are taken"):
            csaud.init(environ={}, mode="xdp", address=HERE)
        del first
        device(qpn=QPN + 1)


def test_places_where_it_cannot_work_are_named(wire: Wire) -> None:
    with wire.ends[0].entered():
        with pytest.raises(csaud.ConfigError, match=r"an Ethernet interface, and 127\.0\.0\.1 is loopback's"):
            csaud.init(environ={}, mode="xdp", address="127.0.0.1")
        progress = _core.Progress(config(), device(), 32)
        with pytest.raises(RuntimeError, match=f"{HERE} is an address of this machine"):
            progress.set_peer(1, int(IPv4Address(HERE)), QPN)
        with pytest.raises(RuntimeError, match=r"there is no route to 10\.9\.0\.1"):
            progress.set_peer(1, int(IPv4Address("10.9.0.1")), QPN)
        wire.ends[0].ip("route add 10.9.0.2 via inet6 fd00:1::2 dev eth0 onlink")
        with pytest.raises(RuntimeError, match=r"the route to 10\.9\.0\.2 leads through a gateway of IPv6"):
            progress.set_peer(1, int(IPv4Address("10.9.0.2")), QPN)
        wire.ends[0].ip("route add 10.9.0.1 dev lo")
        with pytest.raises(RuntimeError, match="leads through lo"):
            progress.set_peer(1, int(IPv4Address("10.9.0.1")), QPN)


def test_an_ordinary_user_is_told_what_is_missing(wire: Wire) -> None:
    arguments = {"sums": [], "settings": {**XDP, "store_timeout": 1}}
    with Job(2, "sums", arguments, prefix=drop_privileges(), **options(wire)) as job:
        end = job.workers[0].wait_for("end")
    assert end["error"] == "ConfigError"
    assert "mode=xdp needs root" in end["message"] and "mode=udp does without" in end["message"]


def with_carrier() -> list[Interface]:
    """The interfaces, once the kernel has told that eth0 is up, which it does a moment later."""
    for _ in range(500):
        found = find_interfaces()
        if all(interface.up for interface in found):
            return found
        threading.Event().wait(0.01)
    raise AssertionError("eth0 stays down")


def test_doctor_and_the_list_of_devices_say_where_it_works(wire: Wire) -> None:
    with wire.ends[0].entered():
        interfaces = with_carrier()
        [free] = doctor_soft._xdp(interfaces)
        assert (free.level, free.what, free.mend) == ("ok", "AF_XDP at eth0", "")
        listed = json.loads(CliRunner().invoke(cli.app, ["device", "list", "--json"]).output)["devices"]
        assert {row["name"]: row["limits"]["modes"] for row in listed if row["kind"] == "soft"} == {
            "lo": "udp raw",
            "eth0": "udp raw xdp",
        }
        held = device()
        [taken] = doctor_soft._xdp(interfaces)
        assert taken.level == "note" and "are taken" in taken.text and taken.mend
        del held


@contextmanager
def waiting_rank(wire: Wire) -> Iterator[_core.Progress]:
    """Rank 0 at the first host, its thread not started, its ring as small as can be."""
    with wire.ends[0].entered():
        progress = _core.Progress(config(), device(room=SMALL), 32)
        progress.set_peer(1, int(IPv4Address(THERE)), QPN + 1)
    try:
        yield progress
    finally:
        progress.stop()


def arrives(wire: Wire, port: int, payload: bytes) -> bool:
    """Whether the kernel of the first host has a packet from the second for its own sockets."""
    with wire.ends[0].entered():
        receiver = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
    with receiver, wire.ends[1].entered():
        receiver.settimeout(60)
        flood(HERE, port, payload, 1)
        flood(HERE, OTHER_PORT, LAST, 1)
        seen = receiver.recv(65_536)
        return seen.endswith(payload) and receiver.recv(65_536).endswith(LAST)


def test_only_the_ranks_own_packets_are_taken(wire: Wire) -> None:
    with wire.ends[0].entered():
        held = device()
    assert not arrives(wire, ROCE_PORT, datagram(QPN))
    assert not arrives(wire, LOSS_PORT, datagram(QPN))
    assert arrives(wire, ROCE_PORT, datagram(QPN + 1))
    assert arrives(wire, ROCE_PORT + 1, datagram(QPN))
    with wire.ends[0].entered():
        listener = socket.create_server((HERE, 0))
    with listener, wire.ends[1].entered():
        data = bytes(1_000_000)
        with socket.create_connection(listener.getsockname()) as client:
            server, _ = listener.accept()
            sender = threading.Thread(target=client.sendall, args=(data,))
            sender.start()
            with server, server.makefile("rb") as stream:
                assert stream.read(len(data)) == data
            sender.join()
    del held
    assert arrives(wire, ROCE_PORT, datagram(QPN))


def test_a_killed_rank_leaves_nothing_at_the_interface(wire: Wire) -> None:
    with Job(2, "endless", {"count": 1000, "settings": XDP}, **options(wire)) as job:
        job.wait_for("running")
        for worker in job.workers:
            worker.kill()
            worker.process.wait()
        # The kernel tidies up a moment after the process is gone.
        with wire.ends[0].entered():
            for _ in range(500):
                try:
                    device()
                    break
                except OSError as error:
                    assert error.errno == errno.EBUSY
                    threading.Event().wait(0.01)
            else:
                pytest.fail("the interface is still taken")
        assert "tcx" not in wire.ends[0].ip("-d link show eth0")


@pytest.mark.parametrize("port", [ROCE_PORT, LOSS_PORT])
def test_every_packet_of_a_flood_is_counted_once(wire: Wire, port: int) -> None:
    with waiting_rank(wire) as progress:
        with wire.ends[1].entered():
            flood(HERE, port, datagram(QPN), FLOOD)
        dropped = progress.stats()["rx_queue_drops"]
        assert 0 < dropped < FLOOD
        progress.start()
        after = until(progress, lambda stats: bad(stats) == FLOOD - dropped)
        assert after["rx_queue_drops"] == dropped


def test_odd_packets_are_counted(wire: Wire) -> None:
    """One longer than any, one too short to name a queue pair."""
    with waiting_rank(wire) as progress:
        progress.start()
        wire.ends[1].ip("link set eth0 mtu 9000")
        wire.ends[0].ip("link set eth0 mtu 9000")
        with wire.ends[1].entered():
            flood(HERE, ROCE_PORT, datagram(QPN, 8000), 1)
            flood(HERE, ROCE_PORT, b"short", 1)
        until(progress, lambda stats: stats["rx_bad_length"] == 2)


@pytest.mark.parametrize(("vlan", "taken"), [(0, True), (5, False)])
def test_packets_with_a_priority_tag_are_taken_those_of_a_vlan_are_not(
    wire: Wire, vlan: int, taken: bool
) -> None:
    ends = [end.ip("link show eth0").split("link/ether ")[1].split()[0] for end in wire.ends]
    tagged = Ether(dst=ends[0], src=ends[1]) / Dot1Q(vlan=vlan, prio=3) / IP(src=THERE, dst=HERE, flags="DF")
    tagged = tagged / UDP(sport=QPN, dport=ROCE_PORT, chksum=0) / datagram(QPN)
    with waiting_rank(wire) as progress:
        progress.start()
        with wire.ends[1].entered(), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as frames:
            frames.bind(("eth0", 0))
            frames.send(bytes(tagged))
            flood(HERE, ROCE_PORT, b"short", 1)  # what came before it was seen, too
        stats = until(progress, lambda stats: stats["rx_bad_length"] == 1)
        assert bad(stats) == 1 + taken


def test_packets_that_the_interface_refuses_are_counted(wire: Wire) -> None:
    with waiting_rank(wire) as progress:
        progress.start()
        wire.ends[1].ip("link set eth0 down")
        progress.post(True, 1, 0, 1, 0, 0, np.zeros(10, np.uint8), 0, 10, _core.Hints())
        stats = until(progress, lambda stats: stats["tx_errors"] > 0)
        assert stats["rx_data"] == 0


def test_a_neighbour_that_moves_is_followed(wire: Wire) -> None:
    """Its new address is used at once; a message to the old one is repeated."""
    neighbour = f"neighbour replace {THERE} dev eth0 nud permanent lladdr"
    right = wire.ends[1].ip("link show eth0").split("link/ether ")[1].split()[0]
    wire.ends[0].ip(f"{neighbour} {WRONG_MAC}")
    buffers = [np.full(50_000, 7, np.uint8), np.zeros(50_000, np.uint8)]
    with soft_rank(wire.ends[0], JOB, 0, "xdp") as sender, soft_rank(wire.ends[1], JOB, 1, "xdp") as receiver:
        receiver.post_recv(0, buffers[1], 1)
        sender.post_send(1, buffers[0], 1)
        assert receiver.wait(0.2) == []
        wire.ends[0].ip(f"{neighbour} {right}")
        (done,) = completed(receiver)
        assert done.status == _core.Status.ok
    assert (buffers[1] == 7).all()


def test_an_interface_that_was_down_is_used_again(wire: Wire) -> None:
    """With it went the route and the neighbour."""
    buffers = [np.full(50_000, 7, np.uint8), np.zeros(50_000, np.uint8)]
    with soft_rank(wire.ends[0], JOB, 0, "xdp") as sender, soft_rank(wire.ends[1], JOB, 1, "xdp") as receiver:
        receiver.post_recv(0, buffers[1], 1)
        wire.ends[0].ip("link set eth0 down")
        sender.post_send(1, buffers[0], 1)
        assert receiver.wait(0.2) == []
        wire.ends[0].ip("link set eth0 up")
        (done,) = completed(receiver)
        assert done.status == _core.Status.ok
    assert (buffers[1] == 7).all()


def completed(rank: SoftRank) -> list[_core.Completion]:
    """What ended, within the time that a repeated PROBE may take."""
    for _ in range(3):
        if done := rank.wait():
            return done
    raise AssertionError(f"never: {rank.stats()}")
