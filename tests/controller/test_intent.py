"""Who changes what is asked for, and who keeps it: two at once, a full disk, a controller that comes back."""

import asyncio
from functools import partial
from pathlib import Path

import pytest
import typer
from csaud_controller.cli import path
from csaud_controller.cli.common import change_policy
from csaud_controller.control import daemon
from csaud_controller.control.client import (
    ConflictError,
    ControlError,
    RefusedError,
    ask,
    wait_programmed,
    wait_served,
)
from csaud_controller.control.server import ControlServer
from csaud_controller.desired import store
from csaud_controller.desired.keeper import Keeper, NotKeptError
from csaud_controller.desired.store import Stored
from csaud_controller.inventory import End, leaf_spine
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.switches.arbitration import TAKEN_OVER
from csaud_controller.switches.primacy import Primacy

from tests.controller.soft import (
    PATIENCE_S,
    controller,
    controller_process,
    desired,
    programmed,
    run_directory,
    switch_process,
    switches,
)
from tests.controller.test_control import served
from tests.controller.test_controller import held, until


def test_of_two_changes_at_once_none_is_lost() -> None:
    """Each command denies a path of its own; in between, somebody else does."""
    with run_directory() as run, controller_process(run):
        wait_served(run.control_socket, PATIENCE_S)
        others = iter([7, 9])

        def denied(policy: Policy) -> dict:
            if (other := next(others, None)) is not None:
                ask(
                    run.control_socket,
                    "policy.set",
                    policy={"denied_paths": [*policy.denied_paths, other]},
                    timeout_s=0,
                )
            return {"denied_paths": [*policy.denied_paths, 3]}

        with pytest.raises(typer.Exit):  # there are no switches
            change_policy(run.path, denied, True, lambda console, policy: None)
        found = ask(run.control_socket, "intent")
        assert found["intent"]["policy"]["denied_paths"] == [7, 9, 3]
        assert found["revision"] == 3


def test_a_change_of_an_old_revision_is_refused() -> None:
    async def main() -> None:
        with run_directory() as run:
            async with served(run) as (made, request):
                revision = (await request("intent"))["revision"]
                await request("policy.set", policy={"spray": "ecmp"}, revision=revision)
                before = made.intent
                with pytest.raises(ConflictError, match="changed meanwhile"):
                    await request("policy.set", policy={"spray": "random"}, revision=revision)
                with pytest.raises(ConflictError):
                    await request("fault.clear", revision=revision)
                assert made.intent == before
                await request("policy.set", policy={"spray": "ecmp"}, revision=revision + 1)
                assert made.revision == revision + 1, "nothing differs"

    asyncio.run(main())


def test_commands_at_once_all_take_effect() -> None:
    async def main() -> None:
        with run_directory() as run:
            async with switches(run), controller(run) as made:
                server = ControlServer(made, run.control_socket)
                serving = asyncio.create_task(server.serve())
                await asyncio.to_thread(wait_served, run.control_socket, PATIENCE_S)
                await programmed(made)
                numbers = range(1, 9)
                await asyncio.gather(
                    *(
                        asyncio.to_thread(path.deny, [number], run=run.path, as_json=True)
                        for number in numbers
                    )
                )
                assert made.intent.policy.denied_paths == tuple(numbers)
                server.stopped.set()
                await serving

    asyncio.run(main())


def test_what_cannot_be_kept_is_not_changed() -> None:
    """The directory that desired.json lies in is gone."""

    async def main() -> None:
        with run_directory() as run:
            gone = run.path / "gone" / "desired.json"
            async with controller(run, save=partial(store.save, gone)) as made:
                server = ControlServer(made, run.control_socket)
                serving = asyncio.create_task(server.serve())
                await asyncio.to_thread(wait_served, run.control_socket, PATIENCE_S)
                with pytest.raises(
                    ControlError, match=r"nothing was changed: it cannot be kept: .*gone"
                ) as caught:
                    await asyncio.to_thread(ask, run.control_socket, "policy.set", policy={"spray": "ecmp"})
                assert not isinstance(caught.value, RefusedError), "the request was good"
                assert (made.intent, made.revision, made.generation) == (Intent(), 0, 1)
                gone.parent.mkdir()
                await made.change(Intent(policy=Policy(spray="ecmp")))
                kept = store.load(gone)
                assert kept is not None
                assert (kept.intent, kept.revision) == (made.intent, 1)
                server.stopped.set()
                await serving

    asyncio.run(main())


def test_links_that_fail_wait_for_no_disk(tmp_path: Path) -> None:
    """What changes while the disk is busy is kept with what comes next. A full disk is told of."""

    async def main() -> None:
        now, kept, full = Stored(), [], True

        def save(stored: Stored) -> None:
            if full:
                raise OSError(28, "No space left on device")
            kept.append(stored)

        keeper = Keeper(save, lambda: now)
        await keeper.now()
        assert "No space left on device" in keeper.error
        with pytest.raises(NotKeptError):
            await keeper.keep(Stored(revision=1))
        full = False
        async with keeper.lock:
            for port in range(1, 9):
                now = Stored(dead_links=(End("l1", port),))
                keeper.soon()
                await asyncio.sleep(0)
            assert kept == []
        await keeper.now()
        assert kept == [now]
        assert keeper.error == ""

    asyncio.run(main())


def test_a_change_that_was_refused_as_its_answer_was_lost_does_not_stay_in_the_store() -> None:
    """The store took it: whoever is primary next would have it in force."""

    async def main() -> None:
        now, kept, put_right = Stored(), [], asyncio.Event()
        loop = asyncio.get_running_loop()

        def save(stored: Stored) -> None:
            kept.append(stored)
            if stored.revision:
                raise OSError("the answer is lost")
            loop.call_soon_threadsafe(put_right.set)

        keeper = Keeper(save, lambda: now)
        await keeper.now()
        put_right.clear()
        async with keeper.lock:
            with pytest.raises(NotKeptError, match="the answer is lost"):
                await keeper.keep(Stored(revision=1))
        async with asyncio.timeout(PATIENCE_S):
            await put_right.wait()
        assert kept == [now, Stored(revision=1), now]
        await keeper.end()

    asyncio.run(main())


def test_a_controller_that_comes_back_does_not_take_over_with_what_it_was_asked_for_before() -> None:
    old, new = Intent(policy=Policy(spray="ecmp")), Intent(policy=Policy(spray="random"))

    async def main() -> None:
        with run_directory() as run:
            async with switches(run):
                async with controller(run, stored=Stored(intent=old, election_id=12)) as made:
                    await programmed(made)
                async with controller(run, stored=Stored(intent=new, election_id=11)) as made:
                    await until(made, lambda: all(task.status.error for task in made.tasks.values()))
                    assert "had election id 12, above this one's 11" in made.tasks["l1"].status.error
                    assert "--take-over" in made.tasks["l1"].status.error
                    assert await held(run) == desired(run, old)
                async with controller(run, stored=Stored(intent=new, election_id=TAKEN_OVER + 5)) as made:
                    await programmed(made)
                    async with controller(run, stored=Stored(intent=old, election_id=13)) as back:
                        await until(back, lambda: all(task.status.error for task in back.tasks.values()))
                        assert "another controller is primary" in back.tasks["l1"].status.error
                async with controller(run, stored=Stored(intent=old, election_id=14)) as back:
                    await until(back, lambda: all(task.status.error for task in back.tasks.values()))
                    assert await held(run) == desired(run, new)

    asyncio.run(main())


def test_a_controller_takes_over_from_one_whose_clock_was_ahead() -> None:
    ahead = 1 << 40
    with run_directory() as run, switch_process(run):
        store.save(run.desired_file, Stored(election_id=ahead))
        with controller_process(run):
            wait_programmed(run.control_socket, PATIENCE_S)
        run.desired_file.unlink()  # as in a run directory of its own
        with controller_process(run, "--take-over"):
            wait_programmed(run.control_socket, PATIENCE_S)
            kept = store.load(run.desired_file)
            assert kept is not None and kept.election_id == ahead + 2


@pytest.mark.parametrize(
    ("seen", "above"), [(0, 1), (41, 42), (2**63 - 1, 2**63), (2**63, 0), (2**64 - 1, 0), (2**128 - 1, 0)]
)
def test_election_ids_that_few_are_left_above_are_not_followed(
    monkeypatch: pytest.MonkeyPatch, seen: int, above: int
) -> None:
    """Whoever follows one of them could not be followed: nobody could take over any more."""

    async def highest(_: Primacy) -> int:
        return seen

    monkeypatch.setattr(Primacy, "highest", highest)
    assert asyncio.run(daemon._above_all(leaf_spine(1, 1))) == above


def test_election_ids_grow_from_start_to_start() -> None:
    with run_directory() as run:
        for options, least in (((), 11), ((), 12), (("--take-over",), TAKEN_OVER), ((), TAKEN_OVER + 1)):
            with controller_process(run, *options):
                wait_served(run.control_socket, PATIENCE_S)
                kept = store.load(run.desired_file)
                assert kept is not None
                assert kept.election_id == least if least < 20 else kept.election_id >= least
