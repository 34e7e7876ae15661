"""The guest that the tests of this folder share; booting it takes seconds, so it is booted once."""

import json
from collections.abc import Iterator

import pytest

from tests.support import rxe
from tests.support.ranks import InGuest, OnHost, on_host


@pytest.fixture(scope="session")
def rxe_guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[rxe.RxeGuest]:
    """A guest whose kernel has Soft-RoCE."""
    reason = rxe.missing()
    if reason is not None:
        pytest.skip(reason)
    with rxe.booted(tmp_path_factory.mktemp("rxe")) as guest:
        yield guest


@pytest.fixture(scope="module")
def guest(rxe_guest: rxe.RxeGuest) -> InGuest:
    """Ranks in it, on its RDMA devices."""
    return InGuest(rxe_guest.guest)


@pytest.fixture(scope="module")
def host(rxe_guest: rxe.RxeGuest) -> Iterator[OnHost]:
    """Ranks at the other end of its wire, on the soft device."""
    with on_host(rxe_guest.network.namespace) as place:
        yield place


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Iterator[dict[str, object]]:
    """What a test measured; kept in build/verbs/<test>.json."""
    found: dict[str, object] = {}
    yield found
    folder = rxe.ROOT / "build" / "verbs"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{request.node.name}.json").write_text(json.dumps(found, indent=2) + "\n")
