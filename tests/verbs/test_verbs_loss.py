"""One percent of the packets lost by the guest's netem: a stream of ours, and of RC by perftest beside it.

Both must complete; how fast they were is written to build/verbs, and asserted nowhere.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import rxe
from tests.support.ranks import InGuest, Rank, run_job
from tests.verbs.guest.runner import digest, part_of

pytestmark = [pytest.mark.qemu, pytest.mark.root]

SETUP = Path(__file__).parent / "guest" / "veths.sh"
LOSS = "1%"
SEED = 41
MESSAGE, COUNT = 819_200, 8  # bytes, 200 packets; messages
SENDER, RECEIVER = ("rv0", "10.9.0.1"), ("rv1", "10.9.0.2")


@pytest.fixture(scope="module")
def lossy(rxe_guest: rxe.RxeGuest) -> Iterator[Callable[[], int]]:
    """Two more RDMA devices in the guest, joined by a lossy link; the function counts what it lost."""
    rxe.shell(rxe_guest.guest, f"sh {SETUP} up {LOSS}")

    def dropped() -> int:
        shown = rxe.shell(rxe_guest.guest, "tc -s qdisc show dev v0; tc -s qdisc show dev v1")
        return sum(int(count) for count in re.findall(r"dropped (\d+)", shown))

    yield dropped
    rxe.shell(rxe_guest.guest, f"sh {SETUP} down")


def test_our_stream_completes_under_loss(
    rxe_guest: rxe.RxeGuest, lossy: Callable[[], int], figures: dict[str, object]
) -> None:
    place = InGuest(rxe_guest.guest)
    ranks = [
        Rank(place, address, {"device": "verbs", "verbs_device": name})
        for name, address in (SENDER, RECEIVER)
    ]
    before = lossy()
    results = run_job(ranks, "127.0.0.1", "stream", {"seed": SEED, "length": MESSAGE // 4, "count": COUNT})
    lost = lossy() - before
    expected = [digest(part_of(0, SEED + index, MESSAGE // 4)) for index in range(COUNT)]
    assert [result["digests"] for result in results] == [expected] * 2
    stats = results[0]["stats"]
    resent = {name: count for name, count in stats.items() if name.startswith("rtx_") and count}
    assert lost > 0 and resent, (lost, stats)
    figures["lost"] = lost
    figures["resent"] = resent
    figures["goodput_MBps"] = round(MESSAGE * COUNT / results[0]["seconds"] / 1e6, 2)


def test_a_link_that_goes_down_and_up_only_costs_packets(
    rxe_guest: rxe.RxeGuest, lossy: Callable[[], int], figures: dict[str, object]
) -> None:
    """The driver puts a queue pair that cannot send into its error state, where it would stay."""
    place = InGuest(rxe_guest.guest)
    ranks = [
        Rank(place, address, {"device": "verbs", "verbs_device": name})
        for name, address in (SENDER, RECEIVER)
    ]
    arguments = {"seed": SEED, "length": MESSAGE // 4, "count": COUNT, "interface": "v0"}
    results = run_job(ranks, "127.0.0.1", "flap", arguments)
    expected = [digest(part_of(0, SEED + index, MESSAGE // 4)) for index in range(COUNT)]
    assert [result["digests"] for result in results] == [expected] * 2
    figures["refused"] = results[0]["stats"]["tx_errors"]
    assert results[0]["stats"]["tx_errors"] > 0
    assert results[0]["stats"]["device_reports"] >= 2  # the port went, the port came


def test_reliable_connection_completes_under_the_same_loss(
    rxe_guest: rxe.RxeGuest, lossy: Callable[[], int], figures: dict[str, object]
) -> None:
    """perftest's own two processes, the kernel's RC between them: as many bytes, the same device and link."""
    words = f"ib_send_bw -x 1 -c RC -s {MESSAGE} -n {COUNT} -m 4096 -F"
    before = lossy()
    shown = rxe.shell(
        rxe_guest.guest,
        f"{words} -d {RECEIVER[0]} >/tmp/server.log 2>&1 & "
        f"until ss -ltn | grep -q :18515; do :; done; "
        f"{words} -d {SENDER[0]} 127.0.0.1; wait $!",
        timeout_s=120,
    )
    [(_, average)] = re.findall(rf"^ {MESSAGE} +{COUNT} +([\d.]+) +([\d.]+)", shown, re.MULTILINE)
    lost = lossy() - before
    assert lost > 0
    figures["lost"] = lost
    figures["goodput_MBps"] = round(float(average) * 2**20 / 1e6, 2)
