"""One collective of very many ranks in virtual time: what each rank sends, keeps and waits for.

`python -m bench.scale_virtual HOSTS OPERATION BYTES [LATE_US]` is one run, its memory that of its process.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

import numpy as np
from csaud._core import Collective, Execution
from csaud.collectives.plan import compiled
from csaud.collectives.reductions import REDUCTIONS
from csaud.collectives.timing import StepTimes
from csaud.config.settings import Settings
from csaud_controller.inventory import Fabric, leaf_spine
from csaud_controller.policy.intent import Intent
from csaud_sim.experiment.collectives import schedule_of
from csaud_sim.fabric import SimulatedFabric
from csaud_sim.network import Network, Seat

RATE = 100_000_000_000  # bit/s
DELAY = 1_000  # ns
LIMIT = 5_000_000_000  # ns
SPINES = 8
PER_LEAF = 100
DATA, CONTROL = 4, 0  # classes, as the library's
_AGAIN = "rtx_loss", "rtx_gap", "rtx_interval", "rtx_probe"


@dataclass(frozen=True)
class Run:
    """One collective.

    Attributes:
        virtual_us: from its start until the last rank had its result.
        data, control: packets that a rank sent, mean; `most_control`: of the rank that sent most.
        again: packets sent again, all ranks together.
        early_kb: what the rank that has most took for packets whose receives are not posted;
            `early_dropped`: such packets that found no room there.
        endpoint_kb: memory of an endpoint, mean; `address_kb`: of that, what is there of every rank.
        most_kb: the endpoint that has most.
        gigabytes, processor_s: of the simulation.
    """

    hosts: int
    operation: str
    bytes: int
    virtual_us: float
    data: float
    control: float
    most_control: int
    again: int
    early_kb: float
    early_dropped: int
    endpoint_kb: float
    address_kb: float
    most_kb: float
    gigabytes: float
    processor_s: float


def simulate(hosts: int, operation: str, nbytes: int, late_us: int = 0) -> Run:
    """In a process of its own.

    Args:
        nbytes: array of a rank.
        late_us: so much later than the others rank 0 calls the collective.
    """
    argv = [sys.executable, "-m", "bench.scale_virtual", *map(str, (hosts, operation, nbytes, late_us))]
    done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True)
    return Run(**json.loads(done.stdout))


def _fabric(hosts: int) -> Fabric:
    """Leaves of up to 100 hosts under eight spines."""
    leaves = max(2, math.ceil(hosts / PER_LEAF))
    inventory = leaf_spine(leaves, SPINES, math.ceil(hosts / leaves))
    link = inventory.link.model_copy(update={"rate": RATE, "delay": DELAY, "buffer": 1024})
    return inventory.model_copy(update={"link": link})


def _run(hosts: int, operation: str, nbytes: int, late_us: int) -> Run:
    begun = time.process_time()
    inventory = _fabric(hosts)
    names = list(inventory.hosts)[:hosts]
    seats = [Seat(name, Settings(rate_bps=RATE)) for name in names]
    network = Network(SimulatedFabric(inventory, Intent()), seats, payloads=False)
    count, longest = nbytes // 4, network.max_message_bytes // 4
    whole = nbytes * (hosts if operation.startswith("gather.") else 1)
    data, source = network.length_only(whole), network.length_only(nbytes)
    reduces = operation.startswith("all_reduce.")
    runs = []
    for rank in range(hosts):
        schedule = schedule_of(operation, rank, hosts, count, longest)
        native = network.without_reduction(
            Collective(
                compiled(schedule), 4, list(range(hosts)), 0, 0, 0, CONTROL if schedule.barrier else DATA,
                schedule.barrier, REDUCTIONS["sum"].native if reduces else "", "float32" if reduces else "",
                StepTimes(),
            )
        )  # fmt: skip
        room = network.length_only(schedule.scratch * 4) if schedule.scratch else None
        runs.append(Execution(native, 0, data, source, room))
        network.start(rank, runs[-1], at=late_us * 1000 if rank == 0 else 0)
    network.run_all(LIMIT)
    if not all(run.ended for run in runs):
        raise RuntimeError(f"{operation} among {hosts} ranks was not over after {LIMIT / 1e9:g} s")
    stats = [network.stats(rank) for rank in range(hosts)]
    memory = [network.memory(rank) for rank in range(hosts)]
    control = np.array([each["tx_control"] for each in stats])
    kept = np.array([sum(each.values()) for each in memory]) / 1e3
    return Run(
        hosts=hosts,
        operation=operation,
        bytes=nbytes,
        virtual_us=max(run.ended_ns for run in runs) / 1e3,
        data=float(np.mean([each["tx_data"] for each in stats])),
        control=float(control.mean()),
        most_control=int(control.max()),
        again=sum(each[name] for each in stats for name in _AGAIN),
        early_kb=max(each["early"] for each in memory) / 1e3,
        early_dropped=sum(each["rx_early_dropped"] for each in stats),
        endpoint_kb=float(kept.mean()),
        address_kb=float(np.mean([each["peers"] for each in memory])) / 1e3,
        most_kb=float(kept.max()),
        gigabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        processor_s=time.process_time() - begun,
    )


if __name__ == "__main__":
    hosts_, operation_, bytes_, late_ = sys.argv[1:]
    json.dump(asdict(_run(int(hosts_), operation_, int(bytes_), int(late_))), sys.stdout)
