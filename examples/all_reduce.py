"""Sum gradients of all ranks, again and again.

csaud net job -- python examples/all_reduce.py --elements 1000000
"""

import argparse
import time

import csaud
import numpy as np

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--elements", type=int, default=250_000, help="float32, of each rank")
parser.add_argument("--repeats", type=int, default=10)
asked = parser.parse_args()

with csaud.init() as comm:
    random = np.random.default_rng(comm.rank)
    gradient = random.standard_normal(asked.elements, np.float32)
    begun = time.monotonic()
    for _ in range(asked.repeats):
        total = comm.all_reduce(gradient.copy())  # in place; the same bits on every rank
    took = (time.monotonic() - begun) / asked.repeats

    everyones = comm.all_gather(total[:1000])
    assert all(np.array_equal(each, everyones[0]) for each in everyones)
    stats = comm.stats()
    again = sum(stats[f"rtx_{by}"] for by in ("loss", "gap", "interval", "probe"))
    print(f"{took * 1e3:.1f} ms an all-reduce of {gradient.nbytes / 1e6:.1f} MB", end=", ")
    print(f"{stats['tx_data']:,} packets sent, {again:,} of them again")
