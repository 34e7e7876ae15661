"""Idle timeouts: how long ago an entry was hit, and the notification when that was too long ago."""

from __future__ import annotations

import time

import pytest
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.proto import p4r

from tests.softswitch.inputs import route
from tests.softswitch.p4rt_program import (
    CONFIG,
    TABLES,
    destination,
    frame,
    insert,
    modify,
    source,
)
from tests.softswitch.p4runtime_support import Client, Served, codes, entries, refused_read

SECOND = 1_000_000_000


@pytest.fixture
def client(primary: Client) -> Client:
    primary.set_pipeline(config=CONFIG)
    return primary


def wait(served: Served, seconds: float) -> None:
    """Let time pass on the switch."""
    served.on_loop(lambda: served.fabric.advance(served.fabric.now + int(seconds * SECOND)))


def ages(client: Client) -> list[float]:
    found = entries(client, table_id=TABLES["sources"], time_since_last_hit=p4r.TableEntry.IdleTimeout())
    return [entry.time_since_last_hit.elapsed_ns / SECOND for entry in found]


def test_the_time_since_the_last_hit(client: Client, served: Served) -> None:
    client.write(insert(table_entry=source()))  # with or without a timeout
    wait(served, 3)
    assert ages(client) == [pytest.approx(3, abs=0.1)]
    served.inject(1, frame())
    assert ages(client) == [pytest.approx(0, abs=0.1)]
    [plain] = entries(client, table_id=TABLES["sources"])
    assert not plain.HasField("time_since_last_hit")


def test_an_idle_entry_is_told_of_once_a_timeout_until_it_is_hit(client: Client, served: Served) -> None:
    entry = source(idle_timeout_ns=5 * SECOND, metadata=b"mine", controller_metadata=3)
    client.write(insert(table_entry=entry))
    client.write(insert(table_entry=source(src=77)))  # never expires
    assert entries(client, table_id=TABLES["sources"])[0] == entry
    wait(served, 4)
    served.inject(1, frame())
    wait(served, 4)
    served.on_loop(lambda: served.device.pump(time.monotonic_ns() + SECOND, 0))
    assert client.inbox.empty()  # it was hit 4 s ago
    for _ in range(2):
        wait(served, 6)
        before = time.time_ns()
        found = client.receive().idle_timeout_notification
        assert before - SECOND < found.timestamp <= time.time_ns()
        expected = source(idle_timeout_ns=5 * SECOND, metadata=b"mine", controller_metadata=3)
        expected.ClearField("action")
        assert list(found.table_entry) == [expected]


def test_many_idle_entries_come_together(client: Client, served: Served) -> None:
    client.write(*[insert(table_entry=source(src=src, idle_timeout_ns=SECOND)) for src in range(600)])
    wait(served, 2)
    found = [client.receive().idle_timeout_notification.table_entry for _ in range(2)]
    assert sum(len(told) for told in found) == 600


def test_a_timeout_can_be_changed_and_taken_away(client: Client, served: Served) -> None:
    client.write(insert(table_entry=source(idle_timeout_ns=5 * SECOND)))
    client.write(modify(table_entry=source(idle_timeout_ns=50 * SECOND)))
    assert entries(client, table_id=TABLES["sources"])[0].idle_timeout_ns == 50 * SECOND
    wait(served, 10)
    client.write(modify(table_entry=source()))
    assert entries(client, table_id=TABLES["sources"])[0].idle_timeout_ns == 0
    wait(served, 100)
    served.on_loop(lambda: served.device.pump(time.monotonic_ns() + SECOND, 0))
    assert client.inbox.empty()


def test_entries_of_a_saved_config_age_from_its_commit(client: Client, served: Served) -> None:
    wait(served, 100)
    client.set_pipeline("VERIFY_AND_SAVE", CONFIG)
    client.write(insert(table_entry=source(idle_timeout_ns=50 * SECOND)))
    client.set_pipeline("COMMIT", None)
    assert ages(client) == [pytest.approx(0, abs=0.1)]
    served.on_loop(lambda: served.device.pump(time.monotonic_ns() + SECOND, 0))
    assert client.inbox.empty()
    wait(served, 3)
    assert ages(client) == [pytest.approx(3, abs=0.1)]


def test_entries_keep_their_age_when_a_config_is_reconciled(client: Client, served: Served) -> None:
    client.write(insert(table_entry=source(idle_timeout_ns=50 * SECOND)))
    wait(served, 3)
    client.set_pipeline("RECONCILE_AND_COMMIT", CONFIG)
    assert ages(client) == [pytest.approx(3, abs=0.1)]


def test_tables_without_idle_timeouts_refuse_them(client: Client) -> None:
    bad = [
        insert(table_entry=destination(idle_timeout_ns=SECOND)),
        insert(table_entry=source(idle_timeout_ns=-1)),
        modify(
            table_entry=p4r.TableEntry(
                table_id=TABLES["always"], is_default_action=True, idle_timeout_ns=SECOND
            )
        ),
    ]
    assert codes(client, *bad) == [Code.INVALID_ARGUMENT] * 3
    with refused_read(Code.INVALID_ARGUMENT, "idle timeout"):
        entries(client, table_id=TABLES["destinations"], time_since_last_hit=p4r.TableEntry.IdleTimeout())


def test_csaud_has_no_idle_timeouts_and_is_not_scanned(controller: Client, served: Served) -> None:
    controller.write(route("10.0.0.0/8", 1))
    assert served.device.notifications.deadline(time.monotonic_ns()) is None
