"""What comes over TCP, from ranks or the controller, can be anything: it is read, or refused by the error
that says so."""

import itertools
import json
from typing import Any

import pytest
from csaud.errors import RendezvousError
from csaud.frames import BadFrame, FrameReader, encode
from csaud.path_reports import PathReports
from csaud.rendezvous import Card, make_table, table_from_json, table_to_json
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
@settings(database=None, deadline=None, max_examples=300)
@given(st.lists(st.binary(max_size=40)))
def test_any_bytes_are_frames_or_refused(pieces: list[bytes]) -> None:
    reader = FrameReader(limit=1000)
    try:
        for piece in pieces:
            assert all(isinstance(message, dict) for message in reader.feed(piece))
    except BadFrame:
        pass


@seed(2)
@settings(database=None, deadline=None, max_examples=300)
@given(st.dictionaries(st.text(max_size=8), values, max_size=4), st.lists(st.integers(0, 400)))
def test_messages_survive_any_cut(message: dict[str, Any], cuts: list[int]) -> None:
    reader, data = FrameReader(), encode(message)
    ends = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    found = [read for start, end in itertools.pairwise(ends) for read in reader.feed(data[start:end])]
    assert json.dumps(found) == json.dumps([message])


def test_a_frame_nested_without_end_is_refused() -> None:
    with pytest.raises(BadFrame, match="not JSON"):
        FrameReader().feed(len(DEEP).to_bytes(4) + DEEP)


@seed(3)
@settings(database=None, deadline=None, max_examples=500)
@given(st.sampled_from(["cards", "epoch", "qkey", "mtu", "rank", "ipv4", "qpn", "mode"]), values)
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
@settings(database=None, deadline=None, max_examples=500)
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
