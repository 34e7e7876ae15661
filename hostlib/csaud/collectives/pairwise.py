"""All-to-all: in step s each rank sends to the rank s places on and receives from the one s places back.

No step waits for another; the order only keeps all ranks from sending to one of them at the same time. All of
them send to a rank, but what each sends is spread over all, so the fan-in is one in full rates.
"""

from collections.abc import Sequence
from itertools import accumulate

from csaud.collectives.schedule import Buffer, Operation, Recv, Region, Schedule, Send, messages


def all_to_all(
    rank: int, size: int, sent: Sequence[int], received: Sequence[int], longest: int, closed: bool = False
) -> Schedule:
    """`sent[r]` elements of SOURCE go to rank r, `received[r]` come from it into DATA; both in rank order.

    What a rank has for itself is not sent. `sent` of one rank must be what the other one has in `received`;
    `closed` where that is not known: what goes to a rank then ends with a message that is not full, so that
    numbers which contradict each other meet in one message.
    """
    out, into = [0, *accumulate(sent)], [0, *accumulate(received)]
    operations: list[Operation] = []
    for step in range(size - 1):
        to, of = (rank + step + 1) % size, (rank - step - 1) % size
        leaving = Region(Buffer.SOURCE, out[to], sent[to])
        coming = Region(Buffer.DATA, into[of], received[of])
        operations += [
            Send(to, step, i, part, fan_in=1) for i, part in enumerate(messages(leaving, longest, closed))
        ]
        operations += [
            Recv(of, step, i, part, fan_in=1) for i, part in enumerate(messages(coming, longest, closed))
        ]
    return Schedule(tuple(operations), scratch=0, steps=size - 1)
