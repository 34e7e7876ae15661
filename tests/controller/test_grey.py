"""Links that lose packets are found where several hosts complain, and used again when they lose no more."""

import asyncio

import pytest
from csaud_controller.control.fabric_controller import FabricController
from csaud_controller.inventory import End, leaf_spine
from csaud_controller.links import holds
from csaud_controller.links.examination import Measured
from csaud_controller.links.grey import Complaints, GreySettings, suspicious, to_restore, to_take
from csaud_controller.paths.host_reports import PathReport
from csaud_controller.paths.live import LiveView
from csaud_controller.policy.faults import FaultRule, Faults
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy

from tests.controller.soft import PATIENCE_S, controller, programmed, run_directory, switches

S = 1_000_000_000
SETTINGS = GreySettings()
LINKS = [f"l{leaf}-s{spine}" for leaf in range(1, 5) for spine in range(1, 5)]
ENDS = {link: link.split("-") for link in LINKS}
OF = {name: 4 for link in LINKS for name in link.split("-")}


def take(found: dict[str, Measured], grey: tuple[str, ...] = ()) -> list[str]:
    return to_take(SETTINGS, found, grey, ENDS, OF, len(LINKS))


def all_fine(**others: Measured) -> dict[str, Measured]:
    return dict.fromkeys(LINKS, Measured(200, 200)) | {
        link.replace("_", "-"): each for link, each in others.items()
    }


def test_the_one_link_that_loses_is_taken() -> None:
    found = all_fine(l2_s3=Measured(200, 190), l1_s1=Measured(200, 199))
    assert suspicious(SETTINGS, found) == ["l2-s3"]
    assert take(found) == ["l2-s3"]
    assert take(found, ("l2-s3",)) == []


def test_where_all_lose_alike_no_link_is_to_blame() -> None:
    assert take(dict.fromkeys(LINKS, Measured(200, 180))) == []


def test_a_switch_loses_no_more_than_one_of_four_links_and_the_fabric_a_quarter() -> None:
    bad = {link: Measured(200, 100) for link in LINKS if "s1" in link or link == "l2-s2"}
    taken = take(all_fine() | bad)
    assert len(taken) == 2
    assert len({name for link in taken for name in ENDS[link]}) == 4, "no switch is named twice"
    lonely = to_take(
        SETTINGS, {"l1-s1": Measured(200, 0)}, (), {"l1-s1": ("l1", "s1")}, {"l1": 1, "s1": 1}, 1
    )
    assert lonely == [], "there is no other way"


def test_what_loses_a_little_or_was_hardly_examined_is_left_alone() -> None:
    assert take(all_fine(l1_s1=Measured(200, 197), l1_s2=Measured(10, 9), l1_s3=Measured(0, 0))) == []


def test_a_grey_link_is_used_again_when_it_loses_hardly_any_and_not_unseen() -> None:
    found = {"l1-s1": Measured(200, 200), "l1-s2": Measured(200, 197), "l1-s3": Measured(3, 3)}
    assert to_restore(SETTINGS, found) == ["l1-s1"]


def complain(complaints: Complaints, host: str, tx: list[int], lost: list[int], now: int = 0) -> None:
    complaints.take(SETTINGS, host, 0, tx, lost, now)


def test_hosts_that_lose_on_one_path_complain_each_once() -> None:
    complaints = Complaints()
    for rank in range(8):
        complaints.take(SETTINGS, "h1", rank, [1000, 1000], [0, 50], 0)
    complain(complaints, "h2", [1000, 1000], [2, 1])
    complain(complaints, "h3", [10, 10], [9, 9])
    assert complaints.hosts(S, 5 * S) == {"h1"}, "the others lost little, or sent little"
    assert complaints.hosts(6 * S, 5 * S) == set()


def test_old_losses_are_not_counted_again_and_another_job_begins_anew() -> None:
    complaints = Complaints()
    complain(complaints, "h1", [1000], [100])
    complaints.forget()
    complain(complaints, "h1", [2000], [100], S)
    assert complaints.hosts(S, 5 * S) == set()
    complain(complaints, "h1", [100], [50], 2 * S)
    assert complaints.hosts(2 * S, 5 * S) == {"h1"}


def report(made: FabricController, hosts: int, sent: int, lost: int) -> None:
    for n in range(1, hosts + 1):
        address = f"10.0.{(n + 1) // 2}.{2 - n % 2}"
        made.examiner.heard(PathReport(host=address, rank=n, tx=[sent], lost=[lost], ecn=[0]))


EAGER = GreySettings(every=100_000_000)


@pytest.mark.parametrize("hosts", [2, 4])
def test_hosts_that_lie_take_nothing_out(hosts: int) -> None:
    """Two have nothing examined at all."""

    async def main() -> None:
        with run_directory(leaf_spine(2, 3)) as run:
            async with switches(run), controller(run, probe_interval_s=0.02) as made:
                await made.change(Intent(policy=Policy(grey=EAGER)))
                await programmed(made)
                generation = made.generation
                for n in range(1, 4):
                    report(made, hosts, 1000 * n, 500 * n)
                    rounds = made.status()["probes"]["rounds"] + 20
                    while made.status()["probes"]["rounds"] < rounds:
                        await asyncio.sleep(0.01)
                assert made.live.doubted == frozenset()
                assert not made.events
                assert (made.generation > generation) == (hosts >= EAGER.hosts), "links were examined"

    asyncio.run(main())


def test_a_link_that_loses_is_found_and_used_again_when_it_loses_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(holds, "WELL", 1000)  # how long this takes is the machine's
    faults = Faults(rules=(FaultRule(where="l1-s2", probability=0.1, kinds=("data", "control", "other")),))
    policy = Policy(grey=EAGER)

    async def main() -> None:
        with run_directory(leaf_spine(2, 3)) as run:
            async with switches(run), controller(run, probe_interval_s=0.02) as made:
                await made.change(Intent(policy=policy, faults=faults))
                await programmed(made)
                grey = {End("l1", 2)}
                sent = 0

                async def complain_until_it_is_found() -> None:
                    nonlocal sent
                    while made.live.doubted != grey:
                        assert sent < 100_000
                        sent += 1000
                        report(made, 3, sent, sent // 20)
                        await made.wait_until(lambda: made.live.doubted == grey, 1.0)

                await complain_until_it_is_found()
                (event,) = made.events
                assert (event["what"], event["up"]) == ("l1-s2", False)
                assert "as h1, h2, h3 complain" in event["why"]
                assert made.links()[1]["out"][0].startswith("grey: loses")
                await made.change(Intent(policy=policy))
                assert await made.wait_until(lambda: made.live == LiveView(), PATIENCE_S)
                assert made.events[-1]["why"] == "no longer grey: packets pass again"
                await made.change(Intent(policy=policy, faults=faults))
                await complain_until_it_is_found()
                assert made.events[-1]["why"].endswith("complain; used again in 0.2 s at the earliest")
                await programmed(made)

    asyncio.run(main())


def test_a_rank_that_tells_of_fewer_paths_begins_anew() -> None:
    complaints = Complaints()
    for host, lost in (("h1", 5), ("h2", 30)):
        complain(complaints, host, [1000, 1000], [0, 0])
        complain(complaints, host, [1200], [lost], S)  # of 1200, not of the 200 since then
    assert complaints.hosts(S, 5 * S) == {"h2"}
