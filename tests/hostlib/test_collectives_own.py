"""Collectives of one's own: registered, checked in one process, run; and what is told of calls afterwards."""

import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import csaud
import numpy as np
import pytest
from csaud import schedules
from csaud.collectives import registry
from csaud.errors import ConfigError
from csaud.flight.record import Call, Record
from csaud.flight.recorder import Recorder
from csaud.flight.totals import Totals
from csaud.flight.trace import events, merge_traces, write_trace
from csaud.groups.group import Group
from csaud.schedules import Buffer, Recv, Reduce, Region, Schedule, Send
from csaud.testing import assert_bit_equal

from tests.hostlib.group_ranks import everywhere, values
from tests.hostlib.jobs import Job

COUNT = 500


def shift(rank: int, size: int, count: int, longest: int, root: int = 0) -> Schedule:
    """SOURCE goes to the next rank; what comes is added to DATA. Longer than one message it is not."""
    whole = Region(Buffer.SCRATCH, 0, count)
    return Schedule(
        (
            Send((rank + 1) % size, 0, 0, Region(Buffer.SOURCE, 0, count)),
            Recv((rank - 1) % size, 0, 0, whole),
            Reduce(Region(Buffer.DATA, 0, count), whole, Region(Buffer.DATA, 0, count), (1,)),
        ),
        scratch=count,
        steps=1,
    )


@pytest.fixture(autouse=True)
def own_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "_BUILDERS", dict(registry._BUILDERS))
    return


@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_registered_schedule_runs_as_it_does_in_one_process(size: int) -> None:
    schedules.register("shift", shift)
    sources = [values(rank, 30, "float64") for rank in range(size)]

    def work(group: Group) -> Any:
        array = np.full(30, 0.5)
        handle = group.run("shift", array, source=sources[group.rank], op="sum", wait=False)
        assert handle.wait(60)
        twice = array.copy()
        group.run("shift", twice, source=sources[group.rank], op="sum", root=0)
        return array, twice

    rehearsed = [np.full(30, 0.5) for _ in range(size)]
    schedules.rehearse("shift", rehearsed, "sum", sources=sources)
    for rank, (once, twice) in enumerate(everywhere(size, work)):
        assert_bit_equal(once, rehearsed[rank])
        assert_bit_equal(once, 0.5 + sources[rank - 1])
        assert_bit_equal(twice, once + sources[rank - 1])


def halves(rank: int, size: int, count: int, longest: int) -> Schedule:
    """To the next rank in two messages of one step, however short they are."""
    parts = [Region(Buffer.DATA, 0, count // 2), Region(Buffer.DATA, count // 2, count - count // 2)]
    goals = [Region(Buffer.SCRATCH, part.start, part.count) for part in parts]
    operations = [Send((rank + 1) % size, 0, chunk, part) for chunk, part in enumerate(parts)]
    operations += [Recv((rank - 1) % size, 0, chunk, goal) for chunk, goal in enumerate(goals)]
    operations += [Reduce(part, goals[i], part, (i, 2 + i)) for i, part in enumerate(parts)]
    return Schedule(tuple(operations), scratch=count, steps=1)


@pytest.mark.parametrize("name", [f"halves{n}" for n in range(8)])  # of names some have odd signatures
def test_messages_of_one_step_may_be_short_and_many(name: str) -> None:
    schedules.register(name, halves)

    def work(group: Group) -> Any:
        array = np.full(10, group.rank + 1.0)
        group.run(name, array, op="sum")
        return array

    for array in everywhere(2, work):
        assert_bit_equal(array, np.full(10, 3.0))


def test_what_cannot_run_is_found_before() -> None:
    schedules.register("alone", shift)
    with pytest.raises(ConfigError, match="alone: rank 0 sends itself a message"):
        schedules.check("alone", 1, 30)
    schedules.register(
        "uneven", lambda rank, **known: dataclasses.replace(shift(rank, **known), steps=1 + rank % 2)
    )
    with pytest.raises(ConfigError, match="uneven: the ranks' schedules differ in steps"):
        schedules.check("uneven", 2, 30)


@pytest.mark.parametrize("twice", [Send, Recv], ids=["sent", "expected"])
def test_a_message_that_is_there_twice_is_named(twice: type) -> None:
    def build(rank: int, size: int, count: int, longest: int) -> Schedule:
        made = shift(rank, size, count, longest)
        again = [op for op in made.operations if isinstance(op, twice)]
        return dataclasses.replace(made, operations=(*made.operations, *again))

    schedules.register("twice", build)
    with pytest.raises(ConfigError) as raised:
        schedules.check("twice", 3, 30)
    words = "a message of the same peer, step and chunk as another"
    assert str(raised.value) == f"twice, rank 0 of 3: operation 3 of a schedule: {words}"


def test_a_rehearsal_that_reduces_is_told_how() -> None:
    schedules.register("shift", shift)
    arrays = [np.zeros(3), np.zeros(3)]
    with pytest.raises(ConfigError) as raised:
        schedules.rehearse("shift", arrays, sources=[np.ones(3)] * 2)
    assert str(raised.value) == "shift: it reduces, and no op is given"
    assert not np.any(arrays)


def test_a_rehearsed_all_gather_has_all_parts_at_all_ranks() -> None:
    chunk = np.repeat([0, 1, 2], [4, 3, 3])
    arrays = [np.where(chunk == rank, rank + 1.0, 0.0) for rank in range(3)]
    schedules.rehearse("all_gather.ring", arrays, longest=3)
    for array in arrays:
        assert_bit_equal(array, chunk + 1.0)


@pytest.mark.parametrize("name", ["broadcast", "all_to_all", "gather_v", "transfer", "reduce_scatter"])
def test_names_of_the_librarys_calls_are_taken(name: str) -> None:
    with pytest.raises(ConfigError, match=f"'{name}' is a collective of the library"):
        schedules.register(name, shift)


@pytest.mark.parametrize("name", ["all_reduce.ring", "all_reduce.halving_doubling"])
def test_a_rehearsal_of_the_librarys_own_gives_their_result(name: str) -> None:
    arrays = [values(rank, COUNT, "int64") for rank in range(5)]
    expected = np.sum(arrays, axis=0)
    schedules.rehearse(name, arrays, "sum", longest=64)
    for array in arrays:
        assert_bit_equal(array, expected)


def altered(**changes: Any) -> Any:
    """`shift` with other operations at rank 1."""

    def build(rank: int, size: int, count: int, longest: int) -> Schedule:
        made = shift(rank, size, count, longest)
        if rank != 1:
            return made
        operations = [
            dataclasses.replace(op, **changes[type(op).__name__]) if type(op).__name__ in changes else op
            for op in made.operations
        ]
        return dataclasses.replace(made, operations=tuple(operations))

    return build


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"Send": {"dst": 0}},
            r"message \(step 0, chunk 0\) from rank 1 to rank 0: 30 elements sent, not exp",
        ),
        (
            {"Send": {"region": Region(Buffer.SOURCE, 0, 29)}},
            "from rank 1 to rank 2: 29 elements sent, 30 elem",
        ),
        (
            {"Recv": {"src": 2}},
            r"message \(step 0, chunk 0\) from rank 0 to rank 1: 30 elements sent, not expected",
        ),
        ({"Reduce": {"after": (2,)}}, "rank 1 of 3: operation 2 of a schedule: it waits for one that is not"),
        ({"Send": {"after": (), "step": 1}}, "operation 0 of a schedule: a step beyond the last one"),
    ],
)
def test_schedules_that_do_not_fit_together_are_named(changes: dict[str, Any], why: str) -> None:
    schedules.register("wrong", altered(**changes))
    with pytest.raises(ConfigError, match=why):
        schedules.check("wrong", 3, 30)


def test_a_schedule_in_which_all_wait_for_each_other_is_found() -> None:
    def build(rank: int, size: int, count: int, longest: int) -> Schedule:
        whole = Region(Buffer.DATA, 0, count)
        return Schedule((Recv(1 - rank, 0, 0, whole), Send(1 - rank, 0, 0, whole, (0,))), 0, 1)

    schedules.register("deadlock", build)
    schedules.check("deadlock", 2, 5)
    with pytest.raises(ConfigError, match="operation 0 of rank 0 waits for ever"):
        schedules.rehearse("deadlock", [np.zeros(5), np.zeros(5)])


def test_what_a_schedule_needs_and_is_not_given_is_named() -> None:
    schedules.register("shift", shift)
    for call, why in (
        (lambda g: g.run("shift", np.zeros(3)), "the schedule reduces, but no reduction was given"),
        (lambda g: g.run("shift", np.zeros(3), op="sum"), "the source has 0 elements, the schedule needs 3"),
        (
            lambda g: g.run("shift", np.zeros(3), source=np.zeros(3, int)),
            "array is float64, and source int64",
        ),
        (lambda g: g.run("shifted", np.zeros(3)), "there is no collective 'shifted'"),
    ):
        with pytest.raises(ConfigError, match=why):
            everywhere(2, call)


def test_reductions_of_which_each_waits_for_the_one_before_may_be_very_many() -> None:
    count = 200_000

    def build(rank: int, size: int, **_: int) -> Schedule:
        total, come = Region(Buffer.DATA, 0, 1), Region(Buffer.SCRATCH, 0, 1)
        messages = (Send(1 - rank, 0, 0, total), Recv(1 - rank, 0, 0, come))
        sums = [Reduce(total, come, total, (0, 1) if i == 0 else (i + 1,)) for i in range(count)]
        return Schedule((*messages, *sums), scratch=1, steps=1)

    schedules.register("deep", build)

    def work(group: Group) -> Any:
        array = np.ones(1, np.int64)
        group.run("deep", array, op="sum")
        return array[0]

    assert everywhere(2, work) == [1 + count] * 2


def test_the_example_adds_up_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    example = Path(__file__).parents[2] / "examples" / "own_schedule.py"
    source = example.read_text().partition("with csaud.init()")[0]
    scope: dict[str, Any] = {}
    exec(compile(source, str(example), "exec"), scope)
    for size in (2, 3, 5):
        arrays = [values(rank, COUNT, "int64") for rank in range(size)]
        expected = [arrays[rank] + arrays[rank - 1] + arrays[(rank + 1) % size] for rank in range(size)]
        schedules.rehearse("neighbour_sum", arrays, "sum", longest=99)
        for found, wanted in zip(arrays, expected, strict=True):
            assert_bit_equal(found, wanted)


def test_calls_are_counted_by_collective_and_group() -> None:
    def work(group: Group) -> Any:
        part = group.split(0)
        assert part is not None
        for _ in range(3):
            part.all_reduce(np.zeros(100), algorithm="ring")
        part.barrier(wait=False).wait()
        return part.collective_stats(), set(group.collective_stats())

    for found, of_all in everywhere(2, work):
        assert {name: (each.calls, each.nbytes) for name, each in found.items()} == {
            "all_reduce.ring": (3, 2400),
            "barrier": (1, 0),
        }
        assert of_all == {"all_gather"}


def record(number: int, started: int, ended: int, comm: int = 0) -> Record:
    return Record(comm, number, Call("all_reduce.ring", "float32", 7, "sum"), 28, (0, 1), started=started,
                  ended=ended)  # fmt: skip


def test_a_trace_shows_what_overlaps_side_by_side(tmp_path: Path) -> None:
    records = [record(0, 1000, 9000), record(1, 2000, 3000), record(2, 4000, 5000), record(3, 10_000, 11_000),
               record(0, 1500, 1600, comm=2), record(4, 12_000, 0)]  # fmt: skip
    records[0].waited.append((6000, 9000))
    found = events(records, 3, 1_000_000)
    spans = [(e["tid"], e["args"].get("number"), e["ts"], e["dur"]) for e in found if e["ph"] == "X"]
    assert spans == [
        (0, 0, 1001.0, 8.0), (65_536_000, None, 1006.0, 3.0), (2000, 0, 1001.5, 0.1), (1, 1, 1002.0, 1.0),
        (1, 2, 1004.0, 1.0), (0, 3, 1010.0, 1.0),
    ]  # fmt: skip
    names = {e["tid"]: e["args"]["name"] for e in found if e["name"] == "thread_name"}
    assert names == {
        0: "communicator 0", 1: "communicator 0", 2000: "communicator 2", 65_536_000: "the application waits",
    }  # fmt: skip
    for rank in range(2):
        write_trace(tmp_path / f"epoch-1-rank-{rank}-9.trace.json", events(records, rank, 0))
    assert merge_traces(tmp_path, tmp_path / "all.json") == 2
    merged = json.loads((tmp_path / "all.json").read_text())["traceEvents"]
    assert {e["pid"] for e in merged} == {0, 1}
    with pytest.raises(ConfigError, match=r"no traces .* setting trace_dir"):
        merge_traces(tmp_path / "nowhere", tmp_path / "x.json")
    (tmp_path / "epoch-1-rank-7-9.trace.json").write_text("[")
    with pytest.raises(ConfigError, match=r"rank-7-9.trace.json: it cannot be read as a trace"):
        merge_traces(tmp_path, tmp_path / "x.json")


def test_a_recorder_gives_its_records_as_a_trace() -> None:
    recorder = Recorder(16, 1, 2, 5, "")
    recorder.begin(one := record(0, 0, 0))
    assert [e["ph"] for e in recorder.trace()] == ["M"]
    one.ended = one.started + 5_000_000_000
    recorder.end(one)
    assert recorder.totals(0) == {"all_reduce.ring": Totals(1, 28, 5.0, 5.0)}
    assert sum(e["ph"] == "X" for e in recorder.trace()) == 1


def test_a_collective_that_ended_well_is_found_by_its_name_whatever_the_algorithm_is_called() -> None:
    recorder = Recorder(16, 1, 2, 5, "")
    names = ["all_reduce.ring", "all_reduce.two.trees", "barrier", "mine.all_reduce"]
    for number, name in enumerate(names):
        recorder.begin(Record(0, number, Call(name), 28, (0, 1), ended=1))
    recorder.begin(Record(0, 8, Call("all_reduce.ring"), 28, (0, 1)))
    recorder.begin(Record(0, 9, Call("all_reduce.ring"), 28, (0, 1), ended=1, error="Timeout"))
    assert [found.call.name for found in recorder.ended("all_reduce")] == names[:2]
    assert [found.call.name for found in recorder.ended("barrier")] == ["barrier"]


def test_a_job_writes_its_trace_when_asked_and_says_where_it_cannot(tmp_path: Path) -> None:
    with csaud.init(environ={}) as comm:
        comm.all_reduce(np.ones(3))
        comm.trace(tmp_path / "new" / "trace.json")
        with pytest.raises(IsADirectoryError):
            comm.trace(tmp_path)
    found = json.loads((tmp_path / "new" / "trace.json").read_text())["traceEvents"]
    assert [event["args"]["bytes"] for event in found if event.get("cat") == "collective"] == [24]


@pytest.mark.parametrize(("sends", "way"), [(True, "to"), (False, "from")])
def test_a_transfer_has_its_other_end_in_a_trace(sends: bool, way: str) -> None:
    record = Record(0, 4, Call("transfer", "int8", 5), 5, (0, 1), peer=1, sends=sends, started=1, ended=2)
    assert str(record) == f"transfer(5 x int8) {way} rank 1 (number 4 of communicator 0)"
    (event,) = [event for event in events([record], 0, 0) if event["ph"] == "X"]
    assert event["args"] == {"number": 4, "bytes": 5, "call": "transfer(5 x int8)", way: 1}


def test_ranks_of_a_job_leave_traces_that_are_put_together(tmp_path: Path) -> None:
    arguments = {"sums": [[1000, "float32", 2]], "settings": {"trace_dir": str(tmp_path / "traces")}}
    with Job(2, "sums", arguments) as job:
        assert [end["error"] for end in job.ends()] == [None, None]
    path = tmp_path / "all.json"
    command = [sys.executable, "-m", "csaud", "flight", str(tmp_path / "traces"), "--trace", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "traces of 2 ranks" in done.stdout
    found = json.loads(path.read_text())["traceEvents"]
    assert {e["pid"] for e in found if e["name"].startswith("all_reduce")} == {0, 1}
    assert sum(e["name"] == "wait: barrier" for e in found) == 2
    assert all(e["dur"] > 0 for e in found if e["ph"] == "X")
