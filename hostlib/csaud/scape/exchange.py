"""What a method of training asks of a group, and who does it: a csaud group, or all ranks in one process."""

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from csaud.collectives.reference import reference_sum
from csaud.errors import MismatchError
from csaud.groups.group import Group

Array = npt.NDArray[Any]


class Ask(NamedTuple):
    """A collective that a rank calls.

    Attributes:
        name: of a method of Group: "all_reduce", "sparse_all_reduce" (both as averages), "all_gather",
            "all_to_all", "all_gather_mask".
        arrays: its arguments.
        late: go on meanwhile; the answer is a handle then, to be waited for before the arrays are touched.
    """

    name: str
    arrays: tuple[Array, ...]
    late: bool = False


Asking = Generator[Ask, Any, None]
"""A rank's step: yields what it asks for, and is sent what `Group` returns for it."""


class Late(Protocol):
    """A collective under way."""

    def wait(self) -> Any: ...


class Traffic:
    """Bytes of payload that a rank sends, by collective, as ring algorithms send them; without headers and
    what is sent again."""

    def __init__(self) -> None:
        self.sent: dict[str, float] = {}

    def count(self, ask: Ask, size: int) -> None:
        """A call by one of `size` ranks."""
        self.sent[ask.name] = self.sent.get(ask.name, 0.0) + payload(ask, size)

    @property
    def total(self) -> float:
        """Of all collectives."""
        return sum(self.sent.values())


def payload(ask: Ask, size: int) -> float:
    """Bytes that one of `size` ranks sends for a call, in the mean over the ranks."""
    array = ask.arrays[0]
    if ask.name == "all_reduce":
        return 2 * (size - 1) / size * array.nbytes
    if ask.name == "sparse_all_reduce":
        return 2 * (size - 1) / size * int(ask.arrays[1].sum()) * array.itemsize
    if ask.name == "all_gather_mask":
        return (size - 1) / size * array.size / 8
    if ask.name == "all_to_all":
        return (size - 1) / size * array.nbytes
    return (size - 1) * array.nbytes  # all_gather


def over(group: Group, asking: Asking, traffic: Traffic | None = None) -> None:
    """Do one rank's step over a group, whose other ranks do theirs."""
    answer = None
    while True:
        try:
            ask = asking.send(answer)
        except StopIteration:
            return
        if traffic is not None:
            traffic.count(ask, group.size)
        reduces = ["average"] if ask.name.endswith("all_reduce") else []
        answer = getattr(group, ask.name)(*ask.arrays, *reduces, **({"wait": False} if ask.late else {}))


def lockstep(steps: Sequence[Asking], traffic: Traffic | None = None) -> None:
    """Do the steps of all ranks in this process, with the bits that a group gives.

    Raises:
        MismatchError: they ask for different collectives.
    """
    answers: list[Any] = [None] * len(steps)
    while True:
        asks = [_next(asking, answer) for asking, answer in zip(steps, answers, strict=True)]
        names = {None if ask is None else ask.name for ask in asks}
        if names == {None}:
            return
        if len(names) > 1:
            raise MismatchError(f"ranks ask for different collectives: {sorted(map(str, names))}")
        known = [ask for ask in asks if ask is not None]
        if traffic is not None:
            traffic.count(known[0], len(steps))
        found = _COLLECTIVES[known[0].name](known)
        answers = [_Ended() if known[0].late else answer for answer in found]


class _Ended:
    """A handle of what has ended."""

    def wait(self) -> bool:
        return True


def _next(asking: Asking, answer: Any) -> Ask | None:
    try:
        return asking.send(answer)
    except StopIteration:
        return None


def _average(arrays: Sequence[Array]) -> Array:
    total = reference_sum(arrays)
    if total.itemsize >= 4:
        return np.asarray(total / total.dtype.type(len(arrays)))
    return np.asarray((total.astype(np.float32) / np.float32(len(arrays))).astype(total.dtype))


def _all_reduce(asks: Sequence[Ask]) -> list[Any]:
    mean = _average([ask.arrays[0] for ask in asks])
    for ask in asks:
        ask.arrays[0][...] = mean
    return [ask.arrays[0] for ask in asks]


def _sparse_all_reduce(asks: Sequence[Ask]) -> list[Any]:
    mask = asks[0].arrays[1]
    if any(not np.array_equal(mask, ask.arrays[1]) for ask in asks):
        raise MismatchError("masks of sparse_all_reduce differ between ranks")
    places = np.flatnonzero(mask)
    mean = _average([ask.arrays[0].reshape(-1)[places] for ask in asks])
    for ask in asks:
        ask.arrays[0].reshape(-1)[places] = mean  # contiguous: the same memory
    return [ask.arrays[0] for ask in asks]


def _all_gather_mask(asks: Sequence[Ask]) -> list[Any]:
    parts = [np.array_split(ask.arrays[0], len(asks))[rank] for rank, ask in enumerate(asks)]
    whole = np.concatenate(parts)
    for ask in asks:
        ask.arrays[0][...] = whole
    return [ask.arrays[0] for ask in asks]


def _all_gather(asks: Sequence[Ask]) -> list[Any]:
    whole = np.stack([ask.arrays[0] for ask in asks])
    return [whole for _ in asks]


def _all_to_all(asks: Sequence[Ask]) -> list[Any]:
    return [np.stack([ask.arrays[0][rank] for ask in asks]) for rank in range(len(asks))]


_COLLECTIVES = {
    "all_reduce": _all_reduce,
    "sparse_all_reduce": _sparse_all_reduce,
    "all_gather_mask": _all_gather_mask,
    "all_gather": _all_gather,
    "all_to_all": _all_to_all,
}
