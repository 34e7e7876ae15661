"""Network interfaces as ports, in real time. Needs root."""

from __future__ import annotations

import errno
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from csaud_softswitch import _core

from tests.softswitch import programs
from tests.softswitch.test_core_fabric import balance
from tests.softswitch.test_core_queueing import ROUTE, packet
from tests.support.netns import NetworkNamespace

pytestmark = pytest.mark.root

PATIENCE_S = 60.0
SO_RCVBUFFORCE = 33
PACKET_IGNORE_OUTGOING, SOL_PACKET, ETH_P_ALL = 23, 263, 3
MTU = 4200
CPU_PORT = 200  # that route.p4 can name with a byte


def tag_of(frame: bytes) -> int:
    return int(struct.unpack_from(ROUTE, frame)[3])


def eventually(condition: Callable[[], bool], what: str) -> None:
    """Waits for what another thread or the kernel is about to do."""
    pause = threading.Event()
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"still not so after {PATIENCE_S:.0f} s: {what}"
        pause.wait(0.002)


class Host:
    """The far end of a port."""

    def __init__(self, ifname: str) -> None:
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 << 20)
        self.socket.bind((ifname, ETH_P_ALL))
        self.socket.setblocking(False)

    def send(self, frame: bytes) -> None:
        self.socket.send(frame)

    def receive(self, count: int, patience_s: float = PATIENCE_S) -> list[bytes]:
        """Frames until there are `count`, or none has come for a while."""
        found: list[bytes] = []
        while len(found) < count and select.select([self.socket], [], [], patience_s)[0]:
            try:
                found.append(self.socket.recv(1 << 16))
            except OSError as error:
                if error.errno != errno.ENETDOWN:  # told once after the interface was down
                    raise
        return found


class Setup:
    """A switch with route.p4 and interfaces sw1, sw2, sw3; the other ends are h1, h2, h3."""

    def __init__(self, namespace: NetworkNamespace, ports: int = 3) -> None:
        self.namespace = namespace
        self.fabric = _core.Fabric()
        self.switch = self.fabric.add_switch("s", 1, cpu_port=CPU_PORT)
        self.switch.load(programs.json_of("route"))
        self.hosts: dict[int, Host] = {}
        with namespace.entered():
            for name in ("all", "default"):
                Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
            for port in range(1, ports + 1):
                namespace.ip(f"link add sw{port} mtu {MTU} type veth peer name h{port} mtu {MTU}")
                for end in (f"sw{port}", f"h{port}"):
                    namespace.ip(f"link set {end} arp off up")
                self.fabric.add_veth_port("s", port, f"sw{port}")
                self.hosts[port] = Host(f"h{port}")
        self.fabric.start()

    def stats(self, port: int) -> _core.PortStats:
        return self.switch.port_stats()[port]

    def exchange(self, frame: bytes, to: int, source: int = 1) -> bytes:
        self.hosts[source].send(frame)
        [answer] = self.hosts[to].receive(1)
        return answer

    def set_interface(self, name: str, up: bool) -> None:
        self.namespace.ip(f"link set {name} {'up' if up else 'down'}")

    def close(self) -> None:
        self.fabric.stop()
        for host in self.hosts.values():
            host.socket.close()


@pytest.fixture
def setup() -> Iterator[Setup]:
    with NetworkNamespace() as namespace:
        made = Setup(namespace)
        yield made
        made.close()


@pytest.mark.parametrize("size", [33, 60, 1514, MTU + 14])
def test_frames_go_through_whole(setup: Setup, size: int) -> None:
    frame = packet(2, tag=77, size=size)
    answer = setup.exchange(frame, 2)
    assert (len(answer), tag_of(answer), answer[33:]) == (size, 77, frame[33:])
    assert setup.stats(1)["rx_bytes"] == size
    eventually(lambda: setup.stats(2)["tx_bytes"] == size, "the frame is counted as sent")


def test_what_the_switch_sends_does_not_come_back_to_it(setup: Setup) -> None:
    for tag in range(10):
        setup.exchange(packet(2, tag=tag), 2)
    assert setup.stats(2)["rx_packets"] == 0
    assert setup.switch.stats()["rx"] == 10


def test_a_burst_goes_through_complete_and_in_order(setup: Setup) -> None:
    count = 20_000
    frames = [packet(2, tag=tag & 0xFFFF, size=300) for tag in range(count)]
    for frame in frames:
        setup.hosts[1].send(frame)
    found = setup.hosts[2].receive(count)
    assert [tag_of(frame) for frame in found] == [tag & 0xFFFF for tag in range(count)]
    stats = setup.stats(1)
    assert (stats["rx_packets"], stats["rx_ring_drops"], stats["rx_errors"]) == (count, 0, 0)
    eventually(lambda: setup.stats(2)["tx_packets"] == count, "all are counted as sent")
    balance(setup.fabric)


def test_a_port_follows_its_interface(setup: Setup) -> None:
    assert [setup.stats(port)["up"] for port in (1, 2, 3)] == [True, True, True]
    for name in ("sw2", "h2"):  # its own state, and its carrier
        setup.set_interface(name, up=False)
        eventually(lambda: not setup.stats(2)["up"], f"port 2 is down with {name}")
        setup.set_interface(name, up=True)
        eventually(lambda: setup.stats(2)["up"], f"port 2 is up with {name}")
        assert tag_of(setup.exchange(packet(2, tag=5), 2)) == 5
    assert setup.stats(3)["up"]


@pytest.mark.parametrize("end", ["sw2", "h2"])
def test_frames_for_an_interface_that_is_down_are_counted(setup: Setup, end: str) -> None:
    setup.set_interface(end, up=False)
    for tag in range(100):
        setup.hosts[1].send(packet(2, tag=tag))
    setup.exchange(packet(3), 3)  # behind the others
    assert setup.stats(2)["link_down_drops"] == 100
    assert setup.stats(2)["tx_packets"] == 0
    assert setup.stats(2)["tx_errors"] == 0
    setup.set_interface(end, up=True)
    eventually(lambda: setup.stats(2)["up"], "port 2 is up again")
    assert tag_of(setup.exchange(packet(2, tag=9), 2)) == 9
    balance(setup.fabric)


def test_no_frame_is_forgotten_while_an_interface_goes_down_and_up(setup: Setup) -> None:
    """Sent or counted as lost, to the packet, whenever it happened."""
    count, flaps = 5000, 20
    sent = threading.Event()

    def send() -> None:
        for tag in range(count):
            setup.hosts[1].send(packet(2, tag=tag, size=200))
        sent.set()

    sender = threading.Thread(target=send)
    sender.start()
    for _ in range(flaps):
        setup.set_interface("sw2", up=False)
        setup.set_interface("sw2", up=True)
    sender.join()
    eventually(lambda: setup.stats(1)["rx_packets"] == count, "all frames have come in")
    eventually(lambda: setup.stats(2)["up"], "port 2 is up")

    def settled() -> bool:
        stats = setup.stats(2)
        return stats["tx_packets"] + stats["link_down_drops"] + stats["tx_errors"] == count

    eventually(settled, "every frame was sent or lost")
    assert setup.stats(2)["tx_errors"] == 0
    balance(setup.fabric)
    arrived = [tag_of(frame) for frame in setup.hosts[2].receive(setup.stats(2)["tx_packets"], 0.2)]
    assert arrived == sorted(arrived)
    assert len(arrived) == setup.stats(2)["tx_packets"]


def test_frames_that_are_waiting_when_their_interface_goes_down_are_still_processed(setup: Setup) -> None:
    setup.fabric.stop()  # so that they wait in the socket
    for tag in range(500):
        setup.hosts[1].send(packet(2, tag=tag))
    setup.set_interface("sw1", up=False)
    setup.fabric.start()
    assert [tag_of(frame) for frame in setup.hosts[2].receive(500)] == list(range(500))
    setup.set_interface("sw1", up=True)
    eventually(lambda: setup.stats(1)["up"], "port 1 is up again")

    def goes_through() -> bool:  # the kernel starts the far end's queue a little later, and drops until then
        setup.hosts[1].send(packet(2, tag=1))
        return [tag_of(frame) for frame in setup.hosts[2].receive(1, 0.2)] == [1]

    eventually(goes_through, "a frame goes through again")


def test_a_port_takes_longer_frames_once_its_mtu_is_raised(setup: Setup) -> None:
    for port in (1, 2):
        for end in (f"sw{port}", f"h{port}"):
            setup.namespace.ip(f"link set {end} mtu 9000")

    def goes_through() -> bool:
        setup.hosts[1].send(packet(2, tag=3, size=9000))
        return bool(setup.hosts[2].receive(1, 0.2))

    eventually(goes_through, "a jumbo frame goes through")
    lost = setup.stats(1)["rx_errors"]  # frames that came before the switch had heard of it
    assert setup.stats(1)["rx_packets"] >= 1
    assert setup.exchange(packet(2, tag=4, size=9014), 2)[33:] == bytes(9014 - 33)
    assert setup.stats(1)["rx_errors"] == lost


def test_packet_in_and_packet_out(setup: Setup) -> None:
    descriptor = setup.switch.packet_in_fd()
    assert select.select([descriptor], [], [], 0)[0] == []
    setup.hosts[1].send(packet(CPU_PORT, tag=1))
    setup.hosts[1].send(packet(CPU_PORT, tag=2))
    found: list[bytes] = []
    while len(found) < 2 and select.select([descriptor], [], [], PATIENCE_S)[0]:
        found += setup.switch.poll_packet_in()
    assert [tag_of(frame) for frame in found] == [1, 2]
    assert select.select([descriptor], [], [], 0)[0] == []
    setup.switch.packet_out(packet(3, tag=4))
    assert [tag_of(frame) for frame in setup.hosts[3].receive(1)] == [4]
    assert setup.switch.stats()["packet_in"] == 2


def test_a_rate_holds_in_real_time(setup: Setup) -> None:
    setup.fabric.set_port_queue("s", 2, rate_bps=50_000_000)
    count, size = 200, 1250  # 200 microseconds each
    begin = time.monotonic()
    for tag in range(count):
        setup.hosts[1].send(packet(2, tag=tag, size=size))
    assert [tag_of(frame) for frame in setup.hosts[2].receive(count)] == list(range(count))
    took = time.monotonic() - begin
    assert took >= (count - 1) * size * 8 / 50e6
    assert setup.stats(2)["queue_full"] == 0


def test_control_calls_from_other_threads_while_packets_pass(setup: Setup) -> None:
    stop = threading.Event()
    failures: list[BaseException] = []

    def control() -> None:
        value = 0
        try:
            while not stop.is_set():
                setup.switch.register_write("depth", 250, value)
                assert setup.switch.register_read("depth", 250) < 256
                setup.switch.port_stats()
                setup.switch.stats()
                setup.fabric.set_port_queue("s", 3, buffer_packets=1024)
                value = (value + 1) & 0xFF
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=control) for _ in range(3)]
    for thread in threads:
        thread.start()
    for tag in range(3000):
        setup.hosts[1].send(packet(2, tag=tag, size=100))
    found = setup.hosts[2].receive(3000)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert [tag_of(frame) for frame in found] == list(range(3000))


def test_stop_and_start_again(setup: Setup) -> None:
    assert setup.fabric.running
    setup.fabric.stop()
    setup.fabric.stop()
    assert not setup.fabric.running
    setup.hosts[1].send(packet(2, tag=6))
    setup.fabric.start()
    assert [tag_of(frame) for frame in setup.hosts[2].receive(1)] == [6]
    with pytest.raises(_core.InvalidArgument, match="real time"):
        setup.fabric.advance(1 << 62)


def test_a_port_can_be_added_and_removed_while_running(setup: Setup) -> None:
    setup.fabric.remove_port("s", 2)
    assert 2 not in setup.switch.port_stats()
    with setup.namespace.entered():
        setup.fabric.add_veth_port("s", 20, "sw2")
    assert tag_of(setup.exchange(packet(20, tag=2), 2)) == 2
    assert tag_of(setup.exchange(packet(1, tag=3), 1, source=2)) == 3


def test_interfaces_of_several_namespaces_in_one_fabric(setup: Setup) -> None:
    with NetworkNamespace() as other:
        other.ip(f"link add far mtu {MTU} type veth peer name host mtu {MTU}")
        for end in ("far", "host"):  # without an IPv6 address, so that the kernel sends nothing of its own
            other.ip(f"link set {end} addrgenmode none")
            other.ip(f"link set {end} arp off up")
        with other.entered():
            setup.fabric.add_veth_port("s", 9, "far")
            host = Host("host")
        setup.hosts[1].send(packet(9, tag=8))
        assert tag_of(host.receive(1)[0]) == 8
        other.ip("link set host down")
        eventually(lambda: not setup.stats(9)["up"], "port 9 is down")
        assert setup.stats(1)["up"]
        host.socket.close()


def test_an_interface_that_is_not_there() -> None:
    fabric = _core.Fabric()
    fabric.add_switch("s", 1)
    with pytest.raises(OSError, match="nothing0") as failed:
        fabric.add_veth_port("s", 1, "nothing0")
    assert failed.value.errno == errno.ENODEV
    assert fabric.switch("s").port_stats() == {}
    with pytest.raises(_core.InvalidArgument, match="follows its interface 'lo'"):
        fabric.add_veth_port("s", 1, "lo")
        fabric.set_link("s", 1, False)


def test_a_vlan_tag_is_part_of_the_frame(setup: Setup) -> None:
    """The kernel hides it from packet sockets; the program and the next hop must see it."""
    head = packet(2, tag=5, size=60)
    tagged = head[:12] + bytes.fromhex("8100 0123") + head[12:]
    untagged = setup.exchange(head, 2)
    setup.hosts[1].send(tagged)
    eventually(lambda: setup.stats(2)["tx_packets"] == 2, "the second frame is sent")
    assert setup.stats(1)["rx_bytes"] == 60 + 64
    assert setup.stats(2)["tx_bytes"] == 60 + 64
    assert len(untagged) == 60


def test_an_interface_that_is_deleted_and_made_again_is_the_same_port(setup: Setup) -> None:
    setup.namespace.ip("link del sw2")
    eventually(lambda: not setup.stats(2)["up"], "port 2 is down")
    setup.hosts[1].send(packet(2, tag=1))
    eventually(lambda: setup.stats(2)["link_down_drops"] == 1, "the frame is counted as lost")
    setup.namespace.ip(f"link add sw2 mtu {MTU} type veth peer name h2 mtu {MTU}")
    for end in ("sw2", "h2"):
        setup.namespace.ip(f"link set {end} arp off up")
    eventually(lambda: setup.stats(2)["up"], "port 2 is up")
    with setup.namespace.entered():
        host = Host("h2")
    setup.hosts[1].send(packet(2, tag=2))
    assert [tag_of(frame) for frame in host.receive(1)] == [2]
    host.send(packet(1, tag=3))
    assert [tag_of(frame) for frame in setup.hosts[1].receive(1)] == [3]
    host.socket.close()
