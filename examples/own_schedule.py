"""A collective of one's own as a schedule: each rank's array becomes the sum of its own and its neighbours'.

The schedule is made in Python, once; the library's native executor runs it, without a line of Python in
between.
"""

import csaud
import numpy as np
from csaud.schedules import Buffer, Operation, Recv, Reduce, Region, Schedule, Send, check, messages, register


def neighbour_sum(rank: int, size: int, count: int, longest: int) -> Schedule:
    """In a ring: DATA = (DATA + that of the left neighbour) + that of the right one."""
    left, right = (rank - 1) % size, (rank + 1) % size
    operations: list[Operation] = []
    mine = list(messages(Region(Buffer.DATA, 0, count), longest))
    for chunk, part in enumerate(mine):
        # Two steps, so that messages have different names where both neighbours are the same rank.
        operations.append(Send(right, 0, chunk, part))
        operations.append(Send(left, 1, chunk, part))
        sent = (len(operations) - 2, len(operations) - 1)
        arrived = [Region(Buffer.SCRATCH, side * count + part.start, part.count) for side in range(2)]
        operations.append(Recv(left, 0, chunk, arrived[0]))
        operations.append(Recv(right, 1, chunk, arrived[1]))
        # Not before our own share has arrived over there: it lies where the sum goes.
        operations.append(Reduce(part, arrived[0], part, (*sent, len(operations) - 2)))
        operations.append(Reduce(part, arrived[1], part, (len(operations) - 1, len(operations) - 2)))
    return Schedule(tuple(operations), scratch=2 * count, steps=2)


register("neighbour_sum", neighbour_sum)

with csaud.init() as comm:
    if comm.rank == 0:
        check("neighbour_sum", comm.size, 100_000)  # every message that is sent is expected, and no other
    values = np.full(100_000, float(comm.rank))
    handle = comm.run("neighbour_sum", values, op="sum", wait=False)
    handle.wait()
    expected = comm.rank + (comm.rank - 1) % comm.size + (comm.rank + 1) % comm.size
    assert (values == expected).all()
    took = comm.collective_stats()["neighbour_sum"]
    print(f"rank {comm.rank} and its neighbours make {values[0]:g}; {took.calls} call of {took.nbytes} bytes")
