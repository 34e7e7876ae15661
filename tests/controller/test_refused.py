"""What a switch refuses is set aside and named, the rest takes effect; what none can hold is not accepted."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from csaud_controller.base.stretches import Stretches
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.control.fabric_controller import FabricController
from csaud_controller.desired.store import Stored
from csaud_controller.inventory import LinkDefaults, leaf_spine
from csaud_controller.policy.congestion import Limits, thresholds
from csaud_controller.policy.faults import FaultRule, Faults
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.program.artifacts import Artifacts, find_artifacts
from csaud_controller.program.entities import Entry, Group, GroupMember, call, entry, table_state
from csaud_controller.program.room import Room
from csaud_controller.switches.backoff import Backoff
from csaud_controller.switches.codec import Codec
from csaud_controller.switches.reconcile import Step
from csaud_controller.switches.writing import Refused, held_after, write
from csaud_controller.targets import TARGETS
from csaud_softswitch.p4runtime.personality import StratumBfrt
from hypothesis import given
from hypothesis import strategies as st

from tests.controller.soft import PATIENCE_S, controller, desired, programmed, run_directory, switches
from tests.controller.test_controller import held

TOO_LONG = 2**48 * 1000
FAULTS = Intent(faults=Faults(rules=(FaultRule(probability=0.5, where="all"),)))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"flowlet_gap": TOO_LONG}, "expected at most 281474976710655us, got"),
        ({"alarm_interval": TOO_LONG}, "expected at most 281474976710655us, got"),
        (
            {"overrides": [{"spray": "ecmp", "comm": n} for n in range(82)]},
            r"l1 \(soft\) cannot hold that: spray.policy has room for 256 entries, and 25. are needed",
        ),
    ],
)
def test_what_no_switch_can_hold_is_refused_and_changes_nothing(policy: dict, expected: str) -> None:
    async def main() -> None:
        with run_directory() as run:
            async with controller(run) as made:
                with pytest.raises(ValueError, match=expected):
                    await made.change(Intent(policy=Policy.model_validate(policy)))
                assert (made.intent, made.generation) == (Intent(), 1)

    asyncio.run(main())


def test_a_controller_does_not_begin_with_what_no_switch_can_hold() -> None:
    wide = Intent.model_validate({"policy": {"overrides": [{"spray": "ecmp", "comm": n} for n in range(82)]}})
    with run_directory() as run, pytest.raises(FieldError, match=r"spray\.policy has room for 256"):
        FabricController(run.fabric(), find_artifacts(), TARGETS["soft"], stored=Stored(intent=wide))


@given(st.integers(1, 1 << 20))
def test_the_limits_of_any_buffer_can_be_counted_to(buffer: int) -> None:
    found = thresholds(Limits(), LinkDefaults(buffer=buffer))
    assert max(found) <= 0xFFFF
    assert 1 <= found.trim_at <= found.no_trim_at <= found.drop_at <= buffer


def small(tmp_path: Path, table: str, size: int) -> Artifacts:
    """The program with less room in a table than its P4Info promises."""
    real, made = find_artifacts(), Artifacts(tmp_path / "csaud.p4info.txtpb", tmp_path / "csaud.json")
    made.p4info.write_bytes(real.p4info.read_bytes())
    config = json.loads(real.config.read_text())
    for pipeline in config["pipelines"]:
        for each in pipeline["tables"]:
            if each["name"] == table:
                each["max_size"] = size
    made.config.write_text(json.dumps(config))
    return made


def test_a_refused_update_is_named_and_the_rest_holds(tmp_path: Path) -> None:
    """Room for 3 of the 4 entries that l1 is to have, and of the 8 of all."""

    async def main() -> None:
        artifacts = small(tmp_path, "CsaudIngress.fault.inject", 3)
        with run_directory(leaf_spine(2, 2)) as run:
            async with switches(run), controller(run, artifacts=artifacts, audit_s=0.05) as made:
                await programmed(made)
                sessions = {name: task.status.programmed_s for name, task in made.tasks.items()}
                pending = await made.wait_applied(await made.change(FAULTS), PATIENCE_S)
                assert set(pending) == {"l1", "l2", "s1", "s2"}
                assert pending["l1"].startswith("refuses to insert fault.inject[")
                now, want = await held(run), desired(run, FAULTS)
                for name, state in now.items():
                    lacking = want[name].entries.keys() - state.entries.keys()
                    assert len(lacking) == made.tasks[name].status.refused_total == 1
                    assert {key[0] for key in lacking} == {"fault.inject"}
                    assert state.entries.keys() <= want[name].entries.keys()
                    assert state.groups == want[name].groups
                told = made.status()["switches"]["l1"]
                assert told["refused"][0].startswith("insert fault.inject[")
                assert not told["in_sync"]

                assert (
                    await made.wait_applied(
                        await made.change(Intent(policy=Policy(spray="ecmp"))), PATIENCE_S
                    )
                    == {}
                )
                assert await held(run) == desired(run, Intent(policy=Policy(spray="ecmp")))
                assert made.status()["switches"]["l1"]["refused"] == []
                assert all(task.status.repairs == 0 for task in made.tasks.values())
                assert {n: t.status.programmed_s for n, t in made.tasks.items()} == sessions, (
                    "no session ended"
                )

    asyncio.run(main())


def test_all_refused_updates_of_a_long_request_are_known(tmp_path: Path) -> None:
    """Of 80 entries there is room for 7; what a switch says of each would be too long for gRPC."""
    intent = Intent(faults=Faults(rules=(FaultRule(probability=0.5, where="hosts"),)))

    async def main() -> None:
        artifacts = small(tmp_path, "CsaudIngress.fault.inject", 7)
        with run_directory(leaf_spine(1, 1, 40)) as run:
            async with switches(run), controller(run, artifacts=artifacts) as made:
                await programmed(made)
                pending = await made.wait_applied(await made.change(intent), PATIENCE_S)
                assert pending["l1"].endswith(", and 72 more")
                assert made.tasks["l1"].status.refused_total == 73
                lacking = desired(run, intent)["l1"].entries.keys() - (await held(run))["l1"].entries.keys()
                assert len(lacking) == 73

    asyncio.run(main())


def test_pauses_double_from_the_first_to_the_longest_and_begin_anew_after_a_session_that_lasted() -> None:
    backoff = Backoff(1.0, 60.0)
    pauses = [backoff.pause(0.1) for _ in range(12)]
    for number, pause in enumerate(pauses):
        assert min(60.0, 2.0**number) <= pause <= min(60.0, 1.5 * 2**number)
    assert 1.0 <= backoff.pause(100.0) <= 1.5
    assert len({Backoff(1.0, 60.0).pause(0.0) for _ in range(8)}) == 8, "not all at the same moment"


def test_a_server_that_refuses_what_stratum_refuses_on_tofino() -> None:
    """v1model's program cannot run there; what is refused is named, by item and reason, and the rest held."""

    async def main() -> None:
        with run_directory(leaf_spine(2, 2)) as run:
            async with switches(run, StratumBfrt()), controller(run) as made:
                pending = await made.wait_applied(made.generation, PATIENCE_S)
                assert set(pending) == {"l1", "l2", "s1", "s2"}
                told = made.tasks["l1"].status.refused
                assert any("Instances on Replicas are not supported" in reason for reason in told)
                assert any("Watch ports are not supported" in reason for reason in told)
                now, want = (await held(run))["l1"], desired(run)["l1"]
                assert now.members == want.members
                assert not now.groups
                routes = [key for key in want.entries if key[0] == "route.ipv4_lpm"]
                assert all(key in now.entries for key in routes)

    asyncio.run(main())


def route(dst: int, group: int = 1) -> Entry:
    return entry("route.ipv4_lpm", {"dst": (dst, 32)}, call("route.set_group", group=group))


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (route(0xFFFF_FFFF, 0xFFFF), ""),
        (route(1, 1 << 16), "{item}: group takes values below 2^16, got 65536"),
        (entry("far", {"to": (1 << 127, 128)}, call("route.discard")), "the program has no table far"),
        (
            entry("route.ipv4_lpm", {"to": (1, 32)}, call("route.discard")),
            "route.ipv4_lpm has no field for to; it has dst",
        ),
        (
            entry("spray.policy", {"cls": (8, 7)}, call("spray.round_robin")),
            "{item}: cls takes values below 2^3",
        ),
        (replace(route(1), action=call("lose")), "the program has no action lose"),
        (
            replace(route(1), action=call("route.discard", way=0)),
            "route.discard takes no way; it takes nothing",
        ),
        (
            replace(route(1), action=call("route.set_group", way=1 << 70)),
            "route.set_group takes no way; it takes group",
        ),
    ],
)
def test_what_a_program_has_no_place_for_is_named(item: Entry, said: str) -> None:
    told = list(Room(find_artifacts().schema).misfits(table_state([item])))
    assert told == ([said.replace("{item}", str(item))] if said else [])


@pytest.mark.parametrize(("weight", "fits"), [(1024, True), (1025, False)])
def test_a_selector_holds_so_many_members_by_their_weights(weight: int, fits: bool) -> None:
    members = tuple(GroupMember(number, weight) for number in range(4))
    told = list(Room(find_artifacts().schema).misfits(table_state([Group(1, members)])))
    expected = "spray.path_selector has room for 4096 members of groups, and 4100 are needed"
    assert told == ([] if fits else [expected])


def test_of_updates_that_cannot_be_said_the_others_are_made() -> None:
    class Taking:
        """A switch that takes what comes, if it takes it alone."""

        def __init__(self) -> None:
            self.taken: list[object] = []

        async def insert(self, messages: list[object]) -> None:
            self.taken += messages

        modify = delete = insert

    codec, switch = Codec(find_artifacts().schema), Taking()
    good, bad = [route(1), route(2)], replace(route(3), action=call("route.lose"))
    steps = [Step("insert", (good[0], bad, good[1]))]
    done = asyncio.run(write(cast(Any, switch), codec, Stretches(), steps))
    assert (done.updates, [each.item for each in done.refused]) == (2, [bad])
    assert str(done.refused[0]).startswith("insert route.ipv4_lpm[dst=0.0.0.3/32] -> route.lose(): cannot be")
    assert switch.taken == [codec.encode(each) for each in good]


def test_what_a_switch_refused_it_holds_as_before() -> None:
    have, want = table_state([route(1, 1), route(2, 1)]), table_state([route(1, 2), route(3, 2)])
    assert held_after(have, want, []) is want
    refused = [
        Refused("modify", route(1, 2), ""),
        Refused("delete", route(2, 1), ""),
        Refused("insert", route(3, 2), ""),
    ]
    assert held_after(have, want, refused) == have
    assert held_after(have, want, refused[:1]) == table_state([route(1, 1), route(3, 2)])


def test_two_items_of_one_key_are_no_state() -> None:
    with pytest.raises(ValueError) as told:
        table_state([route(1, 1), route(2, 1), route(1, 2)])
    assert str(told.value) == f"given twice: {route(1, 1)} and {route(1, 2)}"
