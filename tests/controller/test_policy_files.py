"""Policies as files: applied, compared, ended, rolled back, and noted by whom."""

import asyncio
import contextlib
import getpass
import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from ipaddress import IPv4Network
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.cli import policy as policy_command
from csaud_controller.control import policies, policy_ends
from csaud_controller.control.client import ConflictError, ControlError, RefusedError, ask, wait_programmed
from csaud_controller.desired.changes import differences
from csaud_controller.desired.keeper import NotKeptError
from csaud_controller.desired.states import desired_states
from csaud_controller.desired.store import Stored, save
from csaud_controller.inventory import fat_tree, leaf_spine
from csaud_controller.policy.ending import LATEST, Ending, begun, in_force
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.policy.spray import SprayOverride
from csaud_controller.run.directory import RunDir
from typer.testing import CliRunner, Result

from tests.controller import commands
from tests.controller.soft import (
    PATIENCE_S,
    controller,
    controller_process,
    programmed,
    programmed_run,
    run_directory,
    switch_process,
    switches,
)
from tests.controller.test_control import BEFORE, Ask, with_controller
from tests.controller.test_controller import held
from tests.support.marks import thorough

ROOT = Path(__file__).parents[2]
ECMP, RANDOM = Policy(spray="ecmp"), Policy(spray="random")


def test_what_was_before_comes_back_when_a_policy_ends() -> None:
    first = begun(ECMP, None, until=100, now=0)
    second = begun(RANDOM, first, until=50, now=10)
    other = Policy(spray="host")
    assert in_force(other, second, 49) == (other, second)
    assert in_force(other, second, 50) == (RANDOM, first)
    assert in_force(other, second, 100) == (ECMP, None), "what ended meanwhile does not come back"
    with pytest.raises(ValueError, match="that time is over"):
        begun(ECMP, None, until=5, now=5)


def test_eight_policies_with_an_end_may_be_in_force_one_within_the_other() -> None:
    ending = None
    for until in range(8, 0, -1):
        ending = begun(ECMP, ending, until, 0)
    with pytest.raises(ValueError, match=r"^until: 8 policies with an end are in force already"):
        begun(ECMP, ending, 0.5, 0)


def overrides(**key: object) -> Policy:
    return Policy(overrides=(SprayOverride(spray="host", **key),))


def exceptions(policy: Policy, switch: str) -> list[str]:
    state = desired_states(leaf_spine(3, 2), Intent(policy=policy))[switch]
    return [str(e).split("] ")[0] for e in state.entries.values() if e.priority >= 1000]


def test_prefixes_are_the_switches_whose_hosts_they_hold() -> None:
    fabric = leaf_spine(3, 2)
    to = overrides(dst=IPv4Network("10.0.2.0/23"), kind="data")
    to.check(fabric)
    assert exceptions(to, "l1") == [
        "spray.policy[group=0x2/0xffff kind=0x1/0x3",
        "spray.policy[group=0x3/0xffff kind=0x1/0x3",
    ]
    assert exceptions(to, "l2") == ["spray.policy[group=0x3/0xffff kind=0x1/0x3"]
    source = overrides(src=IPv4Network("10.0.1.0/24"), kind="data")
    source.check(fabric)
    assert [exceptions(source, name) for name in ("l1", "l2", "s1")] == [
        ["spray.policy[kind=0x1/0x3"], [], [],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ({"dst": "10.0.1.1/32"}, "spray.policy matches all hosts of a switch .*h1.* of e1, but not h2"),
        ({"dst": "10.9.0.0/16"}, "no host has an address in 10.9.0.0/16"),
        ({"src": "10.0.1.0/24"}, "no field for source addresses, and a1, a2 would need one"),
    ],
)
def test_what_a_target_has_no_room_for_is_said_by_name(key: dict, said: str) -> None:
    with pytest.raises(FieldError, match=said):
        overrides(**key).check(fat_tree(4))


def test_a_policy_ends_by_the_clock() -> None:
    now = [1000.0]

    async def main() -> None:
        with run_directory() as run:
            async with switches(run):
                stored = Stored(intent=Intent(policy=RANDOM, ending=Ending(at=2000, before=ECMP)), revision=4)
                async with controller(run, stored=stored, clock=lambda: now[0]) as made:
                    await programmed(made)
                    now[0] = 2000.0
                    ended = lambda: made.intent.ending is None and not made.pending(made.generation)  # noqa: E731
                    assert await made.wait_until(ended, PATIENCE_S)
                    assert (made.intent.policy, made.revision) == (ECMP, 5)
                    (row,) = await made.history.newest(9)
                    assert row["who"] == "controller"
                    assert row["what"] == [
                        "policy.spray: random -> ecmp", "policy until: 1970-01-01T00:33:20+00:00 -> none",
                    ]  # fmt: skip
                    assert await held(run) == desired_states(run.fabric(), Intent(policy=ECMP))

    asyncio.run(main())


@pytest.mark.parametrize("by_s", [3600.0, -3600.0])
def test_a_policy_lasts_as_long_as_it_should_when_the_clock_is_set(by_s: float) -> None:
    """One that ends at a time ends at that time by the new clock."""
    now, since_boot = [10_000.0], [50.0]

    def passes(seconds: float) -> None:
        now[0] += seconds
        since_boot[0] += seconds

    async def main() -> None:
        with run_directory() as run:
            async with switches(run):
                then = Ending(at=30_000, before=Policy(seed=2))
                ending = Ending(at=10_600, lasts=True, before=ECMP, then=then)
                stored = Stored(intent=Intent(policy=RANDOM, ending=ending))
                clocks = {"clock": lambda: now[0], "steady": lambda: since_boot[0]}
                async with controller(run, stored=stored, **clocks) as made:
                    await programmed(made)
                    passes(300)
                    now[0] += by_s
                    assert await made.wait_until(lambda: made.revision == 1, PATIENCE_S)
                    assert made.intent == Intent(
                        policy=RANDOM, ending=ending.model_copy(update={"at": 10_600 + by_s})
                    )
                    passes(300)
                    assert await made.wait_until(lambda: made.revision == 2, PATIENCE_S)
                    assert made.intent == Intent(policy=ECMP, ending=then)

    asyncio.run(main())


@pytest.fixture(scope="module")
def run() -> Iterator[RunDir]:
    with programmed_run() as made:
        yield made


def csaud(run: RunDir, *words: str) -> Result:
    return commands.csaud(run, "policy", *words)


def as_json(run: RunDir, *words: str) -> dict:
    found = commands.as_json(run, "policy", *words)
    assert isinstance(found, dict)
    return found


def test_a_difference_has_what_an_exception_says_and_not_what_it_leaves_open() -> None:
    before = Intent(policy=Policy(overrides=(SprayOverride(spray="random", to="l1"),)))
    after = Intent(policy=Policy(overrides=(SprayOverride(spray="host", comm=7),)))
    assert differences(before, after) == [
        'policy.overrides: [{"spray": "random", "to": "l1"}] -> [{"spray": "host", "comm": 7}]'
    ]


def test_apply_diff_history_and_rollback(run: RunDir, tmp_path: Path) -> None:
    file = tmp_path / "night.yaml"
    file.write_text("description: at night\nspray: random\nlimits: {trim_at: 40}\nqueues: {26: 3}\n")
    before = as_json(run, "show")
    told = as_json(run, "diff", str(file))
    assert told["differences"] == [
        "policy.spray: host -> random", "policy.limits.trim_at: null -> 40", "policy.queues.26: none -> 3",
    ]  # fmt: skip
    assert told["tables"]["l1"]["modify"]["congestion.limits"] == 4
    assert told["tables"]["l1"]["insert"] == {"classify.queues": 1}
    applied = as_json(run, "apply", str(file), "--for", "1min")
    assert applied["policy"]["limits"]["trim_at"] == 40
    assert time.time() < applied["until"] < time.time() + 61
    shown = ask(run.control_socket, "intent")["intent"]["ending"]
    assert (shown["at"], shown["lasts"]) == (applied["until"], True)
    assert "no difference" not in csaud(run, "diff", str(file)).output
    assert "nothing would change" in csaud(run, "diff", str(file)).output
    assert "until 20" in csaud(run, "show").output
    newest = json.loads(csaud(run, "history", "--json").stdout)[0]
    assert (newest["who"], newest["note"]) == (getpass.getuser(), "at night")
    assert newest["what"][0] == "policy.spray: host -> random"
    table = csaud(run, "history").output
    assert "(at night)" in table
    assert "()" not in table  # most have no note
    assert as_json(run, "rollback")["policy"] == before
    assert as_json(run, "rollback", str(newest["revision"]))["policy"]["spray"] == "random"
    assert as_json(run, "show", "--revision", "0") == before
    assert as_json(run, "rollback", "0")["changed"] is True
    again = csaud(run, "rollback", "0")
    assert again.exit_code == 0
    assert "nothing changed: the policy of revision 0 is in force" in again.output
    assert as_json(run, "show") == before
    with pytest.raises(ConflictError):
        ask(run.control_socket, "policy.apply", policy={}, revision=0)
    ask(run.control_socket, "policy.set", policy={"seed": 5}, asker="alice")  # as csaud service says it
    ask(run.control_socket, "policy.set", policy={"seed": 1})
    rows = json.loads(csaud(run, "history", "--json").stdout)
    assert [row["who"] for row in rows[:2]] == [getpass.getuser(), f"alice by {getpass.getuser()}"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("spray: random\nlimits_at:\n  l9: {trim_at: 4}\n", ":3: limits_at.l9: unknown place 'l9'"),
        (
            "overrides:\n  - {spray: host, dst: 10.0.1.1/32}\n",
            ":2: overrides[0].dst: spray.policy matches all",
        ),
        (
            "overrides: [{spray: host, qkey: 7}]\n",
            "(soft) cannot hold that: spray.policy has no field for qkey",
        ),
        ("until: 2020-01-01T00:00:00Z\n", "until: that time is over"),
        ("until: 2030-01-01T00:00:00\n", ":1: until: expected a time with its zone, such as 2026-12-24"),
        ("until: 2030-01-01T00:00:00Z\nlasts: 1min\n", "bad.yaml:1: expected until or lasts, not both"),
        ("lasts: 1ns\n", ":1: lasts: expected at least 1s, got 1ns"),
        ("lasts: 9999999999999min\n", "until: expected a time before the year 10000"),
        ("spray: sideways\ntrim_dscp: 99\n", ":2: trim_dscp: expected less than or equal to 63"),
        ("queues: {48: 3}\n", ":1: trim_dscp: DSCP 48 is in `queues`"),
    ],
)
def test_a_file_with_a_mistake_changes_nothing(run: RunDir, tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    before = ask(run.control_socket, "intent")
    result = csaud(run, "apply", str(file))
    assert result.exit_code == 2
    assert said in result.output.replace("\n", " ").replace("  ", " ") or said in result.output
    assert ask(run.control_socket, "intent") == before


def test_all_that_the_fabric_does_not_have_is_told_at_once(run: RunDir, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(
        "weights: {l9: {l1: {1: 1}}}\n"
        "overrides:\n"
        "  - {spray: host, to: s1}\n"
        "  - {spray: host, src: 10.9.0.0/16}\n"
        "limits_at:\n"
        "  core: {trim_at: 4}\n"
    )
    result = csaud(run, "apply", str(file))
    assert result.exit_code == 2
    places = [line.partition("bad.yaml")[2].split(": ")[:2] for line in result.output.splitlines()]
    assert places == [
        [":1", "weights.l9"],
        [":3", "overrides[0].to"],
        [":4", "overrides[1].src"],
        [":6", "limits_at.core"],
    ]


EXPECTED_TIME = "--until: expected a time such as 2026-12-24T18:00+01:00, got"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--until", "tomorrow"), f"{EXPECTED_TIME} 'tomorrow'"),
        (("--until", "0001-01-01T00:00"), f"{EXPECTED_TIME} '0001-01-01T00:00'"),
        (("--until", "2020-01-01T00:00"), "until: that time is over"),
        (("--until", "9999-12-31T23:59:59-00:01"), "until: expected a time before the year 10000"),
        (("--for", "an hour"), "--for: expected a duration such as 10us, 5ms or 2s, got 'an hour'"),
        (("--for", "0s"), "until: that time is over"),
        (("--until", "2030-01-01", "--for", "1s"), "expected --until or --for, not both"),
    ],
)
def test_an_end_that_cannot_be_changes_nothing(
    run: RunDir, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    file = tmp_path / "night.yaml"
    file.write_text("spray: random\n")
    before = ask(run.control_socket, "intent")
    result = csaud(run, "apply", str(file), *words)
    assert (result.exit_code, result.output) == (2, f"csaud: {said}\n")
    assert ask(run.control_socket, "intent") == before


def test_a_policy_may_end_in_the_last_second_that_there_is_and_people_are_told_when(
    run: RunDir, tmp_path: Path
) -> None:
    file = tmp_path / "night.yaml"
    file.write_text("spray: random\n")
    applied = csaud(run, "apply", str(file), "--until", "9999-12-31T23:59:59+00:00")
    assert applied.exit_code == 0, applied.output
    assert f": the policy of {file}\n" in applied.output
    assert "until 9999-12-31 " in applied.output and "; then what was before it" in applied.output
    revision = str(ask(run.control_socket, "intent")["revision"])
    back = csaud(run, "rollback", "0")
    assert "the policy of revision 0\napplied on all switches" in back.output
    diff = csaud(run, "diff", "--revision", revision)
    assert diff.exit_code == 0
    assert diff.output.startswith("policy.spray: host -> random\nswitch")
    assert "l1      spray.policy               3" in diff.output


@pytest.mark.parametrize("until", [1e18, float("inf"), float("nan")])
def test_a_policy_ends_while_there_are_dates(run: RunDir, until: float) -> None:
    with pytest.raises(RefusedError, match="until: expected a time before the year 10000"):
        ask(run.control_socket, "policy.apply", policy={}, until=until)


def test_queues_and_what_hosts_may(run: RunDir) -> None:
    assert as_json(run, "queues", "26=3", "46=5")["policy"]["queues"] == {"26": 3, "46": 5}
    assert as_json(run, "queues", "26=0")["policy"]["queues"] == {"46": 5}
    assert as_json(run, "queues") == {"46": 5}
    assert csaud(run, "queues", "26=7").exit_code == 2
    assert as_json(run, "queues", "--clear")["policy"]["queues"] == {}
    csaud(run, "hosts", "--classes", "0-3")
    csaud(run, "hosts", "--classes", "all", "--at", "l1:3", "--no-check")
    assert as_json(run, "hosts") == {
        "check_hosts": False,
        "host_classes": [0, 1, 2, 3],
        "host_classes_at": {"l1:3": [0, 1, 2, 3, 4, 5, 6, 7]},
    }
    refused = csaud(run, "hosts", "--classes", "3-9")
    assert refused.exit_code == 2
    assert "expected classes from 0 to 7" in refused.output
    csaud(run, "hosts", "--check", "--classes", "all")
    assert as_json(run, "hosts", "--no-check")["policy"]["check_hosts"] is False
    both = as_json(run, "hosts", "--clear", "--at", "l1:4", "--check")["policy"]  # where none are set
    assert (both["check_hosts"], list(both["host_classes_at"])) == (True, ["l1:3"])
    assert csaud(run, "hosts", "--clear").exit_code == 0
    assert as_json(run, "hosts")["host_classes_at"] == {}


def test_a_policy_that_ended_while_no_controller_ran() -> None:
    with run_directory() as run, switch_process(run):
        ended = Intent(policy=RANDOM, ending=Ending(at=time.time() - 1, before=ECMP))
        save(run.desired_file, Stored(intent=ended, revision=7))
        with controller_process(run):
            wait_programmed(run.control_socket, PATIENCE_S)
            answer = ask(run.control_socket, "intent")
            assert (answer["intent"]["policy"]["spray"], answer["revision"]) == ("ecmp", 8)
            assert asyncio.run(held(run)) == desired_states(run.fabric(), Intent(policy=ECMP))


@pytest.mark.parametrize("seed", [0, thorough(1)])
def test_killed_while_a_policy_is_applied(seed: int) -> None:
    wait_s = random.Random(seed).uniform(0, 0.1)
    policy = Policy(spray="weighted", queues={26: 3}).model_dump(mode="json")
    with run_directory() as run, switch_process(run):
        with controller_process(run) as first:
            wait_programmed(run.control_socket, PATIENCE_S)

            def change() -> None:
                with contextlib.suppress(ControlError, OSError, ValueError):
                    ask(run.control_socket, "policy.apply", policy=policy)

            asking = threading.Thread(target=change)
            asking.start()
            asking.join(wait_s)
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
            asking.join()
        with controller_process(run):
            wait_programmed(run.control_socket, PATIENCE_S)
            answer = ask(run.control_socket, "intent")
            newest = ask(run.control_socket, "policy.history")["revisions"][0]
            assert newest["revision"] == answer["revision"]
            intent = Intent.model_validate(answer["intent"])
            assert asyncio.run(held(run)) == desired_states(run.fabric(), intent)


def test_the_published_schema_is_that_of_the_command() -> None:
    assert (ROOT / "docs" / "policy.schema.json").read_text() == CliRunner().invoke(
        policy_command.app, ["schema"]
    ).stdout, "csaud policy schema > docs/policy.schema.json"


def test_requests_about_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(made: Any, request: Ask) -> None:
        at_first = made.revision
        with pytest.raises(RefusedError, match=r"^expected until or lasts_s, not both$"):
            await request("policy.apply", policy={}, until=time.time() + 9, lasts_s=9)
        with pytest.raises(RefusedError, match=r"^until: that time is over$"):
            await request("policy.apply", policy={}, lasts_s=0)
        planned = await request("policy.plan", policy={"spray": "random"})
        assert set(planned["plan"]["tables"]) == {"l1", "l2", "s1", "s2"}
        assert (made.revision, made.intent) == (at_first, BEFORE), "nothing was changed yet"
        await request("policy.apply", policy={"spray": "random"}, lasts_s=1000, note="n" * 1001)
        ending = made.intent.ending
        assert ending is not None and ending.lasts and ending.before == BEFORE.policy
        assert (made.intent.policy, made.intent.faults) == (RANDOM, BEFORE.faults)
        await request("policy.apply", policy={"spray": "ecmp"})
        assert (made.intent.policy, made.intent.ending) == (ECMP, None)
        rows = (await request("policy.history", limit=2))["revisions"]
        assert [(row["revision"], row["note"]) for row in rows] == [
            (at_first + 2, ""),
            (at_first + 1, "n" * 1000),
        ]
        record = (await request("policy.history", revision=at_first + 1))["record"]
        assert Intent.model_validate(record["intent"]).policy == RANDOM
        with pytest.raises(RefusedError, match=r"^no revision 99 is kept; expected one from "):
            await request("policy.history", revision=99)
        assert (await request("policy.rollback"))["to"] == at_first + 1
        assert (made.intent.policy, made.intent.ending) == (RANDOM, ending)
        monkeypatch.setattr(policies, "time", SimpleNamespace(time=lambda: ending.at))
        with pytest.raises(RefusedError, match=f"^the policy of revision {at_first + 1} has ended$"):
            await request("policy.rollback", to=at_first + 1)
        assert made.intent.policy == RANDOM

    with_controller(body)


def test_what_comes_back_when_a_policy_ends_has_to_be_of_the_fabric_too() -> None:
    fabric = leaf_spine(2, 2)
    before = Policy(limits_at={"s9": {"trim_at": 9}})
    Intent(policy=ECMP, ending=Ending(at=9, before=RANDOM)).check(fabric)
    for ending in (Ending(at=9, before=before), Ending(at=9, before=ECMP, then=Ending(at=99, before=before))):
        with pytest.raises(FieldError, match=r"^unknown place 's9'; .*: of the policy that comes back$"):
            Intent(policy=ECMP, ending=ending).check(fabric)


def test_a_policy_may_end_before_the_year_10000() -> None:
    assert begun(ECMP, None, until=LATEST, now=0).at == LATEST
    for late in (LATEST + 1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=r"^until: expected a time before the year 10000$"):
            begun(ECMP, None, until=late, now=0)


def test_an_end_that_cannot_be_in_force_is_told_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The disk is full, or the fabric is another one by now; then it is neither."""
    monkeypatch.setattr(policy_ends, "_LOOK_AT_CLOCK_S", 0)
    monkeypatch.setattr(policy_ends, "_TRY_AGAIN_S", 0)
    now = [Intent(policy=RANDOM, ending=Ending(at=5, before=ECMP))]
    troubles = [NotKeptError("it cannot be kept: the disk is full"), FieldError(("limits_at",), "unknown s9")]

    async def change(of: Callable[[Intent], Intent]) -> int:
        if troubles:
            raise troubles.pop(0)
        now[0] = of(now[0])
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(policy_ends.end_policies(lambda: now[0], change, lambda: 9.0, lambda: 0.0))
    assert now == [Intent(policy=ECMP)]
    told = "a policy has ended, and what was before it cannot be in force: "
    assert caplog.messages == [f"{told}it cannot be kept: the disk is full", f"{told}unknown s9"]
