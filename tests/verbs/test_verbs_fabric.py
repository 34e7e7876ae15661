"""Two guests' RDMA devices across the P4 fabric: their packets are sprayed, cut, and told of."""

from collections.abc import Iterator

import pytest
from csaud.collectives.reference import reference_sum
from csaud_controller.policy.faults import FaultRule, Faults
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_lab.guests import debs, initramfs
from csaud_lab.guests.guest import Guest, Settings

from tests.fabric.virtual import DATA
from tests.support import guest_fabric, rxe
from tests.support.guest_wires import Station, TapPort
from tests.support.ranks import InGuest, Rank, run_job, totals
from tests.verbs.guest.runner import digest, part_of

pytestmark = [pytest.mark.qemu, pytest.mark.root, pytest.mark.thorough]

SECOND = Station("eth0", "02:00:0a:00:02:01", "10.0.2.1", "fd00:a00:2::1")  # h3; the first guest is h2
TAP = "rxe-second"
SEED, LENGTH = 31, 200_000  # floats: 100 packets each way a step
LOSS = 0.05
UPLINKS = range(1, 1 + guest_fabric.SPINES)
VERBS = {"device": "verbs"}


def know(guest: Guest, other: Station) -> None:
    """The way to another guest, through a fabric in which everyone is on one link."""
    for address in other.addresses:
        rxe.shell(
            guest,
            f"ip route replace {address} dev eth0; "
            f"ip neighbour replace {address} lladdr {other.mac} dev eth0 nud permanent",
        )


@pytest.fixture(scope="module")
def guests(rxe_guest: rxe.RxeGuest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[InGuest]]:
    """The first guest, and a second one on a tap beside the first one's."""
    packages = debs.fetch(rxe.CACHE)
    port = TapPort(rxe_guest.network.namespace, TAP, SECOND, mtu=rxe.MTU)
    settings = Settings(rxe.AGENT, tmp_path_factory.mktemp("second"))
    try:
        with Guest(packages, initramfs.build(packages), [port.nic], settings) as second:
            rxe.connect(second, SECOND, rxe.GUEST)
            know(second, rxe.GUEST)
            know(rxe_guest.guest, SECOND)
            yield [InGuest(rxe_guest.guest), InGuest(second)]
    finally:
        port.close()


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize(
    ("signal", "icrc", "each"),
    [
        ("trim", True, 1),
        ("bounce", True, 1),
        ("trim", False, 1),
        ("trim", False, 2),
        ("bounce", False, 2),
    ],
    ids=["trim", "bounce", "no-icrc", "no-icrc-shared", "bounce-no-icrc-shared"],
)
def test_all_reduce_across_the_fabric(
    rxe_guest: rxe.RxeGuest,
    guests: list[InGuest],
    signal: str,
    icrc: bool,
    each: int,
    family: str,
) -> None:
    """Cut packets of the second form complete on the queue pair; the first form comes to a socket, also where
    `each` guest has several ranks at its one address."""
    intent = Intent(
        policy=Policy(spray="round-robin", loss_signal=signal, trim_icrc=icrc, seed=SEED),
        faults=Faults(
            rules=(FaultRule(where="uplinks", probability=LOSS, signalled=True, seed=SEED, kinds=("data",)),)
        ),
    )
    taps = {"h2": rxe.HOST.interface, "h3": TAP}
    master, other = rxe.GUEST.address(family), SECOND.address(family)
    ranks = each * [Rank(guests[0], master, VERBS), Rank(guests[1], other, VERBS)]
    with guest_fabric.running(rxe_guest.network.namespace, taps, intent) as fabric:
        results = run_job(ranks, master, "all_reduce", {"seed": SEED, "lengths": [LENGTH]})
        cut = fabric.count(f"CsaudIngress.loss_signal.{'bounced' if signal == 'bounce' else 'trimmed'}", DATA)
        by_uplink = [
            fabric.at_ports("l1", "CsaudEgress.telemetry.egress_kind", DATA, range(port, port + 1))
            for port in UPLINKS
        ]
    expected = digest(reference_sum([part_of(rank, SEED, LENGTH) for rank in range(len(ranks))]))
    assert [result["digests"] for result in results] == [[expected]] * len(ranks)
    assert min(by_uplink) > 0 and max(by_uplink) - min(by_uplink) <= 0.1 * sum(by_uplink), by_uplink
    total = totals(results)
    figures = {name: count for name, count in total.items() if count}
    told = "rx_loss_bounced" if signal == "bounce" else "rx_loss_trimmed"
    # Each copy that was cut was told of once, to the right end, and went again because of that.
    assert min(result["stats"][told] for result in results) > 0, figures
    assert cut > 0 and total[told] == total["rx_loss_notices"] == cut, (cut, figures)
    assert total["rtx_loss"] > 0, figures
    assert total["tx_data"] - total["rx_data"] >= cut, (cut, figures)
    assert sum(count for name, count in total.items() if name.startswith("rx_bad_")) == 0, figures
