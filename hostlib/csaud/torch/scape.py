"""Training by PyTorch of which a tenth of the weights, or a hundredth, is sent in a step (docs/training.md).

from csaud.torch import scape

with csaud.init() as comm:
    optimizer = scape.Scape(model.parameters(), comm, lr=2e-3)
    for step in range(1000):
        optimizer.zero_grad()
        loss_of(model, step, comm.rank).backward()
        optimizer.step()
    optimizer.together()
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.optim import Optimizer

from csaud.errors import ConfigError
from csaud.groups.group import Group
from csaud.rendezvous.table import name_ranks
from csaud.scape.exchange import Asking, Traffic, over
from csaud.scape.local import Local, Sparsity
from csaud.scape.method import Method
from csaud.scape.rules import Rates
from csaud.torch.views import array_of

__all__ = ["Exchanging", "Scape", "Sparsity"]

Vector = npt.NDArray[np.float32]
Make = Callable[[Vector, int, int], Method]


class Exchanging(Optimizer):
    """An optimizer that makes of the ranks' own gradients what its method says: gradients are not averaged
    before its step, as DistributedDataParallel would.

    The weights become one vector, of which the parameters are views. Ranks begin with those of rank 0.

    Args:
        parameters: of 32 bits, on the CPU; all of one group. What moves them or gives the model
            others (`model.to`, `load_state_dict(assign=True)`) comes before this.
        group: of csaud: a communicator, or a part of it.
        make: from weights, rank and size to the method.
        lr: may be changed between steps, as by schedulers, alike at all ranks.

    Attributes:
        traffic: bytes of payload that this rank has sent for it.

    Raises:
        ConfigError: parameters that cannot be trained so.
    """

    not_recovered = (
        "this optimizer exchanges what it wants of the ranks' own gradients, and csaud.torch.recover "
        "averages all of them: after a death call its regroup() with the communicator that shrink() gives"
    )

    def __init__(self, parameters: Iterable[torch.nn.Parameter], group: Group, make: Make, lr: float) -> None:
        if not isinstance(group, Group):
            raise ConfigError(f"scape: {group!r} is no group of ranks, as csaud.init() and new_group() give")
        if not lr >= 0:
            raise ConfigError(f"scape: lr={lr}: expected 0 or more")
        super().__init__(parameters, {"lr": lr})
        self._group = group
        self._trained = _checked(self.param_groups)
        self._given = len(self.param_groups[0]["params"])
        self._flat = torch.cat([parameter.detach().reshape(-1) for parameter in self._trained])
        self._weights: Vector = array_of(self._flat)
        at = 0
        for parameter in self._trained:
            parameter.data = self._flat[at : at + parameter.numel()].view(parameter.shape)
            at += parameter.numel()
        self._gradient = torch.empty_like(self._flat)
        group.broadcast(self._weights)
        self._method = make(self._weights, group.rank, group.size)
        self.traffic = Traffic()
        self._failed = ""  # why the next call cannot go on

    @property
    def steps(self) -> int:
        """That were made, all ranks together; after `regroup` the number from which all go on."""
        return self._method.steps

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make a step; all ranks call it. Parameters without a gradient have one of zeros.

        Returns:
            What `closure` does, which computes the loss and its gradients; None without.

        Raises:
            CsaudError: a collective failed. What goes on then begins with `regroup`.
            ConfigError: a parameter was moved elsewhere, or added, since this was made; a gradient is sparse.
        """
        self._check_in_place()
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        at = 0
        for parameter in self._trained:
            own = self._gradient[at : at + parameter.numel()]
            if parameter.grad is None:
                own.zero_()
            elif parameter.grad.layout is not torch.strided:
                raise ConfigError(
                    f"scape: a gradient of layout {parameter.grad.layout}: expected dense ones (sparse=False)"
                )
            else:
                own.copy_(parameter.grad.reshape(-1))
            at += parameter.numel()
        self._do(self._method.step(array_of(self._gradient), self.param_groups[0]["lr"]))
        return loss

    def together(self) -> None:
        """Have the same weights at all ranks, the average of theirs: before they are saved or judged; all
        ranks call it."""
        self._check_in_place()
        self._do(self._method.together())

    def regroup(self, group: Group) -> None:
        """Go on over another group, of those that are left after a death: `comm.shrink()` gives it. All of
        them call this; they have the same weights then.

        Raises:
            ConfigError: the method cannot, or newcomers are in the group, as `comm.reform()` may let in: they
                have no part of what the others go on with.
        """
        if joined := list(getattr(group, "joined", ())):
            raise ConfigError(
                f"scape: regroup: {name_ranks(joined, group.size)} joined in this epoch and cannot go on "
                "with the others: take the communicator of shrink(), or make the optimizer anew at all ranks"
            )
        self._check_in_place()
        self._group, self._failed = group, ""
        self._do(self._method.restart(group.rank, group.size))

    def state_dict(self) -> dict[str, Any]:
        """Not here.

        Raises:
            ConfigError: each rank has a state of its own, of which none can be saved for all.
        """
        raise ConfigError("scape: each rank has a state of its own: save the model's after together()")

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As `state_dict`."""
        del state_dict
        raise ConfigError("scape: each rank has a state of its own: none can be loaded")

    def _check_in_place(self) -> None:
        """Weights that are no views of the vector any more would not be trained, without a word."""
        if len(self.param_groups) != 1 or len(self.param_groups[0]["params"]) != self._given:
            raise ConfigError("scape: parameters were added: make the optimizer anew, at all ranks")
        at = self._flat.data_ptr()
        for parameter in self._trained:
            if parameter.data_ptr() != at:
                raise ConfigError(
                    f"scape: a parameter of shape {tuple(parameter.shape)} is no longer where the optimizer "
                    "trains it: make the optimizer after what moves parameters (as model.to does)"
                )
            at += parameter.numel() * parameter.element_size()

    def _do(self, asking: Asking) -> None:
        if self._failed:
            raise ConfigError(f"scape: a collective failed ({self._failed}): call regroup(group) first")
        try:
            over(self._group, asking, self.traffic)
        except ConfigError:
            raise
        except BaseException as error:  # the other ranks may have been asked for what this one leaves out
            self._failed = str(error) or type(error).__name__
            raise


class Scape(Exchanging):
    """AdamS of which a tenth of the weights, or a hundredth, is averaged over the ranks in a step.

    Each rank goes on by its own gradients, and under a mask, another one each step, weights and momenta
    become the mean of the ranks'. `csaud.scape.Sparsity` says what else can be chosen.

    Args:
        parameters, group, lr: as for `Exchanging`.
        sparsity: density and what else there is of it.
        betas, eps, weight_decay: of AdamS.
    """

    def __init__(
        self,
        parameters: Iterable[torch.nn.Parameter],
        group: Group,
        lr: float = 1e-3,
        sparsity: Sparsity | None = None,
        *,
        betas: tuple[float, float] = (0.9, 0.95),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        rates = Rates(*betas, eps, weight_decay)
        super().__init__(
            parameters, group, lambda weights, rank, size: Local(weights, rank, size, sparsity, rates), lr
        )


def _checked(groups: list[dict[str, Any]]) -> list[torch.nn.Parameter]:
    if len(groups) != 1:
        raise ConfigError(f"scape: {len(groups)} groups of parameters: expected one")
    parameters = groups[0]["params"]
    trained = [parameter for parameter in parameters if parameter.requires_grad and parameter.numel()]
    for parameter in trained:
        if parameter.dtype is not torch.float32 or parameter.device.type != "cpu":
            raise ConfigError(
                f"scape: a parameter of {parameter.dtype} on {parameter.device}: expected one of "
                "torch.float32 on cpu"
            )
    if not trained:
        raise ConfigError("scape: no parameter is to be trained")
    return trained
