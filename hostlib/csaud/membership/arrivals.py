"""All ranks of a generation meet at named points, at rank 0; without I/O."""

from csaud.membership.messages import Arrive, Meet, Release


class Arrivals:
    """This rank's part. Every rank names the same points in the same order.

    Attributes:
        outbox: (rank, message) to be sent, emptied by the caller.
        ended: by point, who was missing; empty where all have come.
    """

    def __init__(self, rank: int, world: int) -> None:
        self.outbox: list[tuple[int, Meet | Arrive | Release]] = []
        self.ended: dict[str, tuple[int, ...]] = {}
        self._rank, self._world = rank, world
        self._arrived: dict[str, set[int]] = {}
        self._waiting: set[str] = set()
        self._left: set[int] = set()
        if rank != 0:
            self.outbox.append((0, Meet()))

    def arrive(self, point: str) -> None:
        """This rank is there, and waits."""
        self._waiting.add(point)
        if self._rank == 0:
            self._arrived.setdefault(point, set()).add(0)
            self._settle(point)
        elif 0 in self._left:
            self.ended[point] = (0,)
        else:
            self.outbox.append((0, Arrive(point)))

    def give_up(self, point: str) -> None:
        """This rank has waited long enough."""
        if point in self.ended:
            return
        self.ended[point] = tuple(self._absent(point)) if self._rank == 0 else (0,)
        if self._rank == 0:
            self._tell(point)

    def receive(self, sender: int, body: Meet | Arrive | Release) -> None:
        """A message of another rank."""
        match body:
            case Arrive() if self._rank == 0:
                self._arrived.setdefault(body.point, set()).add(sender)
                if body.point in self.ended:  # it comes late
                    self.outbox.append((sender, Release(body.point, self.ended[body.point])))
                else:
                    self._settle(body.point)
            case Release() if sender == 0 and self._rank != 0:
                self.ended.setdefault(body.point, body.missing)
            case _:
                self._left.discard(sender)

    def left(self, rank: int) -> None:
        """The connection to a rank is gone."""
        self._left.add(rank)
        for point in list(self._waiting):
            if self._rank == 0:
                self._settle(point)
            elif rank == 0:
                self.ended.setdefault(point, (0,))

    def _absent(self, point: str) -> list[int]:
        arrived = self._arrived.get(point, set())
        return [rank for rank in range(self._world) if rank not in arrived]

    def _settle(self, point: str) -> None:
        """All that can come have come."""
        if point in self.ended or point not in self._waiting:
            return
        missing = self._absent(point)
        if set(missing) <= self._left:
            self.ended[point] = tuple(missing)
            self._tell(point)

    def _tell(self, point: str) -> None:
        message = Release(point, self.ended[point])
        self.outbox += [(rank, message) for rank in range(1, self._world) if rank not in self._left]
