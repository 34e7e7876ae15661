"""One array from one rank to another: a schedule of sends at the one and of receives at the other."""

from csaud.collectives.schedule import Buffer, Recv, Region, Schedule, Send, messages


def send(dst: int, count: int, longest: int) -> Schedule:
    """`count` elements of SOURCE to rank `dst`."""
    parts = messages(Region(Buffer.SOURCE, 0, count), longest)
    return Schedule(tuple(Send(dst, 0, index, part) for index, part in enumerate(parts)), scratch=0, steps=1)


def receive(src: int, count: int, longest: int) -> Schedule:
    """`count` elements of rank `src` into DATA."""
    parts = messages(Region(Buffer.DATA, 0, count), longest)
    return Schedule(tuple(Recv(src, 0, index, part) for index, part in enumerate(parts)), scratch=0, steps=1)
