"""Two controllers of one fabric over a real etcd: one is killed, or paused, under traffic; the other goes
on."""

import asyncio
import json
import os
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from csaud_controller.cli.controller import app
from csaud_controller.control.client import ControlError, StandsByError, ask, wait_served
from csaud_controller.control.server import ControlServer
from csaud_controller.control.turns import Turns
from csaud_controller.desired.shared import Held, SharedStore
from csaud_controller.desired.store import Stored
from csaud_controller.inventory import Fabric, leaf_spine
from csaud_controller.policy.intent import Intent
from csaud_controller.run.directory import RunDir
from csaud_controller.service.metrics import exposition
from csaud_controller.service.sampling import Sampler
from csaud_controller.switches.primacy import Primacy
from csaud_runs.etcd import Etcd, StoreError, parse_place
from csaud_softswitch.hosting import SwitchHost
from typer.testing import CliRunner

from tests.controller.commands import csaud
from tests.controller.soft import (
    PATIENCE_S,
    Process,
    controller,
    controller_process,
    desired,
    programmed,
    run_directory,
    switches,
)
from tests.controller.test_controller import held
from tests.controller.test_traffic import arrived, sent_more, traffic
from tests.support.etcd import etcd


@dataclass
class Pair:
    """Controllers a and b; a was there first."""

    host: SwitchHost
    runs: dict[str, RunDir]
    processes: dict[str, Process]

    async def ask(self, name: str, op: str, **arguments: Any) -> Any:
        return await asyncio.to_thread(ask, self.runs[name].control_socket, op, **arguments)

    async def until(self, name: str, reached: Callable[[dict], bool]) -> None:
        """Until this is so of its status."""
        deadline, last = time.monotonic() + PATIENCE_S, ""
        while time.monotonic() < deadline:
            try:
                if reached(found := await self.ask(name, "status")):
                    return
                last = str(found)[:1000]
            except ControlError as error:
                last = str(error)
            await asyncio.sleep(0.02)
        raise AssertionError(f"{last}\n{self.processes[name].log}")

    async def leads(self, name: str) -> None:
        """Until it is primary and all tables are in place."""
        await self.until(
            name,
            lambda found: (
                "status" in found and all(s["in_sync"] for s in found["status"]["switches"].values())
            ),
        )

    async def stands_by(self, name: str, other: str) -> None:
        await self.until(name, lambda found: found.get("primary") == other)

    async def tables_are_those_of(self, name: str) -> None:
        intent = Intent.model_validate((await self.ask(name, "intent"))["intent"])
        assert await held(self.runs[name]) == desired(self.runs["a"], intent)


@asynccontextmanager
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    with run_directory(leaf_spine(2, 3)) as run, etcd(tmp_path / "etcd") as store:
        other = RunDir(run.path / "b")
        other.path.mkdir()
        other.fabric_file.write_text(run.fabric().to_json())
        async with switches(run) as host:
            with controller_process(run, "--store", store, "--name", "a") as a:
                found = Pair(host, {"a": run, "b": other}, {"a": a})
                await found.leads("a")
                # what it would begin with, were it the first
                with controller_process(other, "--store", store, "--name", "b", "--spray", "ecmp") as b:
                    found.processes["b"] = b
                    await found.stands_by("b", "a")
                    yield found


@pytest.mark.etcd
def test_a_killed_primary_is_replaced_with_the_newest_intent_and_no_packet_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def main() -> float:
        async with pair(tmp_path) as both:
            with pytest.raises(StandsByError, match="this controller stands by; a is primary"):
                await both.ask("b", "policy.set", policy={"spray": "ecmp"})
            with traffic(both.host) as sender:
                await both.ask("a", "policy.set", policy={"spray": "round-robin"})
                before = await both.ask("a", "policy.set", policy={"denied_paths": [7]})
                await sent_more(sender)
                killed = time.monotonic()
                os.kill(both.processes["a"].pid, signal.SIGKILL)
                await both.leads("b")
                took = time.monotonic() - killed
                await sent_more(sender)
                found = await both.ask("b", "status")
                assert (found["intent"], found["revision"]) == (before["intent"], before["revision"])
                assert {s["updates"] for s in found["status"]["switches"].values()} == {0}, "all was in place"
                after = await both.ask("b", "policy.set", policy={"spray": "flowlet"})
                assert after["revision"] == before["revision"] + 1 and not after["pending"]
                await sent_more(sender)
            await arrived(sender)
            assert sender.received == {("l2", 4): sender.sent}
            await both.tables_are_those_of("b")
            revisions = (await both.ask("b", "policy.history"))["revisions"]
            assert [each["revision"] for each in revisions] == [*range(after["revision"], -1, -1)]
            assert (await both.ask("b", "policy.rollback"))["intent"]["policy"]["spray"] == "round-robin"
        return took

    took = asyncio.run(main())
    with capsys.disabled():
        print(f" [from SIGKILL to all tables in the other's hands: {took:.2f} s]", end="")


@pytest.mark.thorough
@pytest.mark.etcd
def test_a_paused_primary_that_comes_back_writes_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with pair(tmp_path) as both:
            paused = both.processes["a"].pid
            with traffic(both.host) as sender, socket.socket(socket.AF_UNIX) as client:
                os.kill(paused, signal.SIGSTOP)
                client.connect(str(both.runs["a"].control_socket))
                client.sendall(b'{"op": "policy.set", "policy": {"spray": "host"}}\n')
                await both.leads("b")
                await both.ask("b", "policy.set", policy={"spray": "least-queue"})
                os.kill(paused, signal.SIGCONT)
                client.settimeout(PATIENCE_S)
                answer = json.loads(await asyncio.to_thread(client.makefile("rb").readline))
                assert not answer["ok"] and "b is primary" in answer["error"], answer
                await both.stands_by("a", "b")
                await both.leads("b")
                await sent_more(sender)
            await arrived(sender)
            assert sender.received == {("l2", 4): sender.sent}
            await both.tables_are_those_of("b")
            found = await both.ask("b", "status")
            assert found["intent"]["policy"]["spray"] == "least-queue"
            assert all(s["repairs"] == 0 for s in found["status"]["switches"].values()), "nobody wrote but b"
            await both.ask("b", "stop")  # it hands over: nobody waits for the end of a lease
            await both.leads("a")
            assert (await both.ask("a", "intent"))["intent"] == found["intent"]

    asyncio.run(main())


class OwnStore(SharedStore):
    """Nobody else's: what is renewed and kept, in memory."""

    def __init__(self) -> None:
        super().__init__(Etcd(parse_place("etcd://127.0.0.1:1", "x")), "x", "a")
        self.renewed = threading.Event()
        self.kept: list[Fabric | Stored] = []
        self.deaf = False

    def held(self) -> Held:
        return Held(None)

    def take(self, seen: Held) -> int | None:
        return 7

    def renew(self) -> None:
        self.renewed.set()

    def release(self) -> None:
        pass

    def load(self) -> Stored | None:
        return None

    def fabric(self) -> Fabric | None:
        return None

    def save(self, stored: Stored) -> None:
        self._keep(stored)

    def save_fabric(self, fabric: Fabric) -> None:
        self._keep(fabric)

    def _keep(self, what: Fabric | Stored) -> None:
        self.kept.append(what)
        if self.deaf:
            raise StoreError("the answer is lost")


@pytest.mark.parametrize(
    "words",
    [("fabric", "show"), ("path", "show", "h1", "h3"), ("policy", "weights"), ("path", "trace", "h1", "h3")],
)
def test_a_command_that_asks_one_that_stands_by_is_told_who_is_primary(words: tuple[str, ...]) -> None:
    def body(run: RunDir) -> None:
        found = csaud(run, *words)
        assert (found.exit_code, found.stdout) == (1, "")
        assert "csaud: this controller stands by; a is primary\n" in found.stderr

    standing_by(body)


def test_one_that_stands_by_has_metrics_that_say_so() -> None:
    def body(run: RunDir) -> None:
        sample = Sampler(run).sample()
        assert sample.missing == ("this controller stands by; a is primary",)
        shown = [line for line in exposition(sample).decode().splitlines() if not line.startswith("#")]
        assert shown == ["csaud_controller_up 1.0", "csaud_controller_primary 0.0"]

    standing_by(body)


def standing_by(body: Callable[[RunDir], None]) -> None:
    async def main() -> None:
        with run_directory() as run:
            server = ControlServer(None, run.control_socket)
            server.primary = "a"
            serving = asyncio.create_task(server.serve())
            await asyncio.to_thread(wait_served, run.control_socket, PATIENCE_S)
            try:
                await asyncio.to_thread(body, run)
            finally:
                server.stopped.set()
                await serving

    asyncio.run(main())


class Enough(Exception):
    pass


def turns(run: RunDir, store: SharedStore, make: Any, keep_fabric: Callable[[Fabric], None]) -> Turns:
    server = ControlServer(None, run.control_socket)
    return Turns(store, server, run.fabric(), Stored(), make, keep_fabric)


def test_the_term_is_renewed_while_tables_are_computed_for_the_first_time() -> None:
    """Those of 320 switches take longer than a lease lasts."""
    store, seen = OwnStore(), []

    def make(*_: Any) -> Any:
        seen.append(store.renewed.wait(20.0))  # the event loop stands meanwhile
        raise Enough

    async def main() -> None:
        with run_directory() as run, pytest.raises(Enough):
            await turns(run, store, make, lambda fabric: None).take()

    asyncio.run(main())
    assert seen == [True]


def test_a_fabric_of_which_nobody_knows_if_the_store_has_it_is_put_right_with_what_is_kept_next() -> None:
    store, folder, written = OwnStore(), OwnStore(), []

    def make(fabric: Fabric, stored: Stored, save: Any, save_fabric: Any, history: Any) -> Any:
        other = leaf_spine(2, 1)
        store.deaf = True
        with pytest.raises(StoreError):
            save_fabric(other)
        store.deaf = False
        store.kept.clear()
        save(stored)
        assert store.kept == [fabric, stored]
        store.kept.clear()
        folder.deaf = True
        save_fabric(other)  # whoever is primary next has it: it cannot be refused for the folder's sake
        save(stored)
        assert (store.kept, folder.kept) == ([other, stored], [other])
        written.append(other)
        raise Enough

    async def main() -> None:
        with run_directory() as run, pytest.raises(Enough):
            await turns(run, store, make, folder.save_fabric).take()

    asyncio.run(main())
    assert written


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--store", "127.0.0.1:2379"), "--store: expected etcd://HOST:PORT"),
        (("--name", "a"), "--store-cacert and --name are of controllers with a --store"),
        (("--store", "etcd://h:1", "--store-cert", "x"), "--store-key and --store-cacert belong together"),
    ],
)
def test_a_store_that_is_misnamed_is_refused(options: tuple[str, ...], expected: str) -> None:
    with run_directory() as run:
        found = CliRunner().invoke(app, ["run", "--run", str(run.path), *options])
    assert found.exit_code == 2
    assert expected in " ".join(found.stderr.split())


def test_a_primary_is_gone_when_no_switch_has_one_any_more() -> None:
    async def main() -> None:
        changed = asyncio.Event()

        async def until(reached: Callable[[], bool]) -> None:
            while not reached():
                await changed.wait()
                changed.clear()

        with run_directory(leaf_spine(1, 1)) as run:
            async with switches(run), asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
                primacy = Primacy(run.fabric(), changed.set)
                assert await primacy.highest() == 0
                watching = group.create_task(primacy.watch())
                async with controller(run, stored=Stored(election_id=5)) as made:
                    await programmed(made)
                    await until(lambda: primacy.heard == {"l1", "s1"})
                    assert await primacy.highest() == 5
                    assert not primacy.lost(5)
                await until(lambda: primacy.lost(5))
                assert not primacy.lost(4), "nobody has seen that one"
                async with controller(run, stored=Stored(election_id=2**64 - 1)) as made:
                    await until(lambda: not primacy.lost(5))
                    assert await primacy.highest() in (5, 2**64 - 1)
                    await programmed(made)
                    assert await primacy.highest() == 2**64 - 1
                watching.cancel()
            assert await Primacy(run.fabric(), changed.set).highest() == 0, "no switch answers"

    asyncio.run(main())
