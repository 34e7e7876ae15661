"""What workers that come later are given: states of a model, its optimizer and others."""

import io
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from csaud.groups.group import Group

Array = npt.NDArray[Any]


class Stateful(Protocol):
    """What has a state that can be saved: modules, optimizers, schedulers of learning rates."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> Any: ...


class States:
    """Those of several objects, in the same order at all workers."""

    def __init__(self, objects: Sequence[Stateful]) -> None:
        self._objects = list(objects)

    def hand_over(self, group: Group, source: int, behind: bool) -> None:
        """As `csaud.recover.state.State`."""
        mine = group.rank == source
        raw = packed([each.state_dict() for each in self._objects]) if mine else np.empty(0, np.uint8)
        length = np.array([raw.size], np.int64)
        group.broadcast(length, source)
        if not mine:
            raw = np.empty(int(length[0]), np.uint8)
        group.broadcast(raw, source)
        if behind and not mine:
            for each, state in zip(self._objects, unpacked(raw), strict=True):
                each.load_state_dict(state)


def packed(state: Any) -> Array:
    """Tensors, numbers, strings, and lists and dicts of them, as bytes."""
    out = io.BytesIO()
    torch.save(state, out)
    return np.frombuffer(out.getbuffer(), np.uint8)


def unpacked(raw: Array) -> Any:
    """What `packed` was given; nothing else than data is read."""
    return torch.load(io.BytesIO(raw.tobytes()), weights_only=True)
