"""A collective of one's own: each rank averages its values with those of its neighbours in a ring.

Decentralised training does so. Made of sends and receives that go on while the next ones are started.
"""

import csaud
import numpy as np


def neighbour_average(comm: csaud.Communicator, values: np.ndarray) -> np.ndarray:
    """The mean of this rank's array and of those of its two neighbours; every rank calls it."""
    neighbours = [(comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size]
    received = [np.empty_like(values) for _ in neighbours]
    handles = [comm.recv(array, src, wait=False) for array, src in zip(received, neighbours, strict=True)]
    handles += [comm.send(values, dst, wait=False) for dst in neighbours]
    for handle in handles:
        handle.wait()
    return (values + received[0] + received[1]) / 3


with csaud.init() as comm:
    values = np.full(100_000, float(comm.rank))
    rounds = 0
    while True:
        lowest, highest = values[:1].copy(), values[:1].copy()
        comm.all_reduce(lowest, "min")
        comm.all_reduce(highest, "max")
        if highest[0] - lowest[0] < 0.01:
            break
        values = neighbour_average(comm, values)
        rounds += 1
    print(f"all ranks are at {values[0]:.2f} after {rounds} rounds with neighbours")
