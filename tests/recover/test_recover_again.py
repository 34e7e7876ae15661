"""A model whose training ended in an error is of use in the next job of the process."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.xdist_group("recover-torch")]
torch = pytest.importorskip("torch")


def train(model: Any, fail: str, overlap: bool = True) -> Any:
    """One step of two microbatches; the gradient of the first layer."""
    from csaud.torch import recover

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with recover.start(2, model, optimizer, overlap=overlap, environ={}) as job:
        for step in job.steps(1):
            for number in step:
                loss = model(torch.full((3, 4), number + 1.0)).sum()
                if fail == "forward":
                    raise MemoryError
                loss.backward()
                if fail == "backward":
                    raise MemoryError
    return model[0].weight.grad.clone()


@pytest.mark.parametrize(("fail", "overlap"), [("forward", True), ("backward", True), ("backward", False)])
def test_after_an_error_in_a_microbatch(fail: str, overlap: bool) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Linear(2, 1))
    expected = train(model, "", overlap)
    with pytest.raises(MemoryError):
        train(model, fail)
    assert torch.equal(train(model, "", overlap), expected)
