"""Training by PyTorch whose workers are killed, whoever and wherever: weights are those of one worker that
does all the work, bit by bit, and the samples of each step the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.hostlib.jobs import PATIENCE
from tests.recover.jobs import environment
from tests.support.marks import thorough

pytestmark = [pytest.mark.torch, pytest.mark.xdist_group("recover-torch")]

SAMPLES = {(step, number) for step in range(4) for number in range(6)}
ALONE = {"world": 1, "sharded": False, "deaths": {}}


def died(sharded: bool, deaths: dict[int, dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {
        "world": 4,
        "sharded": sharded,
        "deaths": {str(rank): doom for rank, doom in deaths.items()},
        **more,
    }


# Half of the workers in each, the second one mostly while the others recover from the first one's death.
FIRST = [
    died(True, {1: {"phase": "spread", "step": 1}, 3: {"phase": "state", "times": 2}}),
    died(False, {3: {"phase": "reduce", "step": 1, "times": 2}, 0: {"phase": "settle", "times": 2}}),
]
OTHERS = [
    died(True, {2: {"phase": "forward", "step": 1}, 0: {"phase": "update", "step": 2}}),
    died(True, {0: {"phase": "backward", "step": 1}, 3: {"phase": "optimizer", "step": 2}}, overlap=False),
    died(False, {1: {"phase": "gather", "step": 1}, 2: {"phase": "shrink"}}),
    died(True, {1: {"phase": "commit", "step": 0}, 3: {"phase": "spread", "step": 1}}, newcomer_at=2),
]


def trained(folder: Path, jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.recover.torch_family", str(folder), json.dumps(jobs)]
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, check=False, timeout=PATIENCE * len(jobs)
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("jobs", [FIRST, thorough(OTHERS)], ids=["first", "others"])
def test_half_of_the_workers_die(tmp_path, jobs) -> None:
    alone, *found = trained(tmp_path, [ALONE, *jobs])
    expected = alone["ends"]["0"]["state"]
    for job, result in zip(jobs, found, strict=True):
        assert not result["errors"], job
        assert result["killed"] == sorted(map(int, job["deaths"])), job
        assert {end["state"] for end in result["ends"].values()} == {expected}, job
        assert len(result["ends"]) == 2 + ("newcomer_at" in job)
        computed = {name: [tuple(one) for one in of] for name, of in result["computed"].items()}
        assert set().union(*computed.values()) == SAMPLES, job
        living = [one for name, of in computed.items() if name in result["ends"] for one in of]
        assert len(living) == len(set(living)), "what a worker that lives has computed is not computed again"


def test_workers_with_other_random_numbers_are_told(tmp_path) -> None:
    """Their losses would be of no seed: who computes a microbatch would decide."""
    (found,) = trained(tmp_path, [{**ALONE, "world": 2, "seeds": {"1": 5}}])
    words = "ConfigError: recover: seed must be the same at every rank: 0 at rank 0, 5 at rank 1"
    assert not found["ends"]
    assert [text.splitlines()[-1].rpartition(".")[2] for text in found["errors"].values()] == [words] * 2


MISTAKES = """
import torch
from csaud.torch import recover

def model(*layers):
    return torch.nn.Sequential(torch.nn.Linear(2, 3), *layers)

def sgd(module):
    return torch.optim.SGD(module.parameters(), lr=0.1)

def words(call):
    try:
        call()
    except Exception as error:
        print(f"{type(error).__name__}: {error}")

def train(backward=1, overlap=True):
    plain = model()
    sharded = recover.ShardedOptimizer(plain.parameters(), torch.optim.SGD, lr=0.1)
    with recover.start(2, plain, sharded, overlap=overlap, environ={}) as job:
        for step in job.steps(2):
            for _ in step:
                for _ in range(backward):
                    plain(torch.ones(2)).sum().backward()

normal = model(torch.nn.BatchNorm1d(3))
words(lambda: recover.start(2, normal, sgd(normal)))
words(lambda: recover.start(2, model(), None))
words(lambda: recover.start(2, model(), sgd(model())))
half = model().to(torch.float8_e5m2)
words(lambda: recover.start(2, half, sgd(half)))
words(lambda: train(backward=2))
words(train)
alone = recover.ShardedOptimizer(model().parameters(), torch.optim.SGD, lr=0.1)
words(alone.step)
words(alone.state_dict)
words(lambda: alone.add_param_group({"params": list(model().parameters())}))
"""

SAID = [
    "ConfigError: recover: 1 (BatchNorm1d) keeps statistics of the microbatches that this worker computes",
    "ConfigError: recover: optimizer is a NoneType: expected one of torch.optim",
    "ConfigError: recover: the optimizer has a parameter that the model has not",
    "ConfigError: recover: parameter 0.weight: gradients of torch.float8_e5m2 cannot be summed",
    "ConfigError: recover: a microbatch has a second backward pass",
    "ConfigError: recover: step 0 was left without the sharded optimizer's step()",
    "ConfigError: recover: this optimizer has no job",
    "ConfigError: recover: the state of a ShardedOptimizer is on several workers: none can save it",
    "ConfigError: recover: add_param_group: a ShardedOptimizer's parameters are dealt out when it is made",
]


LIKE_ITS_KIND = """
import copy
import torch
from csaud.torch import recover

torch.manual_seed(1)
models = [torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))]
models.append(copy.deepcopy(models[0]))

def groups(model):
    first, *others = model
    decayed = {"params": list(first.parameters()), "lr": 0.1, "weight_decay": 0.5}
    return [decayed, {"params": [parameter for layer in others for parameter in layer.parameters()]}]

sharded = recover.ShardedOptimizer(groups(models[0]), torch.optim.AdamW, shards=3)
plain = torch.optim.AdamW(groups(models[1]))
assert sharded.defaults == plain.defaults
with recover.start(1, models[0], sharded, environ={}) as job:
    schedulers = [torch.optim.lr_scheduler.OneCycleLR(each, 0.1, 10) for each in (sharded, plain)]
    for step in job.steps(4):
        for _ in step:
            for model in models:
                model(torch.arange(4.0)).sum().backward()
        for each in (sharded, plain, *schedulers):
            each.step()
        plain.zero_grad()
for one, other in zip(models[0].parameters(), models[1].parameters(), strict=True):
    assert torch.equal(one, other), (one, other)
"""


def test_a_sharded_optimizer_does_as_its_kind_with_defaults_groups_and_schedules() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIKE_ITS_KIND], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_mistakes_are_named() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MISTAKES], env=environment(), capture_output=True, text=True, check=False
    )
    said = done.stdout.splitlines()
    assert len(said) == len(SAID), done.stdout + done.stderr
    for line, words in zip(said, SAID, strict=True):
        assert line.startswith(words)
