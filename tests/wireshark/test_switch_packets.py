"""What the P4 program makes of a packet, as the dissector shows it."""

from __future__ import annotations

from csaud_softswitch.exchange.names import Names
from csaud_softswitch.exchange.soft import SoftTarget
from csaud_softswitch.p4runtime.errors import Code

from tests.softswitch.inputs import HOST_PORT, PORTS, clones, csa, leaf, limits, policy, signal
from tests.softswitch.p4runtime_support import CONFIG, INDEX
from tests.wireshark.tshark import fields, needs_tshark

pytestmark = needs_tshark

UPLINK = 3
LOST = "A switch trimmed this packet: its payload is lost"
NAMES = [
    "csaud.type", "csaud.flags.trimmed", "csaud.pkt_idx", "csaud.tx_ts", "csaud.loss_form",
    "csaud.payload_length", "csaud.icrc_status", "ip.src", "ip.dst", "ip.checksum.status",
    "_ws.expert.message",
]  # fmt: skip


def made(action: str, **parameters: int) -> list[tuple[int, bytes]]:
    """What leaves a leaf whose uplink has no room, for one packet with 200 bytes."""
    target = SoftTarget(CONFIG, PORTS)
    updates = [
        *leaf()["write"],
        policy("host_directed"),
        limits(UPLINK, 0, 100),
        clones(),
        signal(action, UPLINK, **parameters),
    ]
    codes = target.write([Names(INDEX).update(update) for update in updates])
    assert set(codes) == {Code.OK}
    target.send(HOST_PORT, csa(200, path_id=UPLINK - 1, pkt_idx=4, pkt_total=9, tx_ts=77))
    return [(departure.port, departure.frame) for departure in target.departures()]


LEAVES = {"trim": [UPLINK], "bounce": [HOST_PORT], "both": [UPLINK, HOST_PORT]}
FORMS = [(94, 0), (150, 0), (98, 1)]
"""(size, with an iCRC)"""


def shown_as(port: int, size: int, icrc: int) -> dict[str, str]:
    """A LOSS of this form: to the receiver where it leaves by the uplink, else to the sender."""
    ends = ["10.0.1.1", "10.0.2.1"]
    source, destination = ends if port == UPLINK else ends[::-1]
    return {
        "csaud.type": "3",
        "csaud.flags.trimmed": "1",
        "csaud.pkt_idx": "4",
        "csaud.tx_ts": "77",
        "csaud.loss_form": "2" if icrc else "1",
        "csaud.payload_length": str(size - 94 - 4 * icrc),
        **({"csaud.icrc_status": "1"} if icrc else {}),
        "ip.src": source,
        "ip.dst": destination,
        "ip.checksum.status": "1",
        "_ws.expert.message": LOST,
    }


def test_a_made_loss_of_every_kind() -> None:
    frames, expected = [], []
    for action, ports in LEAVES.items():
        for size, icrc in FORMS:
            out = made(action, size=size, icrc=icrc)
            assert sorted(port for port, _ in out) == ports
            frames += [frame[14:] for _, frame in out]
            expected += [shown_as(port, size, icrc) for port, _ in out]
    options = ("-o", "csaud.verify_icrc:TRUE", "-o", "ip.check_checksum:TRUE")
    assert fields(frames, NAMES, *options) == expected
