"""The soft device without sockets across the P4 fabric: its packets are sprayed, cut, and told of."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from csaud.collectives.reference import reference_sum
from csaud_controller.policy.faults import FaultRule, Faults
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy

from tests.fabric.virtual import DATA
from tests.support import guest_fabric
from tests.support.netns import NetworkNamespace
from tests.support.ranks import Rank, on_host, run_job, totals
from tests.verbs.guest.runner import digest, part_of

pytestmark = [pytest.mark.root, pytest.mark.xdp]

HOSTS = {"h1": "10.0.1.1", "h3": "10.0.2.1", "h4": "10.0.2.2"}
SEED, LENGTH, LOSS = 31, 200_000, 0.05
UPLINKS = range(1, 1 + guest_fabric.SPINES)


@pytest.fixture
def hosts() -> Iterator[tuple[NetworkNamespace, dict[str, NetworkNamespace]]]:
    """The switches' namespace, and one a host whose interface is plugged in there under the host's name."""
    with ExitStack() as stack:
        switches = stack.enter_context(NetworkNamespace())
        made = {name: stack.enter_context(NetworkNamespace()) for name in HOSTS}
        for name, space in made.items():
            with space.entered():
                path = stack.enter_context(Path("/proc/thread-self/ns/net").open())
            switches.ip(
                f"link add {name} mtu 4200 type veth peer name eth0 mtu 4200 "
                f"netns /proc/{os.getpid()}/fd/{path.fileno()}"
            )
        for name, space in made.items():
            plug_in(space, HOSTS[name])
            switches.ip(f"link set {name} up")
        yield switches, made


def plug_in(space: NetworkNamespace, address: str) -> None:
    """The switch sees packets as they are sent: no trains, and checksums that are right."""
    space.ip(f"address add {address}/16 dev eth0")
    space.ip("link set eth0 up")
    with space.entered():
        words = ["rx", "off", "tx", "off", "sg", "off", "tso", "off", "gso", "off", "gro", "off"]
        subprocess.run(["ethtool", "-K", "eth0", *words], check=True, capture_output=True)


@pytest.mark.parametrize("modes", [("xdp", "xdp"), ("xdp", "raw")], ids="-".join)
@pytest.mark.parametrize("icrc", [True, False], ids=["icrc", "no-icrc"])
def test_all_reduce_across_the_fabric(
    hosts: tuple[NetworkNamespace, dict[str, NetworkNamespace]], modes: tuple[str, str], icrc: bool
) -> None:
    """Cut packets come to the RoCE port, or to that of LOSS; each is told of once and goes again."""
    intent = Intent(
        policy=Policy(spray="round-robin", loss_signal="trim", trim_icrc=icrc, seed=SEED),
        faults=Faults(
            rules=(FaultRule(where="uplinks", probability=LOSS, signalled=True, seed=SEED, kinds=("data",)),)
        ),
    )
    switches, spaces = hosts
    with (
        guest_fabric.running(switches, {name: name for name in HOSTS}, intent) as fabric,
        on_host(spaces["h1"]) as one,
        on_host(spaces["h3"]) as two,
    ):
        ranks = [
            Rank(place, HOSTS[name], {"mode": mode})
            for place, name, mode in zip((one, two), ("h1", "h3"), modes, strict=True)
        ]
        results = run_job(ranks, HOSTS["h1"], "all_reduce", {"seed": SEED, "lengths": [LENGTH]})
        cut = fabric.count("CsaudIngress.loss_signal.trimmed", DATA)
        by_uplink = [
            fabric.at_ports("l1", "CsaudEgress.telemetry.egress_kind", DATA, range(port, port + 1))
            for port in UPLINKS
        ]
    expected = digest(reference_sum([part_of(rank, SEED, LENGTH) for rank in range(2)]))
    assert [result["digests"] for result in results] == [[expected]] * 2
    assert min(by_uplink) > 0 and max(by_uplink) - min(by_uplink) <= 0.1 * sum(by_uplink), by_uplink
    total = totals(results)
    figures = {name: count for name, count in total.items() if count}
    assert cut > 0 and total["rx_loss_trimmed"] == total["rx_loss_notices"] == cut, (cut, figures)
    # The books: what left and did not arrive was cut, and nothing else was lost.
    assert total["tx_data"] - total["rx_data"] == cut, (cut, figures)
    assert total["tx_control"] == total["rx_control"], figures
    odd = [count for name, count in total.items() if name.startswith("rx_bad_")]
    assert sum(odd) == total["tx_errors"] == total["rx_queue_drops"] == 0, figures


def test_the_ranks_that_are_left_go_on(hosts: tuple[NetworkNamespace, dict[str, NetworkNamespace]]) -> None:
    """On the same devices, in the next epoch."""
    switches, spaces = hosts
    task = {"seed": SEED, "length": 20_000, "turns": 3, "reform_s": 20.0, "doomed": [1], "stale": 0}
    with ExitStack() as stack:
        stack.enter_context(guest_fabric.running(switches, {name: name for name in HOSTS}, Intent()))
        ranks = [
            Rank(stack.enter_context(on_host(space)), HOSTS[name], {"mode": "xdp", "dead_after": 1.0})
            for name, space in spaces.items()
        ]
        results = run_job(ranks, HOSTS["h1"], "reform", task, doomed={1})
    assert [(result["rank"], result["size"]) for result in results] == [(0, 2), (1, 2)]
    for result in results:
        assert result["lost"] == 1
        odd = [count for name, count in result["stats"].items() if name.startswith("rx_bad_")]
        assert sum(odd) == result["stats"]["tx_errors"] == 0
