"""The plain switch against the P4 program: without spraying and signals it does the same to every packet."""

from functools import cache

import numpy as np
import pytest
from csaud_controller.inventory import Fabric as Inventory
from csaud_controller.inventory import leaf_spine
from csaud_controller.policy.congestion import Ecn
from csaud_controller.policy.faults import FaultRule
from csaud_controller.policy.model import Limits
from csaud_sim._core import PlainFabric
from csaud_sim.experiment.model import Experiment
from csaud_sim.fabric import SimulatedFabric
from csaud_sim.transports.network import lay_out

from tests.softswitch.inputs import csa, with_checksum

DATA, ACK = 0, 1
COUNT = 3000
HEADERS = len(csa(payload=0))


def asked(**keys: object) -> Experiment:
    return Experiment.model_validate(
        {
            "name": "twins",
            "fabric": "leaf-spine-2x1x4",
            "traffic": {},
            "policy": {
                "spray": "ecmp",
                "loss_signal": "drop",
                "check_hosts": False,
                **keys.pop("policy", {}),
            },
            **keys,
        }
    )


class Workload:
    """Packets to the hosts of one leaf from those of the other, faster than its link: DATA and control, half
    of them listening to marks."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.src = random.integers(0, 4, COUNT)
        self.dst = random.integers(4, 8, COUNT)
        self.payload = random.integers(40, 4000, COUNT)
        self.control = random.random(COUNT) < 0.1
        self.listens = random.random(COUNT) < 0.5
        self.time = np.cumsum(random.integers(1, 200, COUNT))


@cache
def template(src: str, dst: str, kind: int) -> bytes:
    return csa(payload=0, src=src, dst=dst, kind=kind)


def frame_of(headers: bytes, payload: int, number: int, listens: bool) -> bytes:
    """Switches do not look at the iCRC."""
    content = bytes(payload)
    whole = headers[:74] + number.to_bytes(4, "big") + headers[78:-4] + content + headers[-4:]
    lengths = {"ip_length": len(whole) - 14, "udp_length": len(whole) - 34}
    return with_checksum(whole, **lengths, ecn=1 if listens else 0)


def by_p4(experiment: Experiment, inventory: Inventory, work: Workload) -> list[tuple[int, int, bool, int]]:
    """What comes out: host, number of the packet, marked, when."""
    fabric = SimulatedFabric(inventory, experiment.intent())
    hosts = list(inventory.hosts)
    number = {inventory.attachment(host): rank for rank, host in enumerate(hosts)}
    places = {(end.node, end.port): rank for end, rank in number.items()}
    addresses = [str(inventory.hosts[host].ip) for host in hosts]
    for i in range(COUNT):
        at = inventory.attachment(hosts[work.src[i]])
        kind = ACK if work.control[i] else DATA
        headers = template(addresses[work.src[i]], addresses[work.dst[i]], kind)
        frame = frame_of(headers, int(work.payload[i]), i, bool(work.listens[i]))
        fabric.native.inject(at.node, at.port, frame, int(work.time[i]))
    fabric.native.advance(int(work.time[-1]) + 10**9)
    return [
        (places[switch, port], int.from_bytes(frame[74:78]), frame[15] & 3 == 3, time)
        for switch, port, frame, time in fabric.native.poll()
    ]


def by_plain_switches(
    experiment: Experiment, inventory: Inventory, work: Workload
) -> list[tuple[int, int, bool, int]]:
    fabric = PlainFabric({"ecn": 1.0})
    lay_out(
        fabric,
        inventory,
        experiment.intent(),
        experiment.seed,
        lambda at, link: fabric.add_host(at, rate_bps=link["rate_bps"]),
    )
    for i in range(COUNT):
        fabric.inject(
            int(work.src[i]),
            int(work.dst[i]),
            tag=i,
            bytes=HEADERS + int(work.payload[i]),
            kind=2 if work.control[i] else 1,
            listens=bool(work.listens[i]),
            now=int(work.time[i]),
        )
    fabric.advance(int(work.time[-1]) + 10**9)
    return [(host, tag, marked, time) for host, tag, _, _, marked, time in fabric.take()]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"buffer": 32},
        {"policy": {"limits": Limits(trim_at=20, drop_at=60), "ecn": Ecn(low=5, high=18)}},
        {
            "faults": [
                FaultRule(where="uplinks", probability=0.05),
                FaultRule(where="hosts", probability=0.02),
            ]
        },
        {"faults": [FaultRule(where="all", probability=0.05, kinds=("data",), signalled=True)]},
    ],
    ids=["defaults", "small", "marks", "silent", "signalled"],
)
def test_same_losses_marks_order_and_times(keys: dict[str, object], seed: int) -> None:
    print("seed", seed)
    experiment = asked(seed=seed, link_rate="100Gbit", link_delay="300ns", **keys)
    inventory = experiment.on(leaf_spine(2, 1, 4))
    work = Workload(seed)
    expected, found = by_p4(experiment, inventory, work), by_plain_switches(experiment, inventory, work)
    # Where an arrival and the end of a frame fall on one nanosecond, either may come first.
    assert len(set(found) ^ set(expected)) <= 0.005 * COUNT
    assert COUNT // 4 < len(expected) < COUNT
    assert any(marked for _, _, marked, _ in expected) or "faults" in keys


def test_random_spraying_is_even_and_ecmp_keeps_a_flow_on_its_path() -> None:
    """A link's share of packets is within five deviations of what chance gives."""
    inventory = asked(link_rate="100Gbit").on(leaf_spine(2, 4, 1))
    for spray, flows, shares in (("random", 1, 4), ("ecmp", 1, 1), ("ecmp", 4000, 4)):
        choice = {"ecmp": 0.0, "random": 1.0}[spray]
        fabric = PlainFabric({"spray": choice})
        lay_out(fabric, inventory, asked().intent(), 1, lambda at, link, f=fabric: f.add_host(at, **link))
        for i in range(COUNT):
            fabric.inject(0, 1, tag=i, bytes=64, entropy=i % flows, now=i * 1000)
        fabric.advance(COUNT * 1000 + 10**9)
        assert len(fabric.take()) == COUNT
        hops = [fabric.switch_figures(number)["hops"] for number in range(2, 6)]
        assert sum(count > 0 for count in hops) == shares
        if shares == 4:
            assert max(abs(count - COUNT / 4) for count in hops) < 5 * np.sqrt(COUNT * 3 / 16)
