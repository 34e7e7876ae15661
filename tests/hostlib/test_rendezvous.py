"""The rendezvous over real TCP connections, each rank in a thread."""

import contextlib
import socket
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import pytest
from csaud.errors import ConfigError, RendezvousError
from csaud.network.connections import connect
from csaud.network.frames import BadFrame, FrameReader, encode
from csaud.rendezvous.guest import Guest
from csaud.rendezvous.host import Host
from csaud.rendezvous.table import (
    LAST_EPOCH,
    PROTOCOL,
    Card,
    make_table,
    name_ranks,
    next_table,
    table_from_json,
    table_to_json,
)

from tests.support.descriptors import open_files

HOST = "127.0.0.1"
PATIENCE = 60.0
HELLO = {"type": "join", "protocol": PROTOCOL, "agreed": {}}


def card(rank: int, mtu: int = 4096, qpn: int | None = None) -> Card:
    return Card(rank, HOST, 0x100 + rank if qpn is None else qpn, mtu, "raw")


@pytest.fixture
def pool():
    with ThreadPoolExecutor(16) as executor:
        yield executor


@pytest.fixture
def open_host():
    hosts = []

    def make(world: int) -> Host:
        hosts.append(Host(HOST, 0, world))
        return hosts[-1]

    yield make
    for host in hosts:
        host.close()


def join(port: int, rank: int, world: int, mtu: int = 4096, agreed: dict | None = None) -> Guest:
    guest = Guest(connect(HOST, port, PATIENCE))
    guest.join(card(rank, mtu), world, PATIENCE, agreed)
    return guest


def test_all_ranks_get_the_same_table(pool, open_host):
    host = open_host(5)
    guests: list[Future[Guest]] = [pool.submit(join, host.port, rank, 5) for rank in (4, 2, 1, 3)]
    table = host.gather(card(0), 0, PATIENCE)
    assert [c.rank for c in table.cards] == [0, 1, 2, 3, 4]
    assert 1 <= table.epoch <= 65535 and 0 <= table.qkey < 1 << 31
    for guest in guests:
        assert guest.result().table == table
        guest.result().close()


def test_the_smallest_path_mtu_is_the_jobs(pool, open_host):
    host = open_host(2)
    guest = pool.submit(join, host.port, 1, 2, 1024)
    assert host.gather(card(0), 7, PATIENCE).mtu == 1024
    assert guest.result().table.epoch == 7
    guest.result().close()


def test_settings_that_differ_are_refused_by_name_at_all_ranks(pool):
    host = Host(HOST, 0, 3, {"window": 32, "paths": 16, "epoch": 0})
    guests = [
        pool.submit(join, host.port, 1, 3, agreed={"window": 64, "paths": 16, "epoch": 7}),
        pool.submit(join, host.port, 2, 3, agreed={"window": 32, "paths": 16, "epoch": 7}),
    ]
    words = "^window must be the same at every rank: 32 at rank 0 and rank 2, 64 at rank 1$"
    with contextlib.closing(host), pytest.raises(ConfigError, match=words):
        host.gather(card(0), 7, PATIENCE)
    for guest in guests:
        with pytest.raises(ConfigError, match=words):
            guest.result()


def test_epochs_wrap_and_ranks_keep_their_order():
    """Epoch 0 is none; newcomers come last."""
    first = make_table([card(rank) for rank in range(4)], LAST_EPOCH)
    new = Card(0, HOST, 0x900, 1024, "raw", "new")
    second = next_table(first, [3, 1], [new])
    assert (second.epoch, second.generation, second.job, second.mtu) == (1, 1, first.job, 1024)
    assert [(c.rank, c.qpn) for c in second.cards] == [(0, 0x101), (1, 0x103), (2, 0x900)]
    assert next_table(second, [0]).epoch == 2


def test_a_machine_that_is_gone_without_a_word_is_found_gone(pool, open_host, monkeypatch):
    """By the kernel, at either end: newcomers wait for hours, and try another member then."""
    kept: list[bool] = []
    receives = socket.socket.recv

    def recv(self, *arguments):
        kept.append(bool(self.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)))
        return receives(self, *arguments)

    host = open_host(2)
    monkeypatch.setattr(socket.socket, "recv", recv, raising=False)
    guest = pool.submit(join, host.port, 1, 2)
    host.gather(card(0), 0, PATIENCE)
    guest.result().close()
    assert len(kept) >= 2 and all(kept)


def test_missing_ranks_are_named_on_both_sides(pool, open_host):
    host = open_host(4)
    guest = pool.submit(join, host.port, 2, 4)
    with pytest.raises(RendezvousError, match=r"ranks 1 and 3 of 4 did not come .* within 0.5 s") as failure:
        host.gather(card(0), 0, 0.5)
    assert failure.value.missing == (1, 3)
    with pytest.raises(RendezvousError, match="ranks 1 and 3 of 4") as told:
        guest.result()
    assert told.value.missing == (1, 3)


def test_a_host_at_all_addresses_is_known_by_the_one_at_which_it_was_reached(pool):
    host = Host("0.0.0.0", 0, 3)
    try:
        with pytest.raises(RendezvousError, match="ranks 1 and 2 of 3 did not come") as failure:
            host.reached_at(0.1)
        assert failure.value.missing == (1, 2)
        guest = Guest(connect("127.0.0.77", host.port, PATIENCE))
        joined = pool.submit(guest.join, card(1), 3, 1.0)
        assert host.reached_at(PATIENCE) == "127.0.0.77"
        with pytest.raises(RendezvousError, match="rank 2 of 3 did not come"):
            host.gather(card(0), 0, 0.1)
        with pytest.raises(RendezvousError, match="rank 2 of 3"):
            joined.result()
        guest.close()
    finally:
        host.close()


def test_a_missing_rank_0_is_named():
    with socket.socket() as unused:
        unused.bind((HOST, 0))  # bound but not listening: refuses
        with pytest.raises(RendezvousError, match="rank 0 was not at"):
            connect(HOST, unused.getsockname()[1], 0.2)


def test_a_rank_that_gives_up_and_comes_again_is_let_in(pool, open_host):
    host = open_host(3)
    gathering = pool.submit(host.gather, card(0), 0, PATIENCE)
    first = connect(HOST, host.port, PATIENCE)
    Guest(first)._sock.sendall(
        encode(
            {
                "type": "join",
                "protocol": PROTOCOL,
                "world": 3,
                "card": table_to_json_card(card(1)),
                "agreed": {},
            }
        )
    )
    first.close()
    one, two = pool.submit(join, host.port, 2, 3), None
    two = pool.submit(join_until_admitted, host.port, 1, 3)
    assert len(gathering.result().cards) == 3
    one.result().close()
    two.result().close()


def table_to_json_card(c: Card) -> dict:
    return table_to_json(make_table([c], 1))["cards"][0]


def join_until_admitted(port: int, rank: int, world: int) -> Guest:
    """Rank 0 may read the goodbye of the first attempt after the second one's hello."""
    for _ in range(100):
        try:
            return join(port, rank, world)
        except RendezvousError as error:
            assert "has joined already" in str(error)
    raise AssertionError("never admitted")


def test_strangers_and_other_jobs_are_refused_and_disturb_nobody(pool, open_host):
    host = open_host(2)
    gathering = pool.submit(host.gather, card(0), 0, PATIENCE)
    for noise in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xff\xff\xff",
        encode({"type": "what"}),
        b"\0\0\0\2[]",
        b"",
    ):
        with socket.create_connection((HOST, host.port)) as stranger:
            stranger.sendall(noise)
    with pytest.raises(RendezvousError, match="counts 3 ranks, rank 0 counts 2"):
        join(host.port, 1, 3)
    with pytest.raises(RendezvousError, match="rank 7 is not one of the others, 1 to 1"):
        join(host.port, 7, 2)
    guest = join(host.port, 1, 2)
    assert len(gathering.result().cards) == 2
    guest.close()


@pytest.mark.parametrize(
    ("hello", "reason"),
    [
        ({"protocol": PROTOCOL + 1}, f"it speaks protocol {PROTOCOL + 1}, rank 0 speaks {PROTOCOL}"),
        ({"protocol": "x" * 99}, f"it speaks protocol '{'x' * 39}, rank 0 speaks {PROTOCOL}"),
        ({"world": 2, "card": {}}, "its card cannot be read: KeyError('address')"),
        ({"world": 2, "card": [1]}, "its card cannot be read: TypeError("),
    ],
    ids=["a later version", "no version", "no card", "no fields"],
)
def test_who_cannot_be_understood_is_told_why(pool, open_host, hello, reason):
    host = open_host(2)
    gathering = pool.submit(host.gather, card(0), 0, PATIENCE)
    with socket.create_connection((HOST, host.port)) as other:
        other.sendall(encode({**HELLO, **hello}))
        (answer,) = FrameReader().feed(b"".join(iter(lambda: other.recv(4096), b"")))
    assert answer["type"] == "refused" and answer["reason"].startswith(reason)
    guest = join(host.port, 1, 2)
    assert len(gathering.result().cards) == 2
    guest.close()


TABLE = table_to_json(make_table([card(0), card(1)], 1))


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "lost rank 0 at the rendezvous: it closed the connection"),
        (b"HTTP/1.1 400 Bad Request\r\n", "lost rank 0 at the rendezvous: "),
        (encode({"type": "hello"}), "rank 0 sent 'hello', expected 'table'"),
        (encode({}), "rank 0 sent None, expected 'table'"),
        (encode(TABLE), "rank 0 sent a table of 2 ranks, expected 3"),
        (encode({"type": "table"}), "rank 0 sent a table that cannot be read: KeyError('cards')"),
        (encode({"type": "refused", "reason": "no", "missing": [2, "x"]}), "no"),
    ],
    ids=["nothing", "no frame", "no table", "no type", "another job", "no cards", "refused"],
)
def test_what_rank_0_cannot_have_said_ends_a_guest_with_a_sentence(pool, answer, why):
    with socket.create_server((HOST, 0)) as listener:
        guest = pool.submit(join, listener.getsockname()[1], 1, 3)
        connection, _ = listener.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(answer)
        with pytest.raises(RendezvousError) as failure:
            guest.result()
    assert str(failure.value).startswith(why)
    assert failure.value.missing in {(), (0,), (2,)}


def test_a_silent_rank_0_is_given_up_and_named():
    """Two seconds after it had to give up itself."""
    with socket.create_server((HOST, 0)) as listener:
        guest = Guest(connect(HOST, listener.getsockname()[1], PATIENCE))
        with contextlib.closing(guest), pytest.raises(RendezvousError) as failure:
            guest.join(card(1), 2, -1.9)
    assert (str(failure.value), failure.value.missing) == ("rank 0 did not answer within 0.1 s", (0,))


def test_two_ranks_of_one_number_are_refused(pool, open_host):
    host = open_host(3)
    gathering = pool.submit(host.gather, card(0), 0, PATIENCE)
    attempts = {pool.submit(join, host.port, 1, 3) for _ in range(3)}
    admitted = set(attempts)
    while len(admitted) > 1:
        done, admitted = wait(admitted, PATIENCE, return_when=FIRST_COMPLETED)
        for attempt in done:
            assert "rank 1 has joined already" in str(attempt.exception())
    guest = join(host.port, 2, 3)
    gathering.result()
    admitted.pop().result().close()
    guest.close()


def test_who_comes_after_the_table_is_made_is_refused(open_host):
    host = open_host(1)
    host.gather(card(0), 0, PATIENCE)
    with pytest.raises(RendezvousError, match="rank 0 was not at"):
        connect(HOST, host.port, 0.1)


def test_equal_queue_pairs_at_one_address_are_refused():
    with pytest.raises(RendezvousError, match="ranks 0 and 1 both are QP 0x000200"):
        make_table([card(0, qpn=0x200), card(1, qpn=0x200)], 1)


def test_a_taken_port_and_a_foreign_address_are_named(open_host):
    """And no socket stays open as long as the error is kept."""
    host = open_host(1)
    before = open_files()
    with pytest.raises(ConfigError, match=f"port {host.port} at 127.0.0.1 is taken") as taken:
        Host(HOST, host.port, 2)
    with pytest.raises(ConfigError, match=r"MASTER_ADDR=192\.0\.2\.1 is not an address") as foreign:
        Host("192.0.2.1", 0, 2)
    assert not open_files() - before
    assert taken.tb is not None and foreign.tb is not None


def test_frames_survive_any_cut():
    messages = [{"n": n, "text": "x" * n} for n in range(40)]
    stream = b"".join(encode(message) for message in messages)
    for step in (1, 3, 7, len(stream)):
        reader = FrameReader()
        seen = [m for i in range(0, len(stream), step) for m in reader.feed(stream[i : i + step])]
        assert seen == messages


@pytest.mark.parametrize("bad", [b"\0\0\0\1{", b"\0\0\0\4null", b"\x7f\0\0\0"])
def test_what_is_no_frame_is_refused(bad):
    with pytest.raises(BadFrame):
        FrameReader().feed(bad)


def test_tables_travel_unchanged_and_broken_ones_are_refused():
    table = make_table([card(0), card(1)], 5)
    assert table_from_json(table_to_json(table)) == table
    with pytest.raises(RendezvousError, match="cannot be read"):
        table_from_json({**table_to_json(table), "cards": [{"rank": 0}]})


def test_many_ranks_are_listed_shortly():
    assert name_ranks([3], 8) == "rank 3 of 8"
    assert name_ranks(list(range(1, 40)), 64).endswith("15, 16 and 23 more of 64")
