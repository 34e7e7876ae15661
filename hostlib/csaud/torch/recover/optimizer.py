"""An optimizer whose states are split over the workers, each at two of them."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy.typing as npt
import torch
from torch.optim import Optimizer

from csaud.errors import ConfigError
from csaud.torch.recover.state import packed, unpacked
from csaud.torch.views import array_of

Array = npt.NDArray[Any]

SHARDS = 64


class ShardedOptimizer(Optimizer):
    """Any optimizer of PyTorch, of which each worker of a job that recovers holds a part of the states.

    Parameters, and with them their states, are dealt out into shards of about the same size. Each shard is at
    two workers; both make its step, and one of them gives the parameters to all others. When a worker dies,
    what it held is copied from the other one to a third.

    Args:
        parameters: as for the optimizer: parameters, or groups of them.
        kind: the optimizer's class; its step must change parameters and states of each parameter by that
            alone, or of each shard.
        shards: how many, the same at all workers; several for each worker, and not more than parameters.
        **settings: of the optimizer.
    """

    def __init__(
        self,
        parameters: Iterable[Any],
        kind: Callable[..., Optimizer],
        *,
        shards: int = SHARDS,
        **settings: Any,
    ) -> None:
        if shards < 1:
            raise ConfigError(f"recover: shards={shards}: expected 1 or more")
        given = list(parameters)
        super().__init__(
            given, kind(given, **settings).defaults
        )  # schedulers look for what is not given, too
        self._job_update: Callable[[], None] | None = None
        self.parts = Parts(self, kind, settings, shards)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Of those that it is made with; there is none later.

        Raises:
            ConfigError: it has been made.
        """
        if hasattr(self, "parts"):
            raise ConfigError(
                "recover: add_param_group: a ShardedOptimizer's parameters are dealt out when it is made: "
                "give it all groups then"
            )
        super().add_param_group(param_group)

    def serve(self, update: Callable[[], None]) -> None:
        """Be the optimizer of a job, which updates all shards by `update`."""
        self._job_update = update
        self.parts.begin()

    def step(self, closure: Any = None) -> None:
        """Make the step at the workers that hold each parameter's state; all have all parameters then."""
        if closure is not None:
            raise ConfigError("recover: a sharded optimizer's step() takes no closure")
        if self._job_update is None:
            raise ConfigError("recover: this optimizer has no job: csaud.torch.recover.start(..., optimizer)")
        self._job_update()

    def state_dict(self) -> dict[str, Any]:
        """Not here.

        Raises:
            ConfigError: no worker has the whole state.
        """
        raise ConfigError("recover: the state of a ShardedOptimizer is on several workers: none can save it")

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As `state_dict`."""
        del state_dict
        raise ConfigError("recover: the state of a ShardedOptimizer is on several workers: none can load it")


class Settings:
    """What of a sharded optimizer is the same at all workers: learning rates and the like."""

    def __init__(self, optimizer: ShardedOptimizer) -> None:
        self._optimizer = optimizer

    def state_dict(self) -> dict[str, Any]:
        """By group of parameters."""
        return {"groups": [_settings(group) for group in self._optimizer.param_groups]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """What `state_dict` gave."""
        for group, settings in zip(self._optimizer.param_groups, state_dict["groups"], strict=True):
            group.update(settings)


class Parts:
    """The shards of an optimizer (csaud.recover.shards.Shards): an optimizer for each that is here."""

    def __init__(
        self, whole: Optimizer, kind: Callable[..., Optimizer], settings: dict[str, Any], shards: int
    ) -> None:
        self._whole, self._kind, self._settings = whole, kind, settings
        parameters = [parameter for group in whole.param_groups for parameter in group["params"]]
        self.count = min(shards, len(parameters))
        self._of: list[list[torch.Tensor]] = [[] for _ in range(self.count)]
        sizes = [0] * self.count
        for parameter in sorted(parameters, key=torch.Tensor.numel, reverse=True):
            least = min(range(self.count), key=lambda shard: sizes[shard])
            sizes[least] += parameter.numel()
            self._of[least].append(parameter)
        self._here = {shard: self._make(shard) for shard in range(self.count)}
        self._updated: set[int] = set()  # in the step under way

    @property
    def held(self) -> set[int]:
        """Shards whose states are here."""
        return set(self._here)

    def begin(self) -> None:
        """Another job begins: no shard has made its step."""
        self._updated.clear()

    def update(self) -> None:
        """Make their step; those that have, where an error ended the call before, make no other one."""
        for shard, (optimizer, groups) in self._here.items():
            if shard in self._updated:
                continue
            for part, whole in zip(optimizer.param_groups, groups, strict=True):
                part.update(_settings(whole))
            optimizer.step()
            self._updated.add(shard)
        self._updated.clear()

    def values(self, shard: int) -> list[Array]:
        """Its parameters."""
        return [array_of(parameter) for parameter in self._of[shard]]

    def pack(self, shard: int) -> Array:
        """The state of its optimizer."""
        return packed(self._here[shard][0].state_dict())

    def unpack(self, shard: int, state: Array) -> None:
        """Hold it, in this state."""
        made = self._make(shard)
        made[0].load_state_dict(unpacked(state))
        self._here[shard] = made

    def drop(self, shard: int) -> None:
        """Hold it no more."""
        del self._here[shard]

    def _make(self, shard: int) -> tuple[Optimizer, list[dict[str, Any]]]:
        """A new optimizer, and the groups of the whole one that its own are parts of."""
        inside = {id(parameter) for parameter in self._of[shard]}
        wholes, parts = [], []
        for group in self._whole.param_groups:
            own = [parameter for parameter in group["params"] if id(parameter) in inside]
            if own:
                wholes.append(group)
                parts.append({**_settings(group), "params": own})
        return self._kind(parts, **self._settings), wholes


def _settings(group: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in group.items() if name != "params"}
