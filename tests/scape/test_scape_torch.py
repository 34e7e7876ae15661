"""SCAPE as an optimizer of PyTorch."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from csaud.errors import ConfigError, CsaudError
from csaud.groups.group import Group
from csaud.scape.exchange import lockstep
from csaud.scape.local import Local, Sparsity
from csaud.scape.rules import Rates
from csaud.testing import assert_bit_equal

from tests.hostlib.group_ranks import everywhere

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
_RANDOM = threading.Lock()


def model(seed: int) -> Any:
    """Of 1,152 weights. Ranks are threads, and torch's random numbers are those of the process."""
    with _RANDOM, torch.random.fork_rng():
        torch.manual_seed(seed)
        return torch.nn.Sequential(
            torch.nn.Linear(16, 48), torch.nn.Tanh(), torch.nn.Linear(48, 7, bias=False)
        )


def loss_of(module: Any, step: int, rank: int) -> Any:
    random = np.random.default_rng([step, rank])
    inputs = torch.from_numpy(random.normal(size=(8, 16)).astype(np.float32))
    return torch.nn.functional.mse_loss(module(inputs), inputs[:, :7])


def flat(module: Any) -> np.ndarray:
    return np.concatenate([parameter.detach().numpy().reshape(-1) for parameter in module.parameters()])


def test_the_optimizer_makes_of_a_model_what_the_method_makes_of_its_weights() -> None:
    from csaud.torch.scape import Scape

    def work(group: Group) -> Any:
        module = model(1 if group.rank == 0 else 99)  # all begin with the weights of rank 0
        rates = {"betas": (0.8, 0.9), "eps": 1e-4, "weight_decay": 0.1}
        optimizer = Scape(module.parameters(), group, lr=0.01, **rates)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)
        losses = []
        for step in range(6):
            optimizer.zero_grad()
            loss = loss_of(module, step, group.rank)
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        optimizer.together()
        return flat(module), losses, optimizer.steps, optimizer.traffic.total

    modules = [model(1) for _ in range(3)]
    vectors = [flat(module) for module in modules]
    rates = Rates(0.8, 0.9, 1e-4, 0.1)
    methods = [Local(weights, rank, 3, None, rates) for rank, weights in enumerate(vectors)]
    for step in range(6):
        gradients = []
        for rank, module in enumerate(modules):
            torch.nn.utils.vector_to_parameters(torch.from_numpy(vectors[rank]), module.parameters())
            module.zero_grad()
            loss_of(module, step, rank).backward()
            parts = [parameter.grad.numpy().reshape(-1) for parameter in module.parameters()]
            gradients.append(np.concatenate(parts))
        lr = 0.01 * 0.5 ** (step // 3)
        lockstep([each.step(own, lr) for each, own in zip(methods, gradients, strict=True)])
    lockstep([each.together() for each in methods])
    for rank, (weights, losses, steps, sent) in enumerate(everywhere(3, work)):
        assert_bit_equal(weights, vectors[rank], f"rank {rank}")
        assert losses[-1] < losses[0] and steps == 6 and sent > 0


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (
            lambda torch: [torch.nn.Parameter(torch.zeros(9, dtype=torch.float64))],
            "a parameter of torch.float64",
        ),
        (lambda torch: [{"params": [torch.nn.Parameter(torch.zeros(9))]} for _ in range(2)], "2 groups"),
        (lambda torch: [torch.nn.Parameter(torch.zeros(9), requires_grad=False)], "no parameter is to be"),
    ],
)
def test_parameters_that_cannot_be_trained_are_named(make: Any, why: str) -> None:
    from csaud.torch.scape import Scape

    with pytest.raises(ConfigError, match=why):
        everywhere(1, lambda group: Scape(make(torch), group))


@pytest.mark.parametrize("lr", [-1e-3, float("nan")])
def test_a_learning_rate_that_is_none_is_named(lr: float) -> None:
    from csaud.torch.scape import Scape

    def work(group: Group) -> None:
        with pytest.raises(ConfigError, match=r"scape: lr=.*: expected 0 or more"):
            Scape([torch.nn.Parameter(torch.zeros(9))], group, lr=lr)

    everywhere(1, work)


@pytest.mark.parametrize("group", [None, "csaud"])
def test_a_group_that_is_none_is_named(group: Any) -> None:
    from csaud.torch.scape import Scape

    with pytest.raises(ConfigError, match=f"scape: {group!r} is no group of ranks"):
        Scape([torch.nn.Parameter(torch.zeros(9))], group)


def test_what_it_does_not_do_says_why() -> None:
    from csaud.torch import recover
    from csaud.torch.scape import Exchanging, Scape

    def work(group: Group) -> None:
        module = model(1)
        optimizer = Scape(module.parameters(), group, sparsity=Sparsity(density=0.01))
        with pytest.raises(ConfigError, match=r"recover: Scape: this optimizer exchanges .* regroup"):
            recover.start(4, module, optimizer)
        with pytest.raises(ConfigError, match="save the model's after together"):
            optimizer.state_dict()

        def fails(*_: Any, **__: Any) -> None:
            raise CsaudError("rank 1 is unreachable")

        optimizer._group = type("Broken", (), {"size": 2, "sparse_all_reduce": fails})()
        with pytest.raises(CsaudError, match="rank 1 is unreachable"):
            optimizer.step()
        with pytest.raises(ConfigError, match=r"a collective failed \(rank 1 .*call regroup\(group\) first"):
            optimizer.step()
        assert isinstance(optimizer, Exchanging)

    everywhere(1, work)


def test_weights_that_are_moved_away_and_those_added_are_not_forgotten_without_a_word() -> None:
    from csaud.torch.scape import Scape

    def work(group: Group) -> None:
        module, other = model(1), model(2)
        optimizer = Scape(module.parameters(), group)
        module.load_state_dict(other.state_dict())  # copied to where they are
        optimizer.step()
        module[0].bias.data = module[0].bias.data.clone()  # as model.to does it
        for call in (optimizer.step, optimizer.together, lambda: optimizer.regroup(group)):
            with pytest.raises(ConfigError, match=r"of shape \(48,\) is no longer where"):
                call()
        module = model(1)
        optimizer = Scape(module.parameters(), group)
        module.load_state_dict(other.state_dict(), assign=True)
        optimizer.step()  # its own parameters are still there; the model has others
        optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(3))]})
        with pytest.raises(ConfigError, match="parameters were added"):
            optimizer.step()

    everywhere(1, work)


def test_a_step_that_was_interrupted_is_not_gone_on_with() -> None:
    """Its second half would meet the first one of the others' next."""
    from csaud.torch.scape import Scape

    def work(group: Group) -> None:
        optimizer = Scape(model(1).parameters(), group)

        def interrupted(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        optimizer._group = type("Slow", (), {"size": 1, "sparse_all_reduce": interrupted})()  # type: ignore[assignment]
        with pytest.raises(KeyboardInterrupt):
            optimizer.step()
        optimizer._group = group
        with pytest.raises(ConfigError, match=r"a collective failed \(KeyboardInterrupt\): call regroup"):
            optimizer.step()
        optimizer.regroup(group)
        optimizer.step()

    everywhere(1, work)


def test_parameters_of_no_elements_are_left_alone() -> None:
    from csaud.torch.scape import Scape

    def work(group: Group) -> None:
        module = model(1)
        module.register_parameter("nothing", torch.nn.Parameter(torch.empty(0, 3)))
        optimizer = Scape(module.parameters(), group)
        optimizer.step()
        optimizer.together()

    everywhere(1, work)


def test_sparse_gradients_are_refused_by_name() -> None:
    from csaud.torch.scape import Scape

    def work(group: Group) -> None:
        module = torch.nn.Embedding(5, 3, sparse=True)
        optimizer = Scape(module.parameters(), group)
        module(torch.tensor([1])).sum().backward()
        with pytest.raises(ConfigError, match="a gradient of layout"):
            optimizer.step()

    everywhere(2, work)


def test_newcomers_are_refused_by_name() -> None:
    """They would begin with a broadcast, the others with a sum."""
    from csaud.torch.scape import Scape

    def work(group: Group) -> None:
        optimizer = Scape(model(1).parameters(), group)
        group.joined = range(1, 2)  # type: ignore[attr-defined]
        with pytest.raises(ConfigError, match=r"regroup: rank 1 of 2 joined in this epoch .* of shrink\(\)"):
            optimizer.regroup(group)

    everywhere(2, work)


def test_regroup_goes_on_among_those_that_are_left() -> None:
    from csaud.torch.scape import Scape

    def work(group: Group) -> Any:
        module = model(1)
        optimizer = Scape(module.parameters(), group, lr=0.01)
        for step in range(6):
            if step == 3:
                if group.rank == 2:
                    return None
                group = group.new_group([1, 0])
                optimizer.regroup(group)
            optimizer.zero_grad()
            loss_of(module, step, group.rank).backward()
            optimizer.step()
        optimizer.together()
        return flat(module), optimizer.steps

    (one, steps), (other, _), gone = everywhere(3, work)
    assert_bit_equal(one, other)
    assert steps == 6 and gone is None
