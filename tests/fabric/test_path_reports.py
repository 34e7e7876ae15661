"""Ranks of a real job, and a real controller: what they sent is seen there, and what it denies they leave."""

import threading
import time
from typing import Any

import csaud
import numpy as np
from csaud_controller.control.client import ask, wait_served

from tests.controller.soft import PATIENCE_S, controller_process, run_directory
from tests.hostlib.jobs import free_port, loopback_address

PATHS = 4


def test_a_job_tells_of_its_paths_and_leaves_those_that_are_denied() -> None:
    first = loopback_address()
    addresses = [first, first.removesuffix("1") + "2"]
    port = free_port(first)
    with run_directory() as run, controller_process(run):
        wait_served(run.control_socket, PATIENCE_S)
        ask(run.control_socket, "policy.set", policy={"denied_paths": [2]}, timeout_s=0.1)
        denied, told = threading.Barrier(2), threading.Barrier(2)
        never = threading.Event()
        stats: dict[int, list[dict[str, Any]]] = {0: [], 1: []}

        def work(rank: int) -> None:
            environ = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": first, "MASTER_PORT": str(port)}
            with csaud.init(
                environ=environ, address=addresses[rank], mode="udp", paths=PATHS,
                controller=f"unix:{run.control_socket}", report_interval=0.05,
            ) as comm:  # fmt: skip
                comm.barrier()
                deadline = time.monotonic() + PATIENCE_S
                while not comm.denied_paths:
                    assert time.monotonic() < deadline
                    never.wait(0.01)
                denied.wait(PATIENCE_S)
                stats[rank].append(comm.stats())
                comm.all_reduce(np.ones(100_000, np.float32))
                stats[rank].append(comm.stats())
                told.wait(PATIENCE_S)

        threads = [threading.Thread(target=work, args=(rank,)) for rank in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for before, after in stats.values():
            sent = [b - a for a, b in zip(before["tx_path"], after["tx_path"], strict=True)]
            assert sent[2] == 0
            assert all(sent[path] > 0 for path in (0, 1, 3))
        hosts = ask(run.control_socket, "paths.stats")["hosts"]
        for rank, address in enumerate(addresses):
            final = {path: total["tx"] for path, total in hosts[address].items()}
            assert final["0"] >= stats[rank][1]["tx_path"][0], "the last report came when the job ended"
