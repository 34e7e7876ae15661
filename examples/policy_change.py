"""Change the fabric's policy in the middle of a job: first packets are sprayed one by one, then go by ECMP.

Rank 0 asks the controller, as anybody could: csaud net exec -- csaud policy set --spray ecmp
"""

import subprocess
import time

import csaud
import numpy as np

REPEATS = 10


def mean_ms(comm: csaud.Communicator) -> float:
    """Of some all-reduces."""
    begun = time.monotonic()
    for _ in range(REPEATS):
        comm.all_reduce(np.ones(100_000, np.float32))
    return (time.monotonic() - begun) / REPEATS * 1e3


with csaud.init() as comm:
    comm.barrier()
    sprayed = mean_ms(comm)
    if comm.rank == 0:  # returns when every switch has it
        subprocess.run(["csaud", "policy", "set", "--spray", "ecmp"], check=True)
    comm.barrier()
    by_ecmp = mean_ms(comm)
    if comm.rank == 0:
        print(f"{sprayed:.1f} ms an all-reduce as the fabric was, {by_ecmp:.1f} ms by ECMP")
        subprocess.run(["csaud", "policy", "set", "--spray", "host"], check=True)
