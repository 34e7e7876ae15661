"""Digest lists on the stream: when they are sent, what is in them, and what is not told again."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from csaud_softswitch import _core
from csaud_softswitch.p4runtime.digest import DigestStore
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.proto import p4r, stratum

from tests.softswitch import programs
from tests.softswitch.p4rt_program import (
    CONFIG,
    INDEX,
    LEARNED,
    TABLES,
    delete,
    frame,
    insert,
    modify,
    tag,
)
from tests.softswitch.p4runtime_support import Client, Served, codes, refused_read

NAME = "learned_t"
SECOND = 1_000_000_000


@pytest.fixture
def client(primary: Client) -> Client:
    primary.set_pipeline(config=CONFIG)
    return primary


def entry(size: int = 1, timeout_ns: int = 0, ack_ns: int = 0) -> p4r.DigestEntry:
    made = p4r.DigestEntry(digest_id=LEARNED)
    made.config.max_list_size, made.config.max_timeout_ns = size, timeout_ns
    made.config.ack_timeout_ns = ack_ns
    return made


def sources(message: p4r.StreamMessageResponse) -> list[bytes]:
    assert message.HasField("digest"), message
    return [data.struct.members[0].bitstring for data in message.digest.data]


def test_a_digest_comes_as_the_struct_of_the_program(client: Client, served: Served) -> None:
    served.inject(3, frame())  # off as long as nobody asked
    client.write(insert(digest_entry=entry()), tag(0x9999))
    before = time.time_ns()
    served.inject(3, frame(src=7, kind=0x9999))
    found = client.receive().digest
    assert (found.digest_id, found.list_id) == (LEARNED, 1)
    assert before <= found.timestamp <= time.time_ns()
    [data] = found.data
    assert [member.bitstring for member in data.struct.members] == [b"\x07", b"\x03", b"\x01"]
    client.write(delete(digest_entry=entry()))
    served.inject(3, frame(src=8))
    assert client.inbox.empty()


def test_a_list_is_sent_when_it_is_full_and_has_no_duplicates(client: Client, served: Served) -> None:
    client.write(insert(digest_entry=entry(size=3, timeout_ns=3600 * SECOND)))
    for src in (1, 1, 2, 1, 2, 3, 4):
        served.inject(3, frame(src=src))
    assert sources(client.receive()) == [b"\1", b"\2", b"\3"]
    assert client.inbox.empty()
    client.write(modify(digest_entry=entry(size=3, timeout_ns=1)))  # what waits is due now
    assert sources(client.receive()) == [b"\4"]


def test_a_list_is_sent_after_its_timeout(client: Client, served: Served) -> None:
    client.write(insert(digest_entry=entry(size=0, timeout_ns=SECOND // 20)))
    served.inject(3, frame(src=1))
    served.inject(3, frame(src=2))
    assert sources(client.receive()) == [b"\1", b"\2"]


def test_what_is_not_acknowledged_is_not_told_again(client: Client, served: Served) -> None:
    client.write(insert(digest_entry=entry(ack_ns=3600 * SECOND)))
    served.inject(3, frame(src=1))
    first = client.receive().digest
    served.inject(3, frame(src=1))
    served.inject(3, frame(src=2))
    second = client.receive()
    assert sources(second) == [b"\2"]
    ack = p4r.DigestListAck(digest_id=LEARNED, list_id=first.list_id)
    client.send(p4r.StreamMessageRequest(digest_ack=ack))
    client.send(p4r.StreamMessageRequest())  # answered after the ack was taken
    assert client.receive().HasField("error")
    served.inject(3, frame(src=2))
    served.inject(3, frame(src=1))
    third = client.receive()
    assert (sources(third), third.digest.list_id) == ([b"\1"], second.digest.list_id + 1)


def test_digest_entries(client: Client) -> None:
    assert client.read(digest_entry=p4r.DigestEntry()) == []
    first, other = entry(size=3, timeout_ns=5, ack_ns=7), entry(size=9)
    assert codes(client, modify(digest_entry=first), delete(digest_entry=first)) == [Code.NOT_FOUND] * 2
    client.write(insert(digest_entry=first))
    assert codes(client, insert(digest_entry=first)) == [Code.ALREADY_EXISTS]
    assert [found.digest_entry for found in client.read(digest_entry=p4r.DigestEntry())] == [first]
    client.write(modify(digest_entry=other))
    [found] = client.read(digest_entry=p4r.DigestEntry(digest_id=LEARNED))
    assert found.digest_entry == other
    bad = entry()
    bad.digest_id = 5
    assert codes(client, insert(digest_entry=bad), modify(digest_entry=entry(size=-1))) == [
        Code.NOT_FOUND,
        Code.INVALID_ARGUMENT,
    ]
    with refused_read(Code.NOT_FOUND):
        client.read(digest_entry=bad)


def test_only_primaries_of_roles_with_the_digest_get_its_lists(
    client: Client, connect: Callable[..., Client], served: Served
) -> None:
    backup, learner, other = connect(0), connect(1, "learner"), connect(1, "other")
    backup.arbitrate()
    learner.arbitrate(role_config=stratum.P4RoleConfig(shared_p4_ids=[LEARNED]))
    other.arbitrate(role_config=stratum.P4RoleConfig(shared_p4_ids=[TABLES["sources"]]))
    learner.write(insert(digest_entry=entry()))
    served.inject(3, frame(src=9))
    assert sources(client.receive()) == sources(learner.receive()) == [b"\x09"]
    assert backup.inbox.empty()
    assert other.inbox.empty()
    backup.send(p4r.StreamMessageRequest(digest_ack=p4r.DigestListAck(digest_id=LEARNED, list_id=1)))
    assert backup.receive().error.canonical_code == Code.PERMISSION_DENIED


# --- without a server, with a clock of the test's own


@pytest.fixture
def store() -> DigestStore:
    switch = _core.Fabric().add_switch("s", 1)
    switch.load(programs.json_of("p4rt"))
    return DigestStore(switch, INDEX)


def values(src: int) -> list[bytes]:
    return [src.to_bytes(6, "big"), b"\x00\x01", b"\x00"]


def told(lists: list[p4r.DigestList]) -> list[int]:
    return [int.from_bytes(d.struct.members[0].bitstring, "big") for found in lists for d in found.data]


def test_an_unacknowledged_message_is_told_again_after_the_ack_timeout(store: DigestStore) -> None:
    store.write(p4r.Update.INSERT, entry(ack_ns=100))
    assert told(store.add(NAME, values(1), 0)) == [1]
    assert store.add(NAME, values(1), 99) == []
    assert told(store.add(NAME, values(1), 100)) == [1]


def test_timeouts_are_from_the_first_message_of_a_list(store: DigestStore) -> None:
    store.write(p4r.Update.INSERT, entry(size=10, timeout_ns=100))
    assert store.deadline() is None
    assert store.add(NAME, values(1), 50) == []
    assert store.add(NAME, values(2), 140) == []
    assert (store.deadline(), store.due(149)) == (150, [])
    assert told(store.due(150)) == [1, 2]
    assert store.deadline() is None


def test_memory_is_bounded_however_many_are_never_acknowledged(store: DigestStore) -> None:
    store.write(p4r.Update.INSERT, entry(size=1000, timeout_ns=3600 * SECOND, ack_ns=3600 * SECOND))
    for src in range(70_000):
        store.add(NAME, values(src), src)
    [digest] = store._on.values()
    assert len(digest.known) <= 65_536
    assert sum(len(messages) for _, messages in digest.sent.values()) == len(digest.known)
    # the oldest were forgotten, so they are told again
    assert told([found for src in range(1000) for found in store.add(NAME, values(src), 80_000)]) != []
