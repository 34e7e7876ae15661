"""The control socket: what each request changes, and above all what it leaves alone."""

import asyncio
import json
import os
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest
from csaud_controller.control import client
from csaud_controller.control import server as server_module
from csaud_controller.control.alarms import KEPT, AlarmLog
from csaud_controller.control.client import ControlError, RefusedError, ask, wait_served
from csaud_controller.control.server import ControlServer
from csaud_controller.desired.changes import Changes
from csaud_controller.desired.store import Stored
from csaud_controller.policy.drains import Drain, Drains
from csaud_controller.policy.faults import FaultRule, Faults
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.run.directory import RunDir

from tests.controller.soft import PATIENCE_S, controller, programmed, run_directory, switches

Ask = Callable[..., Awaitable[dict[str, Any]]]

BEFORE = Intent(
    policy=Policy(spray="flowlet", trim_dscp=11, denied_paths=(5,)),
    faults=Faults(rules=(FaultRule(probability=0.01), FaultRule(where="l1-s2", probability=0.5))),
    drains=Drains(rules=(Drain(what="l1-s1"),)),
)
"""Nothing in it is a default, so that whatever is lost shows."""


@asynccontextmanager
async def served(run: RunDir) -> AsyncIterator[tuple[Any, Ask]]:
    """A controller that begins with BEFORE and serves its socket, and what asks it without waiting for
    switches."""
    async with controller(run, stored=Stored(intent=BEFORE)) as made:
        server = ControlServer(made, run.control_socket)
        serving = asyncio.create_task(server.serve())
        await asyncio.to_thread(wait_served, run.control_socket, PATIENCE_S)
        try:
            yield made, partial(asyncio.to_thread, partial(ask, run.control_socket, timeout_s=0))
        finally:
            server.stopped.set()
            await serving


def with_controller(body: Callable[[Any, Ask], Awaitable[None]]) -> None:
    async def main() -> None:
        with run_directory() as run:
            async with served(run) as (made, request):
                await body(made, request)

    asyncio.run(main())


@contextmanager
def answering(answer: bytes | None) -> Iterator[Path]:
    """The socket of whoever answers one request so, and ends; None: not at all."""
    with socket.socket(socket.AF_UNIX) as listening, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "controller.sock"
        listening.bind(str(path))
        listening.listen()

        def one() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.makefile("rb").readline()
                connection.sendall(answer or b"")

        with ThreadPoolExecutor() as pool:
            if answer is not None:
                pool.submit(one)
            yield path


def test_the_pid_of_a_controller_is_that_by_which_whoever_asks_knows_it() -> None:
    with answering(b'{"ok": true, "pid": 123456789}\n') as path:  # in a namespace of its own
        assert ask(path, "status")["pid"] == os.getpid()


@pytest.mark.parametrize("answer", [b"", b'{"ok": true, "sta', b'{"ok": true}'])
def test_a_controller_that_ends_within_its_answer_is_told(answer: bytes) -> None:
    with answering(answer) as path, pytest.raises(ControlError) as told:
        ask(path, "status")
    assert str(told.value) == f"the controller at {path} ended without an answer"


def test_a_controller_that_says_nothing_is_not_waited_for_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client, "_MARGIN_S", 0.05)
    with answering(None) as path, pytest.raises(ControlError) as told:
        ask(path, "status", timeout_s=0)
    assert str(told.value) == f"the controller at {path} gave no answer within 0.05 s"


def test_a_socket_with_too_long_a_path_is_named(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 100) / "controller.sock"
    path.parent.mkdir()
    with pytest.raises(ControlError, match=f"^the controller at {path} cannot be reached: AF_UNIX path too"):
        ask(path, "status")


def test_who_waits_for_a_controller_rests_between_its_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        """On which only those who sleep let time go by."""

        now, looks = 0.0, 0

        def monotonic(self) -> float:
            return self.now

        def sleep(self, seconds: float) -> None:
            self.now += seconds

        def look(self, path: Path) -> bool:
            self.looks += 1
            return self.looks > 100_000

    clock = Clock()
    monkeypatch.setattr(client, "time", clock)
    monkeypatch.setattr(client, "is_served", clock.look)
    with pytest.raises(ControlError, match="no controller serves /nowhere after 30 s"):
        wait_served(Path("/nowhere"), 30.0)
    assert 30.0 < clock.now < 31.0


def test_a_client_that_says_no_more_is_let_go() -> None:
    """Its answers come first, also those to lines that are no requests."""

    async def main() -> bytes:
        with run_directory() as run:
            async with served(run), asyncio.timeout(PATIENCE_S):
                reader, writer = await asyncio.open_unix_connection(run.control_socket)
                writer.write(b'{"op": "intent"}\nno JSON\n')
                writer.write_eof()
                answers = await reader.read()
                writer.close()
                return answers

    assert [json.loads(answer)["ok"] for answer in asyncio.run(main()).splitlines()] == [True, False]


async def until(reached: Callable[[], bool]) -> None:
    while not reached():
        await asyncio.sleep(0)


UPLINKS, ONE_LINK = BEFORE.faults.rules
WORSE = FaultRule(probability=0.2, signalled=True)


@pytest.mark.parametrize(
    ("op", "arguments", "after"),
    [
        ("status", {}, BEFORE),
        ("intent", {}, BEFORE),
        ("changes", {}, BEFORE),
        ("alarms", {}, BEFORE),
        ("paths.stats", {}, BEFORE),
        ("wait", {}, BEFORE),
        (
            "policy.set",
            {"policy": {"spray": "ecmp"}},
            BEFORE.model_copy(update={"policy": BEFORE.policy.model_copy(update={"spray": "ecmp"})}),
        ),
        (
            "fault.set",
            {"rule": {"probability": 0.2, "signalled": True}},
            BEFORE.model_copy(update={"faults": Faults(rules=(ONE_LINK, WORSE))}),
        ),
        (
            "fault.clear",
            {"where": "l1-s2"},
            BEFORE.model_copy(update={"faults": Faults(rules=(UPLINKS,))}),
        ),
        ("fault.clear", {"where": None}, BEFORE.model_copy(update={"faults": Faults()})),
        ("fault.clear", {}, BEFORE.model_copy(update={"faults": Faults()})),
        ("links", {}, BEFORE),
        (
            "drain.set",
            {"what": "l2-s1"},
            BEFORE.model_copy(update={"drains": Drains(rules=(Drain(what="l1-s1"), Drain(what="l2-s1")))}),
        ),
        (
            "drain.set",
            {"what": "l1-s2", "force": True},
            BEFORE.model_copy(
                update={"drains": Drains(rules=(Drain(what="l1-s1"), Drain(what="l1-s2", force=True)))}
            ),
        ),
        ("drain.clear", {"what": "l1-s1"}, BEFORE.model_copy(update={"drains": Drains()})),
        ("drain.clear", {}, BEFORE.model_copy(update={"drains": Drains()})),
        ("drain.clear", {"what": "s1:1"}, BEFORE.model_copy(update={"drains": Drains()})),
    ],
)
def test_a_request_changes_what_it_names_and_nothing_else(op: str, arguments: dict, after: Intent) -> None:
    async def body(made: Any, request: Ask) -> None:
        generation = made.generation
        await request(op, **arguments)
        answer = await request("intent")
        assert Intent.model_validate(answer["intent"]) == after
        assert (made.generation > generation) == (after != BEFORE)

    with_controller(body)


@pytest.mark.parametrize(
    ("op", "arguments"),
    [
        ("policy.set", {"policy": {"spray": "ecmp", "limits": {"trim_at": 100_000}}}),
        ("policy.set", {"policy": {"spray": "ecmp", "overrides": [{"to": "s1", "spray": "host"}]}}),
        ("policy.set", {"policy": ["spray"]}),
        ("policy.set", {}),
        ("fault.set", {"rule": {"probability": 0.5, "where": "l1-l2"}}),
        ("fault.set", {"rule": {"where": "l1"}}),
        ("fault.clear", {"where": "l2-s9"}),
        ("fault.clear", {"where": ["uplinks"]}),
        ("drain.set", {"what": "l1-s2"}),
        ("drain.set", {"what": "l1-l2"}),
        ("drain.set", {}),
        ("drain.clear", {"what": "s9"}),
        ("changes", {"since": "yesterday"}),
        ("alarms", {"since": None}),
        ("paths.report", {"host": "10.0.1.1", "rank": 0, "tx": [1], "lost": [0]}),
    ],
)
def test_a_refused_request_changes_nothing(op: str, arguments: dict) -> None:
    async def body(made: Any, request: Ask) -> None:
        before = made.intent, made.generation, made.changes.total, await request("paths.stats")
        with pytest.raises(RefusedError):
            await request(op, **arguments)
        assert (made.intent, made.generation, made.changes.total, await request("paths.stats")) == before

    with_controller(body)


def test_changes_are_told_with_the_time_when_every_switch_held_them() -> None:
    async def main() -> None:
        with run_directory() as run:
            async with served(run) as (made, request):
                await request("policy.set", policy={"spray": "ecmp", "limits": {"trim_at": 20}})
                await request("policy.set", policy={"spray": "ecmp"})  # as it is already
                await request("fault.clear", where="l1-s2")
                waiting = await request("changes")
                async with switches(run):
                    await programmed(made)
                    await request("fault.set", rule={"probability": 0.05})
                    await programmed(made)
                    told = await request("changes", since=1)
        assert waiting["total"] == 2
        first, second = waiting["changes"]
        assert (first["number"], first["in_force"]) == (1, None)
        assert set(first["what"]) == {"policy.spray: flowlet -> ecmp", "policy.limits.trim_at: null -> 20"}
        rule = "0.5 of data+control, silent, seed 1"
        assert second["what"] == [f"fault l1-s2: {rule} -> none"]
        assert told["total"] == 3
        assert [change["number"] for change in told["changes"]] == [2, 3]
        assert all(change["time"] <= change["in_force"] for change in told["changes"])
        assert told["changes"][-1]["intent"] == told["intent"]

    asyncio.run(main())


def test_changes_and_alarms_after_a_number_are_those_after_it() -> None:
    changes, alarms = Changes(), AlarmLog()
    for number in range(1, KEPT + 4):
        before, after = (Intent(policy=Policy(seed=seed)) for seed in (number, number + 1))
        changes.add(before, after, number, number)
        alarms.add("l1", {"port": 1, "kind": 1, "depth": 9, "path_id": 0, "at_us": 0})
    for log in (changes, alarms):
        assert log.total == KEPT + 3
        assert [entry["number"] for entry in log.since(KEPT + 1)] == [KEPT + 2, KEPT + 3]
        assert log.since(KEPT + 3) == []
        assert len(log.since(0)) == KEPT  # older ones are only counted
    assert changes.add(BEFORE, BEFORE, 9, 9) is None


def test_a_request_for_alarms_waits_until_there_is_one_after_the_number() -> None:
    async def body(made: Any, request: Ask) -> None:
        digest = {"port": 2, "kind": 1, "depth": 250, "path_id": 3, "at_us": 7}
        made._on_alarm("l1", digest)
        waiting = asyncio.create_task(request("alarms", since=1, wait=True, timeout_s=PATIENCE_S))
        done, _ = await asyncio.wait([waiting], timeout=0.05)
        assert not done, "there is none after the first yet"
        made._on_alarm("s1", digest)
        answer = await waiting
        assert [(alarm["number"], alarm["switch"]) for alarm in answer["alarms"]] == [(2, "s1")]
        assert answer["total"] == 2
        assert answer["by_port"] == {"l1:2": 1, "s1:2": 1}
        assert (await request("alarms", since=2, wait=True))["alarms"] == []  # the time is over

    with_controller(body)


def test_a_rank_that_reports_again_replaces_what_it_said() -> None:
    async def body(_: Any, request: Ask) -> None:
        for tx in ([10, 5], [12, 5]):
            answer = await request("paths.report", host="10.0.1.1", rank=3, tx=tx, lost=[1, 0], ecn=[0, 2])
            assert answer["denied"] == [5]
        found = (await request("paths.stats"))["hosts"]
        assert found == {"h1": {"0": {"tx": 12, "lost": 1, "ecn": 0}, "1": {"tx": 5, "lost": 0, "ecn": 2}}}

    with_controller(body)


def test_stop_ends_the_service_and_takes_the_socket_away() -> None:
    async def main() -> None:
        with run_directory() as run:
            async with controller(run) as made:
                server = ControlServer(made, run.control_socket)
                serving = asyncio.create_task(server.serve())
                await asyncio.to_thread(wait_served, run.control_socket, PATIENCE_S)
                await asyncio.to_thread(ask, run.control_socket, "stop")
                await asyncio.wait_for(serving, PATIENCE_S)
                assert not run.control_socket.exists()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"src": "h9", "dst": "h1"}, "unknown host 'h9'; expected one of h1, h2, h3, h4"),
        ({"src": "h1", "dst": "l1"}, "unknown host 'l1'; expected one of h1, h2, h3, h4"),
        ({"src": "h1", "dst": "h3", "packets": 0}, "packets: expected 1 to 10000, got 0"),
        ({"src": "h1", "dst": "h3", "packets": 10001}, "packets: expected 1 to 10000, got 10001"),
        ({"src": "h1", "dst": "h3", "packets": "many"}, "invalid literal for int"),
        ({"src": "h1"}, "the request lacks 'dst'"),
    ],
)
def test_a_trace_is_of_hosts_and_of_so_many_packets(arguments: dict, said: str) -> None:
    async def body(_: Any, request: Ask) -> None:
        with pytest.raises(RefusedError) as told:
            await request("path.trace", **arguments)
        assert str(told.value).startswith(said)
        for packets in (1, 10_000):  # and no switch is there that could send them
            answer = await request("path.trace", src="h1", dst="h3", packets=packets)
            assert answer["hops"] == {}

    with_controller(body)


def test_a_host_is_not_drained_while_nobody_knows_whether_it_sends() -> None:
    """Its switch does not answer; with force it is."""

    async def body(made: Any, request: Ask) -> None:
        with pytest.raises(ControlError, match=r"^l1: ") as told:
            await request("drain.set", what="h1")
        assert not isinstance(told.value, RefusedError), "nothing is wrong with the request"
        assert made.intent == BEFORE
        await request("drain.set", what="h1", force=True)
        assert [drain.what for drain in made.intent.drains.rules] == ["l1-s1", "h1"]

    with_controller(body)


def test_a_line_that_never_ends_is_not_waited_for_and_others_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_module, "_MAX_LINE", 1000)

    async def main() -> None:
        with run_directory() as run:
            async with served(run) as (_, request), asyncio.timeout(PATIENCE_S):
                reader, writer = await asyncio.open_unix_connection(run.control_socket)
                writer.write(b"x" * 5000)
                assert await reader.read() == b""
                writer.close()
                assert (await request("intent"))["ok"]

    asyncio.run(main())


def test_only_hosts_report_over_the_network_for_themselves_and_so_many_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_module, "_MOST_REPORTERS", 1)

    async def asked(port: int, *requests: dict[str, Any]) -> list[Any]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        answers = []
        for each in requests:
            writer.write(json.dumps(each).encode() + b"\n")
            answers.append(json.loads(await reader.readline()))
        writer.close()
        return [answer.get("denied") or answer["error"] for answer in answers]

    report = {"op": "paths.report", "rank": 0, "tx": [1], "lost": [0], "ecn": [0], "host": "10.0.1.1"}
    near, far = (IPv4Network("127.0.0.0/8"),), (IPv4Network("127.9.0.0/16"),)

    async def main() -> None:
        with run_directory() as run, socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
            free.close()
            async with controller(run, stored=Stored(intent=BEFORE)) as made, asyncio.timeout(PATIENCE_S):
                for leads, networks in ((True, near), (True, far), (False, near)):
                    server = ControlServer(
                        made if leads else None,
                        run.control_socket,
                        ("127.0.0.1", port),
                        report_networks=networks,
                    )
                    serving = asyncio.create_task(server.serve())
                    await asyncio.to_thread(wait_served, run.control_socket, PATIENCE_S)
                    if not leads:
                        assert await asked(port, report) == ["another controller is primary"]
                    elif networks == far:
                        assert await asked(port, report) == ["127.0.0.1 is no host of this fabric"]
                    else:
                        assert await asked(
                            port, report, {**report, "host": "10.0.9.1"}, {"op": "intent"}
                        ) == [
                            [5],
                            "host: 127.0.0.1 may not report for 10.0.9.1",
                            "unknown op 'intent'; expected one of paths.report",
                        ]
                        _, first = await asyncio.open_connection("127.0.0.1", port)
                        first.write(json.dumps(report).encode() + b"\n")
                        await until(lambda server=server: server._reporting == 1)
                        assert await asked(port, report) == ["1 connections are open already"]
                        first.close()
                        await until(lambda server=server: server._reporting == 0)
                        assert await asked(port, report) == [[5]]
                    server.stopped.set()
                    await serving

    asyncio.run(main())
