"""The setting `auth`: what it needs, said by name where it is missing."""

from types import SimpleNamespace
from typing import Any

import csaud
import pytest
from csaud import _core
from csaud.config.settings import Settings
from csaud.errors import ConfigError
from csaud.rendezvous.table import Card, Table, make_table
from csaud.start.endpoint import authenticate

ON = Settings(auth="headers", secret="correct horse battery staple")


def table(mode: str) -> Table:
    return make_table([Card(rank, "10.0.0.1", 0x100 + rank, 4096, mode) for rank in range(2)], 1)


def test_it_needs_a_secret() -> None:
    with pytest.raises(ConfigError, match="auth=headers needs a secret"):
        csaud.init(environ={}, auth="headers")


def test_a_job_of_one_may_have_it() -> None:
    with csaud.init(environ={}, auth="headers", secret="correct horse battery staple", mode="udp") as comm:
        comm.barrier()


def test_an_rdma_device_is_refused() -> None:
    with pytest.raises(ConfigError, match="auth=headers needs device=soft at every rank; rank 0 uses verbs"):
        authenticate(_core.EndpointConfig(), ON, table("verbs"))


@pytest.mark.parametrize("key", ["", "00", "no hexadecimal number at all"])
def test_a_key_that_is_none_is_refused(key: str) -> None:
    broken = SimpleNamespace(cards=table("raw").cards, auth_key=key)
    unchecked: Any = broken
    with pytest.raises(ConfigError, match="auth=headers: "):
        authenticate(_core.EndpointConfig(), ON, unchecked)


def test_each_job_has_a_key_of_its_own_and_keeps_it() -> None:
    first, second = table("raw"), table("raw")
    assert first.auth_key != second.auth_key
    config = _core.EndpointConfig()
    authenticate(config, ON, first)
    assert config.auth_key == bytes.fromhex(first.auth_key)
    assert first.auth_key not in repr(first)
