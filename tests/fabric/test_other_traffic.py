"""Traffic that is not CSA, through all switches of a fabric, by the entries that the controller computes."""

import random
from collections import Counter

import pytest
from csaud_controller.inventory import LinkDefaults, fat_tree
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_sim.fabric import SimulatedFabric
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

PORTS_OF_FAT_TREE_8 = 8
FLOWS = 4096


@pytest.mark.parametrize("seed", [1, 2])
def test_flows_use_every_link_of_a_fat_tree_alike(seed: int) -> None:
    """Tiers that hash alike would send what one of them sent here all the same way at the next."""
    inventory = fat_tree(PORTS_OF_FAT_TREE_8)
    inventory = inventory.model_copy(update={"link": LinkDefaults(rate=0, buffer=FLOWS)})
    fabric = SimulatedFabric(inventory, Intent(policy=Policy(seed=seed))).native

    drawn = random.Random(seed)
    hosts = list(inventory.hosts.values())
    frame = bytearray(bytes(Ether() / IP(src="10.0.1.1", dst="10.0.2.1", proto=6, chksum=0) / TCP()))
    now = 0
    for _ in range(FLOWS):
        source, destination = drawn.sample(range(len(hosts)), 2)
        frame[26:30], frame[30:34] = hosts[source].ip.packed, hosts[destination].ip.packed
        frame[34:36], frame[36:38] = drawn.randrange(1024, 65536).to_bytes(2, "big"), b"\x13\x89"
        frame[24:26] = b"\0\0"
        frame[24:26] = _checksum(frame)
        end = inventory.attachment(f"h{source + 1}")
        fabric.inject(end.node, end.port, bytes(frame), now)
        now += 10_000
    fabric.advance(now + 10**9)
    assert len(fabric.poll()) == FLOWS

    carried: Counter[str] = Counter()
    for edge in inventory.switch_edges():
        for end, other in (edge.ends, edge.ends[::-1]):
            sent, _ = fabric.switch(end.node).counter_read("CsaudEgress.telemetry.egress_kind", end.port * 4)
            carried[f"{end.node[0]}{other.node[0]} {end.node}:{end.port}"] = sent
    for tier in ("ea", "ac", "ca", "ae"):
        loads = [sent for link, sent in carried.items() if link.startswith(tier)]
        mean = sum(loads) / len(loads)
        assert min(loads) > mean / 2 and max(loads) < 2 * mean, (tier, sorted(loads))


def _checksum(frame: bytearray) -> bytes:
    """Of the IPv4 header, whose own field is 0."""
    total = sum(int.from_bytes(frame[at : at + 2], "big") for at in range(14, 34, 2))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return (0xFFFF - total).to_bytes(2, "big")
