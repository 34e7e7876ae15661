"""Another fabric under a running controller: planned, applied, refused, and killed in the middle."""

import asyncio
import contextlib
import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.cli import fabric as fabric_command
from csaud_controller.control.client import ConflictError, ControlError, ask, wait_programmed
from csaud_controller.control.fabric_change import following, wiring_changes
from csaud_controller.control.fabric_controller import FabricController
from csaud_controller.desired.keeper import NotKeptError
from csaud_controller.desired.states import desired_states
from csaud_controller.desired.store import Stored
from csaud_controller.inventory import End, Fabric, SwitchSpec, leaf_spine
from csaud_controller.links.monitor import LinkMonitor
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.program.artifacts import find_artifacts
from csaud_controller.run.directory import RunDir, find_run
from csaud_controller.targets import TARGETS
from csaud_runs.directory import is_served
from typer.testing import CliRunner, Result

from tests.controller.soft import (
    PATIENCE_S,
    controller,
    controller_process,
    programmed,
    run_directory,
    switch_process,
    switches,
)
from tests.controller.test_controller import held
from tests.controller.test_traffic import arrived, sent_more, traffic
from tests.support.marks import thorough

WHOLE = leaf_spine(3, 3).model_copy(update={"links_via": "memory"})


def less(*gone: str) -> Fabric:
    """The whole fabric without these switches, and the hosts that hang on them."""
    hosts = {name: host for name, host in WHOLE.hosts.items() if WHOLE.attachment(name).node not in gone}
    there = {*hosts, *WHOLE.switches} - {*gone}
    return Fabric(
        name=WHOLE.name,
        links_via="memory",
        switches={name: spec for name, spec in WHOLE.switches.items() if name not in gone},
        hosts=hosts,
        edges=[edge for edge in WHOLE.edges if {edge.a, edge.b} <= there],
    )


@contextlib.contextmanager
def running(fabric: Fabric) -> Iterator[RunDir]:
    """A run whose switches and cables are all there, though its inventory has less."""
    with run_directory(WHOLE) as run, switch_process(run):
        deadline = time.monotonic() + PATIENCE_S
        while not all(is_served(run.switch_socket(name)) for name in WHOLE.switches):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        run.fabric_file.write_text(fabric.to_json())
        yield run


def csaud(run: RunDir, *words: str) -> Result:
    return CliRunner(env={"COLUMNS": "160"}).invoke(fabric_command.app, [*words, "--run", str(run.path)])


def test_switches_that_stay_keep_the_ids_of_their_groups() -> None:
    small = less("l2", "s1")
    assert small.place_of == {"l1": 1, "l3": 2, "s2": 3, "s3": 4}
    grown = following(small, WHOLE)
    assert grown.place_of == {"l1": 1, "l3": 2, "s2": 3, "s3": 4, "l2": 5, "s1": 6}
    assert following(grown, small).place_of == small.place_of
    specs = {**WHOLE.switches, "l2": SwitchSpec(device_id=2, group=2)}
    with pytest.raises(FieldError, match="2 is that of another switch which stays"):
        following(small, WHOLE.changed(switches=specs))


def test_an_id_that_is_only_written_down_is_no_change_of_a_switch() -> None:
    wanted = WHOLE.model_copy(update={"mtu": 1500})
    changes = wiring_changes(WHOLE, following(WHOLE, wanted))
    assert {key: told for key, told in changes.items() if told} == {
        "settings_changed": ["mtu (4200 -> 1500)"]
    }


def test_a_new_link_carries_nothing_before_a_probe_has_passed() -> None:
    small = less("s3")
    monitor = LinkMonitor(small)
    monitor.start(0)
    for name in small.switches:
        monitor.switch_ready(name, 0)
    grown = monitor.rewired(WHOLE, 1, True)
    assert grown.live().doubted == {End("l1", 3), End("l2", 3), End("l3", 3)}
    grown.switch_ready("s3", 0)
    assert not grown.received(End("l1", 3), End("s3", 1), 1)
    (change,) = grown.received(End("s3", 1), End("l1", 3), 1)
    assert (change.what, change.up) == ("l1-s3", True)
    assert grown.rewired(small, 2, True).live() == monitor.live()


def test_switches_links_and_hosts_come_and_go() -> None:
    async def main() -> None:
        with run_directory(WHOLE) as run:
            async with switches(run):
                addressed = {n: str(s.p4runtime) for n, s in run.fabric().switches.items()}
                small, whole = (f.with_addresses(addressed) for f in (less("l3", "s2"), WHOLE))
                kept: list[Fabric] = []
                async with controller(run, fabric=small, probe_interval_s=0.05) as made:
                    made._save_fabric = kept.append
                    await programmed(made)
                    plan = await made.plan_fabric(whole)
                    assert plan["switches_added"] == ["l3", "s2"]
                    assert plan["hosts_added"] == ["h5", "h6"]
                    assert plan["tables"]["l1"]["insert"]["route.ipv4_lpm"] == 1
                    assert "delete" not in plan["tables"]["l1"], "nothing that was there is in the way"
                    await made.change_fabric(whole)
                    assert kept == [made.fabric]
                    reached = lambda: not made.live.doubted and not made.pending(made.generation)  # noqa: E731
                    assert await made.wait_until(reached, PATIENCE_S), made.status()
                    assert await held(run) == desired_states(made.fabric, Intent())
                    await made.change_fabric(small)
                    await programmed(made)
                    now, want = await held(run), desired_states(made.fabric, Intent())
                    assert {name: now[name] for name in want} == want
                    assert made.changes.since(0)[-1]["what"][0] == "fabric: switches removed: l3, s2"

    asyncio.run(main())


def test_spines_and_leaves_come_and_go_under_traffic_and_no_packet_is_lost() -> None:
    unlimited = WHOLE.changed(link=WHOLE.link.model_copy(update={"rate": 0}))

    async def main() -> None:
        with run_directory(unlimited) as run:
            async with switches(run) as host:
                addressed = {n: str(s.p4runtime) for n, s in run.fabric().switches.items()}
                small = less("l3", "s3").changed(link=unlimited.link).with_addresses(addressed)
                other = less("l3", "s2").changed(link=unlimited.link).with_addresses(addressed)
                async with controller(run, fabric=small, probe_interval_s=0.05) as made:
                    await programmed(made)
                    with traffic(host) as sender:
                        for fabric in (unlimited.with_addresses(addressed), other, small):
                            await made.change_fabric(fabric)
                            settled = lambda: (  # noqa: E731
                                not made.live.doubted and not made.pending(made.generation)
                            )
                            assert await made.wait_until(settled, PATIENCE_S), made.status()
                            await sent_more(sender)
                    await arrived(sender)
        assert sender.received == {("l2", 4): sender.sent}

    asyncio.run(main())


def test_what_the_policy_needs_cannot_be_taken_away() -> None:
    async def main() -> None:
        with run_directory(WHOLE) as run:
            async with switches(run):
                stored = Stored(intent=Intent(policy=Policy(limits_at={"s2": {"trim_at": 9}})))
                addressed = {n: str(s.p4runtime) for n, s in run.fabric().switches.items()}
                async with controller(run, stored=stored) as made:
                    await programmed(made)
                    with pytest.raises(FieldError, match="unknown place 's2'"):
                        await made.change_fabric(less("s2").with_addresses(addressed))
                    assert (made.fabric, made.revision) == (run.fabric(), 0)

    asyncio.run(main())


def test_plan_and_apply_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "wanted.yaml"
    with running(less("l3")) as run, controller_process(run):
        wait_programmed(run.control_socket, PATIENCE_S)
        file.write_text(yaml.safe_dump(json.loads(WHOLE.to_json())))
        planned = json.loads(csaud(run, "plan", str(file), "--json").stdout)
        assert planned["switches_added"] == ["l3"]
        assert planned["links_added"][0] == "l3:1-s1:3"
        told = csaud(run, "plan", str(file), "--entries").output
        assert "switches added: l3" in told
        assert "l1: insert route.ipv4_lpm[dst=10.0.3.0/24] -> route.set_group(group=6)" in told
        with pytest.raises(ConflictError):
            ask(run.control_socket, "fabric.apply", fabric=json.loads(WHOLE.to_json()), revision=9)
        assert csaud(run, "apply", str(file), "--revision", "0").exit_code == 0
        assert list(run.fabric().switches) == list(WHOLE.switches)
        all_in_use(run)
        again = csaud(run, "plan", str(file))
        assert "nothing would change" in again.output, again.output
        kept = ask(run.control_socket, "policy.history")
        same = csaud(run, "apply", str(file))
        assert same.exit_code == 0
        assert "nothing changed" in same.output
        assert ask(run.control_socket, "policy.history") == kept
        whole = file.read_text()
        file.write_text(whole.replace("mtu: 4200", "mtu: 1500"))
        assert "settings changed: mtu (4200 -> 1500)" in csaud(run, "apply", str(file)).output
        newest = ask(run.control_socket, "policy.history")["revisions"][0]
        assert newest["what"] == ["fabric: settings changed: mtu (4200 -> 1500)"]
        file.write_text(whole)
        file.write_text(file.read_text().replace("device_id: 3", "device_id: 2"))
        refused = csaud(run, "apply", str(file))
        assert refused.exit_code == 2
        assert "device_id: 2 is also that of" in refused.output


def test_addresses_that_are_not_given_stay_and_new_switches_get_sockets() -> None:
    """Whoever asks, and how: an address is not a path that is made up for a switch which has one."""

    async def main() -> None:
        with run_directory(less("l3")) as run:
            elsewhere = run.fabric().with_addresses({"l1": "192.0.2.1:9559"})
            made = FabricController(
                elsewhere, find_artifacts(), TARGETS["soft"], probe_interval_s=0, place=run.with_sockets
            )
            await made.change_fabric(WHOLE)
            found = {name: spec.p4runtime for name, spec in made.fabric.switches.items()}
            assert found["l1"] == "192.0.2.1:9559"
            assert {found[name] for name in found if name != "l1"} == {
                f"unix:{run.switch_socket(name)}" for name in found if name != "l1"
            }

    asyncio.run(main())


def test_sockets_of_a_run_that_is_named_from_here_are_absolute(monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller that they are told to may have been started anywhere."""
    with run_directory() as run:
        monkeypatch.chdir(run.path.parent)
        fabric = find_run(Path(run.path.name)).fabric()
        assert fabric.switches["l1"].p4runtime == f"unix:{run.switch_socket('l1')}"
        monkeypatch.setenv("CSAUD_RUN", run.path.name)
        assert find_run().fabric() == fabric


def all_in_use(run: RunDir) -> None:
    """Until every switch holds tables that use all links: one that is new is doubted at first."""
    deadline = time.monotonic() + PATIENCE_S
    wait_programmed(run.control_socket, PATIENCE_S)
    while any(
        not link["up"] or link["doubted"] or link["closed"]
        for link in ask(run.control_socket, "links")["links"]
    ):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    wait_programmed(run.control_socket, PATIENCE_S)


@pytest.mark.parametrize("seed", [0, thorough(1), thorough(2)])
def test_killed_while_it_applies(seed: int) -> None:
    """Whatever a controller had written when it was killed: the next one makes exactly the old or the new."""
    wait_s = random.Random(seed).uniform(0, 0.15)
    small = less("l3", "s3")
    with running(small) as run:
        whole = run.with_sockets(WHOLE)
        with controller_process(run) as first:
            wait_programmed(run.control_socket, PATIENCE_S)

            def change() -> None:
                with contextlib.suppress(ControlError, OSError, ValueError):
                    ask(run.control_socket, "fabric.apply", fabric=json.loads(whole.to_json()))

            asking = threading.Thread(target=change)
            asking.start()
            asking.join(wait_s)
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
            asking.join()
        with controller_process(run):
            all_in_use(run)
            now = run.fabric()
            assert [*now.switches] in ([*small.switches], [*whole.switches])
            assert asyncio.run(held(run)) == desired_states(now, Intent())


def test_a_fabric_that_cannot_be_kept_is_not_taken_and_the_same_one_is_no_change() -> None:
    refusing = [True]

    def save_fabric(_: Fabric) -> None:
        if refusing:
            raise OSError("the disk is full")

    async def main() -> None:
        with run_directory(WHOLE) as run:
            kept: list[int] = []
            async with controller(
                run, save=lambda stored: kept.append(stored.revision), save_fabric=save_fabric
            ) as made:
                addressed = {n: str(s.p4runtime) for n, s in run.fabric().switches.items()}
                smaller, before = less("s3").with_addresses(addressed), made.generation
                assert await made.change_fabric(made.fabric) == (before, False)
                with pytest.raises(NotKeptError, match=r"^it cannot be kept: the disk is full$"):
                    await made.change_fabric(smaller)
                assert (made.fabric, made.revision, made.generation) == (run.fabric(), 0, before)
                assert await made.history.newest(9) == []
                while kept[-1] != 0:  # what had been kept of it is taken back
                    await asyncio.sleep(0)
                refusing.clear()
                assert await made.change_fabric(smaller) == (before + 1, True)
                assert (list(made.fabric.switches), made.revision) == (list(smaller.switches), 1)

    asyncio.run(main())
