"""Jobs of ranks that stay: importing PyTorch takes seconds, so several tests share a job."""

import pytest

from tests.torch_backend.ranks import Ranks


@pytest.fixture(scope="package")
def two():
    with Ranks(2) as ranks:
        yield ranks


@pytest.fixture(scope="package")
def four():
    with Ranks(4) as ranks:
        yield ranks
