"""Revisions of what was asked for: beside one controller, and in the store of several."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from csaud_controller.desired import history as beside
from csaud_controller.desired import shared_history as shared
from csaud_controller.desired.history import History, HistoryError, Record, Revisions
from csaud_controller.desired.shared import SharedStore
from csaud_controller.desired.shared_history import SharedHistory
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_runs.etcd import Etcd, parse_place

from tests.support.etcd import etcd_server, until_there

ECMP, RANDOM = Policy(spray="ecmp"), Policy(spray="random")
Opened = Callable[[], Revisions]


def record(revision: int, policy: Policy = ECMP) -> Record:
    return Record(revision, 1000.0 + revision, "root", [f"change {revision}"], "", Intent(policy=policy))


@pytest.fixture(params=["sqlite", pytest.param("etcd", marks=pytest.mark.etcd)])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """Opens the same history, as each controller after the other does."""
    if request.param == "sqlite":
        yield lambda: History(tmp_path / "history.sqlite")
        return
    with etcd_server(tmp_path / "etcd") as server:
        place = parse_place(server.url, "csaud/x")

        def primary() -> SharedHistory:
            store = SharedStore(Etcd(place), place.prefix, "a")
            assert store.take(store.held()) is not None
            return SharedHistory(store)

        until_there(lambda: Etcd(place).range("x"))
        yield primary


async def noted(history: Revisions, *records: Record) -> None:
    for each in records:
        async with history.recorded(each):
            pass


async def kept(history: Revisions, limit: int = 99) -> list[int]:
    return [row["revision"] for row in await history.newest(limit)]


def test_what_was_never_in_force_is_forgotten(opened: Opened) -> None:
    async def main() -> None:
        history = opened()
        await history.begin(record(1))
        await noted(history, record(2, RANDOM))
        with pytest.raises(RuntimeError, match="no room"):
            async with history.recorded(record(3)):
                raise RuntimeError("no room")
        assert await kept(history) == [2, 1]
        await noted(history, record(3))
        await history.close()
        again = opened()
        await again.begin(record(2, RANDOM))  # killed before revision 3 could be kept
        assert [row["what"] for row in await again.newest(9)] == [["change 2"], ["change 1"]]
        await again.close()

    asyncio.run(main())


def test_a_revision_is_read_as_it_was_noted(opened: Opened) -> None:
    async def main() -> None:
        history = opened()
        await history.begin(record(8))
        await noted(history, *(record(number, RANDOM) for number in range(9, 12)))
        assert await history.at(10) == record(10, RANDOM)
        assert (await history.newest(1))[0] == {
            "revision": 11, "time": 1011.0, "who": "root", "what": ["change 11"], "note": ""
        }  # fmt: skip
        assert (await history.before(Intent(policy=RANDOM), 0.0)).revision == 8
        assert (await history.before(Intent(policy=ECMP), 0.0)).revision == 11
        with pytest.raises(ValueError, match="no revision 7 is kept; expected one from 8 to 11"):
            await history.at(7)
        with pytest.raises(ValueError, match="no revision 12 is kept; expected one from 8 to 11"):
            await history.at(12)
        with pytest.raises(ValueError, match="no revision 1000000000000000000000 is kept; expected one"):
            await history.at(10**21)
        await history.close()

    asyncio.run(main())


def test_so_many_revisions_are_kept_and_no_more(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (beside, shared):
        monkeypatch.setattr(module, "KEPT", 3)
    monkeypatch.setattr(shared, "_AT_ONCE", 2)

    async def main() -> None:
        history = opened()
        await history.begin(record(0))
        await noted(history, record(1), record(2))
        assert await kept(history) == [2, 1, 0]
        await noted(history, *(record(number, RANDOM) for number in range(3, 6)))
        assert await kept(history) == [5, 4, 3]
        with pytest.raises(ValueError, match="no other policy was in force before"):
            await history.before(Intent(policy=RANDOM), 0.0)
        await history.close()

    asyncio.run(main())


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    path.write_text("this was a database" * 100)
    with pytest.raises(HistoryError, match=r"history.sqlite: file is not a database"):
        asyncio.run(History(path).begin(record(4)))
