"""A model whose training ended in an error is of use in the next job of the process."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.xdist_group("recover-torch")]
torch = pytest.importorskip("torch")


def layers() -> Any:
    return torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Linear(2, 1))


def loss_of(model: Any, number: int) -> Any:
    return model(torch.full((3, 4), number + 1.0)).sum()


def gradients(model: Any) -> list[Any]:
    return [parameter.grad for parameter in model.parameters()]


def train(model: Any, fail: str, overlap: bool = True) -> Any:
    """One step of two microbatches; the gradient of the first layer."""
    from csaud.torch import recover

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with recover.start(2, model, optimizer, overlap=overlap, environ={}) as job:
        for step in job.steps(1):
            for number in step:
                loss = loss_of(model, number)
                if fail == "forward":
                    raise MemoryError
                loss.backward()
                if fail == "backward":
                    raise MemoryError
    return model[0].weight.grad.clone()


@pytest.mark.parametrize(("fail", "overlap"), [("forward", True), ("backward", True), ("backward", False)])
def test_after_an_error_in_a_microbatch(fail: str, overlap: bool) -> None:
    model = layers()
    expected = train(model, "", overlap)
    with pytest.raises(MemoryError):
        train(model, fail)
    assert torch.equal(train(model, "", overlap), expected)


@pytest.mark.parametrize(("fail", "overlap"), [("forward", True), ("backward", True), ("backward", False)])
def test_gradients_from_before_are_there_again_after_an_error(fail: str, overlap: bool) -> None:
    model = layers()
    loss_of(model, 5).backward()
    before = gradients(model)
    values = [gradient.clone() for gradient in before]
    with pytest.raises(MemoryError):
        train(model, fail, overlap)
    for now, gradient, value in zip(gradients(model), before, values, strict=True):
        assert now is gradient and torch.equal(now, value)


def test_means_of_the_step_before_are_none_after_an_error() -> None:
    """The next step's are written where they lie."""
    from csaud.torch import recover

    model = layers()
    with recover.start(1, model, torch.optim.SGD(model.parameters(), lr=0.1), environ={}) as job:

        def train() -> None:
            for step in job.steps(2):
                for number in step:
                    loss_of(model, number).backward()
                    if step.index == 1:
                        raise MemoryError

        with pytest.raises(MemoryError):
            train()
    assert gradients(model) == [None] * 4


@pytest.mark.parametrize("left", ["error", "break", "end"])
def test_a_backward_pass_after_the_loop_is_a_plain_one(left: str) -> None:
    from csaud.torch import recover

    model, plain = layers(), layers()
    plain.load_state_dict(model.state_dict())
    with recover.start(2, model, torch.optim.SGD(model.parameters(), lr=0.1), environ={}) as job:

        def train() -> None:
            for step in job.steps(1):
                for number in step:
                    if left == "error":
                        raise MemoryError
                    if left == "break":
                        return
                    loss_of(model, number).backward()

        with contextlib.suppress(MemoryError):
            train()
        model.zero_grad()
        for one in (model, plain):
            for number in (0, 1, 2):
                loss_of(one, number).backward()
            assert not any(parameter._post_accumulate_grad_hooks for parameter in one.parameters())
    for ours, theirs in zip(gradients(model), gradients(plain), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("fails", [0, 1, 2])
@pytest.mark.parametrize("again", ["step", "steps"])
def test_a_microbatch_that_failed_can_be_computed_again(fails: int, in_order: bool, again: str) -> None:
    """Each counts once, however far it had come."""
    from csaud.torch import recover

    def train(model: Any, errors: list[int]) -> Any:
        def compute(step: Any) -> None:
            for number in step:
                loss_of(model, number).backward()
                if number in errors:
                    errors.remove(number)
                    raise MemoryError

        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with recover.start(3, model, optimizer, in_order=in_order, bucket_bytes=16, environ={}) as job:
            with contextlib.suppress(MemoryError):
                for step in job.steps(1):
                    try:
                        compute(step)
                    except MemoryError:
                        if again == "steps":
                            raise
                        compute(step)
            for step in job.steps(1):
                compute(step)
        return model[0].weight.grad.clone()

    model = layers()
    assert torch.equal(train(model, [fails]), train(model, []))


def test_a_loop_that_was_left_before_the_sharded_optimizers_step_goes_on_with_that() -> None:
    from csaud.torch import recover

    def train(left: bool) -> list[Any]:
        torch.manual_seed(1)
        model = layers()
        optimizer = recover.ShardedOptimizer(model.parameters(), torch.optim.AdamW, lr=0.1, shards=2)
        computed = []
        with recover.start(2, model, optimizer, environ={}) as job:

            def loop(fail: bool) -> None:
                for step in job.steps(2):
                    for number in step:
                        computed.append((step.index, number))
                        loss_of(model, number).backward()
                    if fail:
                        raise MemoryError
                    optimizer.step()

            if left:
                with pytest.raises(MemoryError):
                    loop(True)
            loop(False)
        assert computed == [(0, 0), (0, 1), (1, 0), (1, 1)]
        return [parameter.detach() for parameter in model.parameters()]

    for one, other in zip(train(True), train(False), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("again", ["step", "job"])
def test_a_sharded_optimizers_step_that_failed_can_be_made_again(again: str) -> None:
    """Shards that had made theirs do not make another one; in another job all do."""
    from csaud.torch import recover

    class Failing(torch.optim.SGD):
        calls, fails = 0, 0

        def step(self, closure: Any = None) -> Any:
            Failing.calls += 1
            if Failing.calls == Failing.fails:
                raise MemoryError
            return super().step(closure)

    torch.manual_seed(1)
    model = layers()
    optimizer = recover.ShardedOptimizer(model.parameters(), Failing, lr=0.1, shards=3)

    def train() -> None:
        with recover.start(1, model, optimizer, environ={}) as job:
            for step in job.steps(1):
                for number in step:
                    loss_of(model, number).backward()
                try:
                    optimizer.step()
                except MemoryError:
                    if again == "job":
                        raise
                    optimizer.step()

    before = copy.deepcopy(model.state_dict())
    train()
    expected = [parameter.detach().clone() for parameter in model.parameters()]
    model.load_state_dict(before)
    Failing.calls, Failing.fails = 0, 2
    if again == "job":
        with pytest.raises(MemoryError):
            train()
        model.load_state_dict(before)
    train()
    for one, other in zip(model.parameters(), expected, strict=True):
        assert torch.equal(one, other)
