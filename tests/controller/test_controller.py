"""The controller against real P4Runtime servers: tables are as they should be, whoever was restarted or
tampered."""

import asyncio
import logging
import re
import time
from pathlib import Path

import finsy as fy
import pytest
from csaud_controller.base.stretches import Stretches
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.control.fabric_controller import FabricController
from csaud_controller.control.turns import LOG, tell_when_programmed
from csaud_controller.desired.store import Stored
from csaud_controller.inventory import Edge, End, Fabric, leaf_spine
from csaud_controller.paths.live import LiveView
from csaud_controller.policy.faults import FaultRule, Faults
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.program.artifacts import Artifacts, find_artifacts
from csaud_controller.program.digests import ALARMS
from csaud_controller.program.entities import TableState
from csaud_controller.run.directory import RunDir
from csaud_controller.switches.codec import Codec
from csaud_controller.switches.reading import Reader

from tests.controller.soft import PATIENCE_S, controller, desired, programmed, run_directory, switches

ARTIFACTS = find_artifacts()
WITH_ALARMS = TableState(digests={ALARMS.name: ALARMS})


def client(run: RunDir, name: str, election_id: int = 1) -> fy.Switch:
    """Another P4Runtime client of a switch; a backup unless its election id is above the controller's 10."""
    spec = run.fabric().switches[name]
    options = fy.SwitchOptions(
        p4info=ARTIFACTS.p4info, device_id=spec.device_id, initial_election_id=election_id
    )
    return fy.Switch(name, str(spec.p4runtime), options)


async def held(run: RunDir) -> dict[str, TableState]:
    """What every switch really holds, read by another client."""
    result = {}
    for name in run.fabric().switches:
        async with client(run, name) as switch:
            result[name] = await Reader(switch, Codec(ARTIFACTS.schema), Stretches()).read(WITH_ALARMS)
    return result


async def until(made: FabricController, reached: object) -> None:
    assert callable(reached)
    assert await made.wait_until(reached, PATIENCE_S), made.status()


def test_eight_switches_are_programmed_from_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        with run_directory(leaf_spine(4, 4)) as run:
            async with switches(run):
                started = time.monotonic()
                async with controller(run) as made:
                    await programmed(made)
                    took = time.monotonic() - started
                    assert await held(run) == desired(run)
                    assert all(task.status.in_sync and task.status.primary for task in made.tasks.values())
                with capsys.disabled():
                    print(f" [8 switches from nothing: {took * 1000:.0f} ms]", end="")

    asyncio.run(main())


def test_a_second_controller_finds_everything_as_it_should_be_and_writes_nothing() -> None:
    async def main() -> None:
        with run_directory() as run:
            async with switches(run):
                async with controller(run) as made:
                    await programmed(made)
                told = list[bool]()
                async with controller(run, in_place=lambda: told.append(True)) as made:
                    assert told == [True], "tables are there before any switch"
                    await programmed(made)
                    assert [task.status.updates for task in made.tasks.values()] == [0, 0, 0, 0]
                    assert told == [True] * 5, "once more for each"

    asyncio.run(main())


def test_another_program_is_replaced(tmp_path: Path) -> None:
    """A switch that runs a program with another digest gets the right one, and then its tables."""
    other = Artifacts(tmp_path / "csaud.p4info.txtpb", tmp_path / "csaud.json")
    other.p4info.write_bytes(ARTIFACTS.p4info.read_bytes())
    other.config.write_bytes(ARTIFACTS.config.read_bytes() + b"\n")
    assert other.cookie != ARTIFACTS.cookie
    assert other.digest != ARTIFACTS.digest

    async def main() -> None:
        with run_directory() as run:
            async with switches(run) as host:
                for artifacts in (other, ARTIFACTS):
                    async with controller(run, artifacts=artifacts) as made:
                        await programmed(made)
                    for device in host.devices.values():
                        config = device.pipelines.get_config(2)  # COOKIE_ONLY
                        assert config.cookie.cookie == artifacts.cookie
                assert await held(run) == desired(run)

    asyncio.run(main())


def test_a_program_that_the_switch_refuses_is_reported_and_tried_again(tmp_path: Path) -> None:
    broken = Artifacts(tmp_path / "csaud.p4info.txtpb", tmp_path / "csaud.json")
    broken.p4info.write_bytes(ARTIFACTS.p4info.read_bytes())
    broken.config.write_text("{}")

    async def main() -> None:
        with run_directory() as run:
            async with switches(run), controller(run, artifacts=broken) as made:
                await until(made, lambda: all(task.status.error for task in made.tasks.values()))
                pending = await made.wait_applied(made.generation, 0.0)
                assert set(pending) == {"l1", "l2", "s1", "s2"}
                assert all(reason.startswith("invalid_argument:") for reason in pending.values()), pending

    asyncio.run(main())


def test_what_another_client_changed_is_put_right_when_it_leaves() -> None:
    async def main() -> None:
        with run_directory() as run:
            want = desired(run)["l1"]
            codec = Codec(ARTIFACTS.schema)
            async with switches(run), controller(run) as made:
                await programmed(made)
                async with client(run, "l1", election_id=1000) as intruder:
                    await until(made, lambda: not made.tasks["l1"].status.primary)
                    assert "another controller is primary" in made.tasks["l1"].status.error
                    route = next(e for e in want.entries.values() if e.table == "route.ipv4_lpm")
                    await intruder.delete([codec.encode(route)])
                    limit = next(e for e in want.entries.values() if e.table == "congestion.limits")
                    await intruder.delete([codec.encode(limit)])
                    assert await Reader(intruder, codec, Stretches()).read(TableState()) != want
                await until(made, lambda: made.tasks["l1"].status.primary and made.tasks["l1"].status.in_sync)
                assert (await held(run))["l1"] == want

    asyncio.run(main())


def test_what_changed_behind_p4runtimes_back_is_found_by_the_audit() -> None:
    async def main() -> None:
        with run_directory() as run:
            async with switches(run) as host, controller(run, audit_s=0.05) as made:
                await programmed(made)
                switch = host.fabric.switch("l1")
                table = "CsaudIngress.route.ipv4_lpm"
                match, priority, _ = switch.table_entries(table)[0]
                switch.table_delete(table, match, priority)
                await until(made, lambda: made.tasks["l1"].status.repairs == 1)
                assert await held(run) == desired(run)
                assert made.tasks["l2"].status.repairs == 0

    asyncio.run(main())


def test_what_has_not_changed_is_not_decoded_again() -> None:
    async def main() -> None:
        with run_directory() as run:
            async with switches(run) as host, controller(run) as made:
                await programmed(made)
                async with client(run, "l1") as switch:
                    reader = Reader(switch, Codec(ARTIFACTS.schema), Stretches())
                    first = await reader.read(WITH_ALARMS)
                    everything = reader.decoded
                    assert everything >= len(first)
                    assert await reader.read(WITH_ALARMS) is first
                    assert reader.decoded == everything
                    table = "CsaudIngress.route.ipv4_lpm"
                    native = host.fabric.switch("l1")
                    match, priority, _ = native.table_entries(table)[0]
                    native.table_delete(table, match, priority)
                    second = await reader.read(WITH_ALARMS)
                    assert len(second.entries) == len(first.entries) - 1
                    generation = await made.change(Intent(faults=Faults(rules=(FaultRule(probability=0.5),))))
                    assert await made.wait_applied(generation, PATIENCE_S) == {}
                    third = await reader.read(WITH_ALARMS)
                    assert third.entries.keys() - second.entries.keys()
                    assert reader.decoded - everything == len(third.entries) - len(second.entries)

    asyncio.run(main())


def test_a_change_finds_tables_that_are_not_as_they_were_left() -> None:
    """A change is written without reading first; where that fails, everything is read and put right."""

    async def main() -> None:
        with run_directory() as run:
            async with switches(run) as host, controller(run) as made:
                await programmed(made)
                switch = host.fabric.switch("l1")
                table = "CsaudIngress.spray.policy"
                for match, priority, _ in switch.table_entries(table):
                    switch.table_delete(table, match, priority)
                intent = Intent(policy=Policy(spray="round-robin"))
                assert await made.wait_applied(await made.change(intent), PATIENCE_S) == {}
                assert await held(run) == desired(run, intent)

    asyncio.run(main())


def test_of_changes_in_quick_succession_the_last_one_holds() -> None:
    intents = [
        Intent(policy=Policy(spray=mode, seed=seed)) for seed in range(5) for mode in ("random", "ecmp")
    ]
    intents.append(Intent(policy=Policy(spray="host"), faults=Faults(rules=(FaultRule(probability=0.5),))))

    async def main() -> None:
        with run_directory() as run:
            async with switches(run), controller(run) as made:
                for intent in intents:  # the first of them before any switch is programmed
                    generation = await made.change(intent)
                    await asyncio.sleep(0)
                assert await made.wait_applied(generation, PATIENCE_S) == {}
                assert await held(run) == desired(run, intents[-1])

    asyncio.run(main())


def test_a_change_that_names_unknown_things_changes_nothing() -> None:
    async def main() -> None:
        with run_directory() as run:
            async with switches(run), controller(run) as made:
                await programmed(made)
                before = made.generation
                with pytest.raises(FieldError, match="unknown switch 'l9'"):
                    await made.change(
                        Intent.model_validate({"policy": {"limits_at": {"l9:1": {"trim_at": 1}}}})
                    )
                assert made.generation == before
                assert made.intent == Intent()

    asyncio.run(main())


def test_a_link_that_fails_is_noticed_by_probes_and_avoided_by_all_until_it_is_back() -> None:
    async def main() -> None:
        with run_directory(leaf_spine(3, 3)) as run:
            async with switches(run) as host, controller(run, probe_interval_s=0.02) as made:
                await programmed(made)
                host.fabric.set_link("l1", 2, False)
                dead = LiveView(frozenset({End("l1", 2)}))
                await until(made, lambda: made.live == dead and made.generation >= 2)
                await programmed(made)
                now = await held(run)
                assert now == desired(run, live=dead)
                assert [m.member for m in now["l3"].groups["spray.path_selector", 1].members] == [1, 3]
                assert made.events[-1]["what"] == "l1-s2"
                host.fabric.set_link("l1", 2, True)
                await until(made, lambda: made.live == LiveView())
                await programmed(made)
                assert await held(run) == desired(run)
                assert [(e["what"], e["up"]) for e in made.events] == [("l1-s2", False), ("l1-s2", True)]

    asyncio.run(main())


def test_a_restarted_controller_does_not_use_a_link_that_was_dead() -> None:
    async def main() -> None:
        with run_directory() as run:
            async with switches(run) as host:
                host.fabric.set_link("l1", 1, False)
                stored = Stored(dead_links=(End("l1", 1),))
                async with controller(run, stored=stored, probe_interval_s=0.02) as made:
                    await programmed(made)
                    assert await held(run) == desired(run, live=LiveView(frozenset({End("l1", 1)})))
                    host.fabric.set_link("l1", 1, True)
                    await until(made, lambda: made.live == LiveView())

    asyncio.run(main())


def test_a_miswired_link_is_reported_by_name() -> None:
    right = leaf_spine(2, 2)

    def swapped(edge: Edge) -> Edge:
        """l1's cables to s1 and s2 change places."""
        other = {"s1": "s2", "s2": "s1"}
        return edge.model_copy(update={"b": other[edge.b]}) if edge.a == "l1" and edge.b in other else edge

    wrong = Fabric.model_validate(
        right.model_copy(update={"edges": [swapped(edge) for edge in right.edges]}).model_dump()
    )

    async def main() -> None:
        with run_directory(wrong) as run:
            inventory = right.with_addresses(
                {name: str(spec.p4runtime) for name, spec in run.fabric().switches.items()}
            )
            async with switches(run), controller(run, fabric=inventory, probe_interval_s=0.02) as made:
                await until(made, lambda: len(made.status()["miswired"]) == 4)
                assert made.status()["miswired"]["s2:1"] == "l1:1"
                await until(made, lambda: made.live.dead_links == {End("l1", 1), End("l1", 2)})

    asyncio.run(main())


def test_a_switch_that_was_away_is_programmed_anew_and_avoided_meanwhile() -> None:
    async def main() -> None:
        with run_directory() as run:
            async with controller(run, probe_interval_s=0.02) as made:
                async with switches(run):
                    await programmed(made)
                await until(made, lambda: not any(task.status.connected for task in made.tasks.values()))
                assert set(await made.wait_applied(made.generation, 0.0)) == set(made.tasks)
                async with switches(run):
                    await programmed(made)
                    await until(made, lambda: made.live == LiveView())
                    await programmed(made)
                    assert await held(run) == desired(run)

    asyncio.run(main())


def test_the_log_names_the_switches_that_do_not_hold_their_tables(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        with run_directory() as run:
            async with controller(run) as made:
                wait = made.wait_applied
                with monkeypatch.context() as patched:
                    patched.setattr(made, "wait_applied", lambda generation, _: wait(generation, 0.0))
                    await tell_when_programmed(made)
                async with switches(run):
                    await tell_when_programmed(made)

    with caplog.at_level(logging.INFO, LOG.name):
        asyncio.run(main())
    said = [line for line in caplog.messages if re.search("programmed|tables", line)]
    why = r" \([^()]+\)"
    assert re.fullmatch(f"not programmed after 30 s: l1{why}, l2{why}, s1{why}, s2{why}", said[0])
    assert re.fullmatch(r"4 switches hold their tables after \d\.\d{3} s", said[1])
