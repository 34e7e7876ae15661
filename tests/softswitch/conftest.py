"""Fixtures: a served switch and controllers that are connected to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.softswitch.p4runtime_support import Client, Served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A switch without a program, listening on a Unix socket."""
    running = Served(f"unix:{tmp_path}/p4rt.sock")
    yield running
    running.close()


@pytest.fixture
def connect(served: Served) -> Iterator[Callable[..., Client]]:
    """Makes controllers; they are disconnected at the end."""
    clients: list[Client] = []

    def make(election_id: int = 1, role: str = "") -> Client:
        clients.append(Client(served.address, election_id, role))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def primary(connect: Callable[..., Client]) -> Client:
    """The primary controller of a switch that has no program yet."""
    client = connect()
    client.arbitrate()
    return client


@pytest.fixture
def controller(primary: Client) -> Client:
    """The primary controller of a switch that has the project's program."""
    primary.set_pipeline()
    return primary
