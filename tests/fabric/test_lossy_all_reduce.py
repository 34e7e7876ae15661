"""Eight ranks over 4 leaves x 4 spines: whatever the fabric loses, every sum has the bits it has without
loss, and the switches' counters and the hosts' agree on every single packet. Real protocol, real P4 program,
virtual time."""

import itertools
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from csaud.collectives.ring import reference_sum
from csaud.testing import assert_bit_equal

from tests.fabric.virtual import CTRL, DATA, SPREAD, VirtualRun, intent
from tests.support.marks import some, thorough

pytestmark = pytest.mark.xdist_group("lossy all-reduces")  # the runs are kept for the last test

SEED = 20
# elements of float32: times. 4 KB, 1 MB and 8 MB among them; 17 or 200 in all
WORK = {
    "some": {1: 5, 1001: 5, 1024: 3, 262_144: 3, 2_097_152: 1},
    "many": {1: 57, 1001: 57, 1024: 57, 262_144: 26, 2_097_152: 3},
}
DETECTORS = ("rtx_loss", "rtx_gap", "rtx_interval", "rtx_probe")
IN_MAKE_TEST = [
    ("random", 0, "trim"),
    ("random", 0.01, "drop"),
    ("entropy", 0.01, "trim"),
    ("entropy", 0.05, "drop"),
]
ALL = list(itertools.product(("entropy", "random"), (0, 0.01, 0.05), ("drop", "trim")))
works = pytest.mark.parametrize("work", ["some", thorough("many")])


@dataclass(frozen=True)
class Books:
    """What was counted by the end of a run; the fabric itself, 150 MB of it, is not kept."""

    hosts: dict[str, int]
    injected_data: int
    injected_control: int
    trimmed: int
    control_dropped: int
    hidden_drops: int


PARITY = ("tx_parity", "rx_parity", "rx_by_parity")
HOSTS = (
    *(*DETECTORS, *PARITY, "tx_data", "rx_data", "rx_duplicates"),
    *("rx_loss_notices", "tx_control", "rx_control"),
)


@cache
def lossy_run(spray: str, loss: float, signal: str, work: str) -> Books:
    """A job's all-reduces, each compared with the sum in one process."""
    print(f"seed {SEED}")
    # An entropy hash keeps a path in order, so that a gap on it is a loss; random spraying does not.
    run = VirtualRun(intent(spray, loss, signal, SEED), ordered=spray == "entropy")
    random = np.random.default_rng(SEED)
    longest = random.standard_normal((len(SPREAD), max(WORK[work])), dtype=np.float32)
    for count, times in WORK[work].items():
        inputs = [row[:count] for row in longest]
        expected = reference_sum(inputs)
        for turn in range(times):
            arrays = [array.copy() for array in inputs]
            run.all_reduce(arrays)
            for rank, array in enumerate(arrays):
                assert_bit_equal(array, expected, f"{count} elements, turn {turn}, rank {rank}")
    run.job.settle()
    return Books(
        hosts={counter: run.job.total(counter) for counter in HOSTS},
        injected_data=run.count("fault.injected", DATA),
        injected_control=run.count("fault.injected", CTRL),
        trimmed=run.count("loss_signal.trimmed", DATA),
        control_dropped=run.count("loss_signal.congestion_dropped", CTRL),
        hidden_drops=run.hidden_drops(),
    )


@works
@pytest.mark.parametrize(("spray", "loss", "signal"), some(ALL, IN_MAKE_TEST))
def test_every_sum_is_exact_and_the_books_balance(spray: str, loss: float, signal: str, work: str) -> None:
    books = lossy_run(spray, loss, signal, work)
    hosts = books.hosts
    lost = books.injected_data + books.trimmed
    retransmitted = sum(hosts[detector] for detector in DETECTORS)
    parity_lost = hosts["tx_parity"] - hosts["rx_parity"]  # to switches it is DATA
    assert hosts["tx_data"] - hosts["rx_data"] + parity_lost == lost
    assert retransmitted + hosts["rx_by_parity"] - hosts["rx_duplicates"] + parity_lost == lost
    assert hosts["rx_loss_notices"] == books.trimmed
    assert hosts["tx_control"] - hosts["rx_control"] == books.injected_control + books.control_dropped
    assert books.hidden_drops == 0
    injects, trims = loss > 0 and signal == "drop", loss > 0 and signal == "trim"
    assert (books.injected_data > 0, books.trimmed > 0) == (injects, trims)
    if not loss:
        assert retransmitted == 0
    if signal == "trim":
        assert hosts["tx_parity"] == 0, "losses that are told need none"


@pytest.mark.thorough
@works
def test_each_detector_found_losses(work: str) -> None:
    runs = [lossy_run(*case, work) for case in ALL]
    found = {detector: sum(run.hosts[detector] for run in runs) for detector in DETECTORS}
    assert min(found.values()) >= 20, found


def test_a_run_is_a_function_of_its_seed() -> None:
    def fingerprint(seed: int) -> tuple[int, int, int]:
        run = VirtualRun(intent("random", 0.05, "drop", seed))
        run.all_reduce([np.ones(50_000, np.float32) for _ in range(8)])
        return run.job.network.now, run.job.total("tx_data"), run.job.total("rtx_interval")

    assert fingerprint(3) == fingerprint(3)
    assert fingerprint(3) != fingerprint(4)
