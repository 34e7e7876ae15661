"""What comes from hosts is checked where it comes in: no LOSS, their own addresses, classes they may use."""

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import ARP, Ether

from tests.p4.rig.frames import DESTINATION, SOURCE, SOURCE_MAC, TRIMMED, arp_request, csa_frame
from tests.p4.rig.leaf import CONTROL, DATA, HOST_PORT, LOSS, OTHER, Leaf

FORGED, SOURCE_OF_ANOTHER, CLASS = range(3)
ANOTHER = "10.0.1.9"
FORGED_LOSS = csa_frame(kind=3, flags=TRIMMED)


@pytest.fixture
def edge(one: Leaf) -> Leaf:
    """Port 5 is that of a host with one address and the classes 0 to 5."""
    one.insert("edge.ports", {"port": HOST_PORT}, "edge.check")
    one.insert("edge.sources", {"port": HOST_PORT, "src": f"{SOURCE}/32"}, "edge.belongs")
    for cls in (6, 7):
        one.insert("edge.classes", {"port": HOST_PORT, "cls": cls}, "edge.refuse")
    return one


def tcp(source: str) -> bytes:
    return bytes(Ether() / IP(src=source, dst=DESTINATION) / TCP(sport=5, dport=80))


def from_another(**header: int) -> bytes:
    frame = bytearray(csa_frame(**header))
    frame[26:30] = bytes(map(int, ANOTHER.split(".")))
    frame[24:26] = (int.from_bytes(frame[24:26], "big") - 8).to_bytes(2, "big")  # the checksum of the change
    return bytes(frame)


def refused(leaf: Leaf, port: int = HOST_PORT) -> tuple[list[int], list[int]]:
    """By reason, and by kind."""
    return (
        [leaf.cell("edge.refused", port * 4 + reason) for reason in range(3)],
        [leaf.count("edge.refused_kind", port, kind) for kind in range(4)],
    )


def test_what_a_host_may_send_goes_through(edge: Leaf) -> None:
    arp_probe = bytes(Ether(src=SOURCE_MAC) / ARP(psrc="0.0.0.0", pdst=DESTINATION))
    frames = [
        *(csa_frame(kind=kind, criticality=5) for kind in range(3)),
        tcp(SOURCE),
        arp_request(),
        arp_probe,
    ]
    assert len(edge.send(frames)) == len(frames)
    assert refused(edge) == ([0, 0, 0], [0, 0, 0, 0])
    assert edge.direct("edge.sources", {"port": HOST_PORT, "src": f"{SOURCE}/32"}) == 5


@pytest.mark.parametrize(
    ("frame", "reason", "kind"),
    [
        (FORGED_LOSS, FORGED, LOSS),
        (csa_frame(kind=3), FORGED, CONTROL),
        (from_another(), SOURCE_OF_ANOTHER, DATA),
        (tcp(ANOTHER), SOURCE_OF_ANOTHER, OTHER),
        (bytes(Ether() / ARP(psrc=ANOTHER, pdst=DESTINATION)), SOURCE_OF_ANOTHER, OTHER),
        (csa_frame(criticality=6), CLASS, DATA),
        (csa_frame(kind=2, criticality=7), CLASS, CONTROL),
    ],
    ids=["LOSS", "LOSS of no kind", "source", "TCP source", "ARP sender", "class", "class of control"],
)
def test_what_it_may_not_send_is_refused_and_counted(
    edge: Leaf, frame: bytes, reason: int, kind: int
) -> None:
    assert edge.send([frame], expected=0) == []
    assert refused(edge) == ([int(n == reason) for n in range(3)], [int(n == kind) for n in range(4)])
    assert edge.count("classify.ingress_kind", HOST_PORT, kind) == 1


def test_a_source_of_another_cannot_have_a_loss_sent_there(edge: Leaf) -> None:
    edge.congested("bounce")
    assert edge.send([from_another()], expected=0) == []
    assert len(edge.send([csa_frame()])) == 1


def test_other_switches_are_trusted(edge: Leaf) -> None:
    edge.insert("edge.ports", {"port": 3}, "edge.trust")
    for port in (2, 3):
        for frame in (FORGED_LOSS, from_another(), csa_frame(criticality=7)):
            assert len(edge.send([frame], port=port)) == 1
        assert refused(edge, port) == ([0, 0, 0], [0, 0, 0, 0])


def test_the_loss_of_a_clone_is_no_hosts(edge: Leaf) -> None:
    """It comes round again as it would from the port that its packet came in by."""
    edge.congested("both")
    assert len(edge.send([csa_frame()], expected=2)) == 2
    assert refused(edge) == ([0, 0, 0], [0, 0, 0, 0])


# --- queues by DSCP


@pytest.mark.needs("rates")
@pytest.mark.parametrize("queue", [None, 3])
def test_dscp_names_the_queue_of_other_traffic(one: Leaf, queue: int | None) -> None:
    """What has a queue above that of DATA overtakes it."""
    if queue is not None:
        one.insert("classify.queues", {"dscp": 26}, "classify.set_queue", queue=queue)
    one.switch.set_rate(1, 10, 300)
    tagged = bytes(Ether() / IP(src=SOURCE, dst=DESTINATION, tos=26 << 2) / TCP(sport=5, dport=80))
    out = one.send([*(csa_frame() for _ in range(10)), tagged])
    place = next(n for n, left in enumerate(out) if left.frame[23] == 6)
    assert place == 10 if queue is None else place < 6
