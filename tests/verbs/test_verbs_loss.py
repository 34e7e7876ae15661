"""One percent of the packets lost by the guest's netem: a stream of ours, and of RC by perftest beside it;
and all-reduces, whose losses parity gives back.

All must complete; how fast they were is written to build/verbs, and asserted nowhere.
"""

from collections.abc import Callable, Iterator

import pytest
from csaud.collectives.reference import reference_sum

from tests.support import rxe
from tests.support.ranks import InGuest, Rank, run_job
from tests.verbs.compare import COUNT, MESSAGE, RECEIVER, SEED, SENDER, SETUP, dropped, ours, reliable
from tests.verbs.guest.runner import digest, part_of

pytestmark = [pytest.mark.qemu, pytest.mark.root, pytest.mark.thorough]

LOSS = "1%"
RETRANSMISSIONS = ("rtx_loss", "rtx_gap", "rtx_interval", "rtx_probe")


@pytest.fixture(scope="module")
def lossy(rxe_guest: rxe.RxeGuest) -> Iterator[Callable[[], int]]:
    """Two more RDMA devices in the guest, joined by a lossy link; the function counts what it lost."""
    rxe.shell(rxe_guest.guest, f"sh {SETUP} up {LOSS}")

    yield lambda: dropped(rxe_guest)
    rxe.shell(rxe_guest.guest, f"sh {SETUP} down")


def test_our_stream_completes_under_loss(
    rxe_guest: rxe.RxeGuest, lossy: Callable[[], int], figures: dict[str, object]
) -> None:
    before = lossy()
    stream = ours(rxe_guest)
    results = stream["results"]
    lost = lossy() - before
    expected = [digest(part_of(0, SEED + index, MESSAGE // 4)) for index in range(COUNT)]
    assert [result["digests"] for result in results] == [expected] * 2
    stats = results[0]["stats"]
    resent = {name: count for name, count in stats.items() if name.startswith("rtx_") and count}
    assert lost > 0 and resent, (lost, stats)
    figures["lost"] = lost
    figures["resent"] = resent
    figures["goodput_MBps"] = round(stream["goodput_MBps"], 2)


@pytest.mark.parametrize("loss", ["1%", "gemodel 1% 30%"])
def test_parity_gives_back_what_is_lost_by_itself_and_in_bursts(
    rxe_guest: rxe.RxeGuest, lossy: Callable[[], int], figures: dict[str, object], loss: str
) -> None:
    for end in (0, 1):
        rxe.shell(rxe_guest.guest, f"tc qdisc change dev v{end} root netem loss {loss} limit 10000")
    lengths = [200_000] * 12
    place = InGuest(rxe_guest.guest)
    for parity in (True, False):
        before = lossy()
        settings = {"device": "verbs", "parity": parity}
        ranks = [
            Rank(place, address, {**settings, "verbs_device": name}) for name, address in (SENDER, RECEIVER)
        ]
        results = run_job(ranks, "127.0.0.1", "all_reduce", {"seed": SEED, "lengths": lengths})
        for index, length in enumerate(lengths):
            expected = digest(reference_sum([part_of(rank, SEED + index, length) for rank in range(2)]))
            assert [result["digests"][index] for result in results] == [expected] * 2
        stats = {
            name: sum(result["stats"][name] for result in results)
            for name in ("tx_data", "tx_parity", "rx_by_parity", *RETRANSMISSIONS)
        }
        assert lossy() > before
        assert (stats["rx_by_parity"] > 0) == (stats["tx_parity"] > 0) == parity, stats
        seconds = max(result["seconds"] for result in results)
        figures["with" if parity else "without"] = {**stats, "seconds": round(seconds, 3)}


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
    before = lossy()
    goodput = reliable(rxe_guest)
    lost = lossy() - before
    assert lost > 0
    figures["lost"] = lost
    figures["goodput_MBps"] = round(goodput, 2)
