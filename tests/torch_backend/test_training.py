"""What trains on top of the backend: DDP, FSDP2, DTensor, beside gloo with the same seeds."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.xdist_group("torch")]


CASES = [
    "ddp_beside_gloo",
    "ddp_of_half_precision_gradients",
    "ddp_of_gradients_of_low_rank",
    "fsdp_beside_gloo",
]


@pytest.mark.parametrize("case", CASES)
def test_bits_of_gloo_between_two(two, case):
    two.run(case)


def test_a_compiled_model(two):
    two.run("ddp_compiled")


def test_buckets_are_reduced_while_the_backward_pass_goes_on(two):
    assert min(two.run("ddp_overlaps")) >= 1


def test_hybrid_shards(four):
    four.run("fsdp_beside_gloo", replicas=2)


def test_dtensors(four):
    four.run("dtensors")
