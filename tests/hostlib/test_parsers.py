"""What comes over TCP, from ranks or the controller, can be anything: it is read, or refused by the error
that says so."""

import contextlib
import itertools
import json
import socket
from typing import Any

import pytest
from csaud.errors import RendezvousError
from csaud.flight.record import Call, Record
from csaud.flight.recorder import Recorder
from csaud.groups.inquiries import Inquiries
from csaud.groups.path_reports import PathReports
from csaud.network.frames import BadFrame, FrameReader, encode
from csaud.rendezvous.guest import Guest
from csaud.rendezvous.table import Card, card_from_json, make_table, table_from_json, table_to_json
from hypothesis import given, seed, settings
from hypothesis import strategies as st

PATHS = 4
DEEP = b"[" * 60_000
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
)
tables = table_to_json(make_table([Card(rank, f"10.0.0.{rank}", 7, 4096, "raw") for rank in range(3)], 9))


@seed(1)
@settings(database=None, max_examples=300)
@given(st.lists(st.binary(max_size=40)))
def test_any_bytes_are_frames_or_refused(pieces: list[bytes]) -> None:
    reader = FrameReader(limit=1000)
    try:
        for piece in pieces:
            assert all(isinstance(message, dict) for message in reader.feed(piece))
    except BadFrame:
        pass


@seed(2)
@settings(database=None, max_examples=300)
@given(st.dictionaries(st.text(max_size=8), values, max_size=4), st.lists(st.integers(0, 400)))
def test_messages_survive_any_cut(message: dict[str, Any], cuts: list[int]) -> None:
    reader, data = FrameReader(), encode(message)
    ends = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    found = [read for start, end in itertools.pairwise(ends) for read in reader.feed(data[start:end])]
    assert json.dumps(found) == json.dumps([message])


def test_a_frame_nested_without_end_is_refused() -> None:
    with pytest.raises(BadFrame, match="not JSON"):
        FrameReader().feed(len(DEEP).to_bytes(4) + DEEP)


IMPOSSIBLE = [
    ("rank", -1), ("rank", 1 << 16), ("address", "somewhere"), ("address", "10.0.0.256"),
    ("address", "fe80::1%eth0"), ("qpn", 1),
    ("qpn", 1 << 24), ("mtu", 0), ("mtu", 1 << 20),
    ("uid", "u" * 300), ("door", "d" * 300), ("mode", "\x1b[2J"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), IMPOSSIBLE, ids=[f"{n}-{str(v)[:8]!r}" for n, v in IMPOSSIBLE])
def test_a_card_that_no_rank_can_have_is_refused_by_name(field: str, value: Any) -> None:
    """Whoever took it into a table would end the job of all."""
    fields = {**tables["cards"][1], field: value}
    with pytest.raises(ValueError, match=f"^{field} "):
        card_from_json(fields)
    message = json.loads(json.dumps(tables))
    message["cards"][1] = fields
    with pytest.raises(RendezvousError, match=field):
        table_from_json(message)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epoch", 0),
        ("epoch", 1 << 16),
        ("qkey", 1 << 31),
        ("mtu", 32),
        ("generation", -1),
        ("members", 4),
        ("auth_key", "no number"),
        ("auth_key", "00"),
        ("cards", []),
        ("cards", tables["cards"][::-1]),
    ],
)
def test_a_table_that_is_none_is_refused(field: str, value: Any) -> None:
    with pytest.raises(RendezvousError, match="cannot be read"):
        table_from_json({**tables, field: value})


@pytest.mark.parametrize("missing", [3, ["x"], [None]])
def test_a_refusal_that_names_nobody_is_still_a_refusal(missing: Any) -> None:
    ours, theirs = socket.socketpair()
    with contextlib.closing(ours), contextlib.closing(theirs):
        theirs.sendall(encode({"type": "refused", "reason": "full", "missing": missing}))
        with pytest.raises(RendezvousError, match="full"):
            Guest(ours).join(Card(1, "10.0.0.1", 7, 4096, "raw"), 3, 10.0)


@seed(3)
@settings(database=None, max_examples=500)
@given(st.sampled_from(["cards", "epoch", "qkey", "mtu", "rank", "address", "qpn", "mode"]), values)
def test_a_table_with_anything_in_it_is_read_or_refused(field: str, value: Any) -> None:
    message = json.loads(json.dumps(tables))
    if field in message:
        message[field] = value
    else:
        message["cards"][1][field] = value
    try:
        table = table_from_json(message)
    except RendezvousError:
        return
    assert isinstance(table.epoch, int) and all(isinstance(card.rank, int) for card in table.cards)


class Told:
    """Notes that rank 1 told."""

    def __init__(self, *notes: bytes) -> None:
        self._notes = list(notes)

    def tell(self, rank: int, note: bytes) -> None:
        raise AssertionError("nobody was to be told anything")

    def take_notes(self) -> dict[int, bytes]:
        return {1: self._notes.pop(0)} if self._notes else {}


@seed(5)
@settings(database=None, max_examples=300)
@given(
    st.lists(
        st.binary(max_size=60)
        | values.map(lambda value: json.dumps(value).encode())
        | st.tuples(*[st.integers(0, 1)] * 4, *[scalars] * 5).map(lambda note: json.dumps(note).encode()),
        max_size=4,
    )
)
def test_a_note_is_compared_or_changes_nothing(notes: list[bytes]) -> None:
    recorder = Recorder(8, 0, 2, 1, "")
    recorder.begin(Record(0, 1, Call("all_reduce.ring", "float32", 7, "sum"), 0, ()))
    inquiries = Inquiries(Told(*notes), recorder)
    for _ in notes:
        if (error := inquiries.hear()) is not None:
            assert str(error).isprintable()


def test_a_note_that_is_no_text_for_people_is_passed_over() -> None:
    recorder = Recorder(8, 0, 2, 1, "")
    recorder.begin(Record(0, 1, Call("barrier"), 0, ()))
    note = '[0,1,0,0,"%s","",-1,"",-1]'
    inquiries = Inquiries(Told((note % "\\u001b[2J").encode(), (note % "broadcast").encode()), recorder)
    assert inquiries.hear() is None
    assert "rank 1 broadcast" in str(inquiries.hear())


class Paths:
    """What a rank denies."""

    def __init__(self) -> None:
        self.denied: set[int] = set()

    def stats(self) -> dict[str, Any]:
        return {}

    def deny_path(self, path: int, denied: bool = True) -> None:
        assert 0 <= path < PATHS
        (self.denied.add if denied else self.denied.discard)(path)


answers = st.one_of(
    values,
    st.fixed_dictionaries({"ok": st.booleans() | values, "denied": values}),
    st.fixed_dictionaries(
        {"ok": st.just(True), "denied": st.lists(st.integers(-2, PATHS + 2) | st.floats())}
    ),
)


@seed(4)
@settings(database=None, max_examples=500)
@given(st.lists(st.binary(max_size=60) | answers.map(lambda answer: json.dumps(answer).encode()), max_size=4))
def test_an_answer_of_the_controller_is_obeyed_or_changes_nothing(lines: list[bytes]) -> None:
    paths = Paths()
    reports = PathReports(paths, 0, "10.0.0.1", PATHS, "unix:/nowhere", 1.0)
    for line in [*lines, DEEP]:
        before = set(paths.denied)
        try:
            reports.hear(line)
        except ValueError:
            assert paths.denied == before
        assert paths.denied == reports.denied and len(paths.denied) < PATHS
