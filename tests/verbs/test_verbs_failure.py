"""RDMA devices that fail, or are removed, in the middle of a job: each rank learns it, and none hangs."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import rxe
from tests.support.ranks import InGuest, Rank, run_job

pytestmark = [pytest.mark.qemu, pytest.mark.root, pytest.mark.thorough]

HERE = Path(__file__).parent / "guest"
TASK = {"seed": 71, "length": 5_000}
REPORT = "/tmp/csaud-report"
CQ_ERR, QP_FATAL, DEVICE_FATAL = 0, 1, 8  # enum ibv_event_type


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory, rxe_guest: rxe.RxeGuest) -> dict[str, str]:
    """Variables with which a rank's device reports what stands in the file REPORT."""
    made = rxe.ROOT / "build" / "qemu" / "reports.so"
    libraries = ["-Wl,--no-as-needed", "-l:libibverbs.so.1"]
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", made, HERE / "reports.c", *libraries], check=True)
    return {"CSAUD_LIBIBVERBS": str(made), "REPORT_FILE": REPORT}


def run(rxe_guest: rxe.RxeGuest, reports: dict[str, str], event: int, turns: int) -> list[dict[str, Any]]:
    """Two ranks, of which rank 1's device reports something."""
    place = InGuest(rxe_guest.guest)
    settings = {"device": "verbs", "dead_after": 4.0}
    ranks = [Rank(place, rxe.GUEST.ipv4, settings), Rank(place, rxe.GUEST.ipv4, settings, reports)]
    command = ["sh", "-c", f"echo {event} >{REPORT}.new; mv {REPORT}.new {REPORT}"]
    return run_job(ranks, rxe.GUEST.ipv4, "broken", {**TASK, "turns": turns, "at": 1, "command": command})


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (DEVICE_FATAL, "RDMA device rxe0 has failed"),
        (CQ_ERR, "a completion queue of RDMA device rxe0 has overrun"),
    ],
    ids=["device", "completion-queue"],
)
def test_a_device_that_reports_its_end_ends_its_rank(
    rxe_guest: rxe.RxeGuest, reports: dict[str, str], event: int, why: str
) -> None:
    other, failed = run(rxe_guest, reports, event, turns=100_000)
    assert (failed["ended"], failed["why"]) == ("DeviceError", f"the device has failed: {why}")
    assert other["ended"] == "PeerUnreachable" and "rank 1 is unreachable" in other["why"]


def test_a_queue_pair_that_is_reported_broken_is_made_as_new(
    rxe_guest: rxe.RxeGuest, reports: dict[str, str]
) -> None:
    results = run(rxe_guest, reports, QP_FATAL, turns=40)
    assert [result.get("why") for result in results] == [None, None]
    assert results[1]["stats"]["device_restarts"] == results[1]["stats"]["device_reports"] == 1


@pytest.fixture
def removable(rxe_guest: rxe.RxeGuest) -> Iterator[None]:
    """Two more RDMA devices in the guest."""
    rxe.shell(rxe_guest.guest, f"sh {HERE}/veths.sh up 0%")
    yield
    rxe.shell(rxe_guest.guest, "rdma link add rv0 type rxe netdev v0")
    rxe.shell(rxe_guest.guest, f"sh {HERE}/veths.sh down")


def test_ranks_whose_device_is_removed_say_so(rxe_guest: rxe.RxeGuest, removable: None) -> None:
    """The kernel waits with its removal until nobody has it open: the ranks let go of it."""
    place = InGuest(rxe_guest.guest)
    settings = {"device": "verbs", "dead_after": 4.0}
    ranks = [
        Rank(place, address, {**settings, "verbs_device": name})
        for name, address in (("rv0", "10.9.0.1"), ("rv1", "10.9.0.2"), ("rv0", "10.9.0.1"))
    ]
    command = ["rdma", "link", "delete", "rv0"]
    arguments = {**TASK, "turns": 100_000, "at": 1, "command": command}
    results = run_job(ranks, "127.0.0.1", "broken", arguments)
    for rank in (0, 2):
        assert results[rank]["ended"] == "DeviceError"
        assert results[rank]["why"] == "the device has failed: RDMA device rv0 was removed"
    assert results[1]["ended"] == "PeerUnreachable"
    shown = rxe.shell(rxe_guest.guest, "while pidof rdma >/dev/null; do :; done; rdma link")
    assert "rv0" not in shown and "rv1" in shown
