"""Scenarios in virtual time: the report of an emulated run, its checks and books, from the same file."""

import threading
from pathlib import Path

import pytest
from csaud_controller.base.yamlfile import ConfigError
from csaud_controller.inventory import leaf_spine
from csaud_sim.cli import app
from csaud_sim.scenario_run import Outcome, ScenarioRun, refuse_what_cannot_be_simulated
from csaud_topologies.record.assemble import Collected, host_counts, links_of
from csaud_topologies.record.books import Books, balance
from csaud_topologies.report.compare import load_report
from csaud_topologies.scenario.options import RunOptions
from csaud_topologies.scenario.plan import make_plan
from typer.testing import CliRunner

from tests.sim.worlds import World

RING = """\
name: ring
seed: 7
fabric: leaf-spine-2x2
link_rate: 1Gbit
workload: {name: allreduce, sizes: [1, 1021, 30000]}
policy: {spray: random, loss_signal: trim}
faults:
  - {where: uplinks, probability: 0.02, kinds: [data, control]}
"""


@pytest.fixture
def ring(tmp_path: Path) -> str:
    path = tmp_path / "ring.yaml"
    path.write_text(RING)
    return str(path)


def simulated(ring: str, tmp_path: Path, **overrides: str) -> Outcome:
    named = {key.replace("__", "."): value for key, value in overrides.items()}
    plan = make_plan(RunOptions(scenario=ring, overrides=named))
    refuse_what_cannot_be_simulated(plan)
    return ScenarioRun(plan, tmp_path).run()


def books(found: Collected) -> Books:
    return balance(links_of(found.fabric), found.switches, host_counts(found), found.failed_links)


def lost(found: Collected) -> dict[str, int]:
    (line,) = (line for line in books(found).lines if line.name == "lost DATA copies")
    return line.terms


@pytest.mark.parametrize("signal", ["trim", "bounce", "both", "drop"])
def test_books_balance_to_the_packet_and_sums_to_the_bit(ring: str, tmp_path: Path, signal: str) -> None:
    found = simulated(
        ring,
        tmp_path,
        policy__loss_signal=signal,
        faults="[{where: uplinks, probability: 0.02, signalled: true}]",
    ).collected
    assert books(found).balanced
    assert {report["digest"] for report in found.reports} == {found.reference["digest"]}
    told = sum(host.rx_loss_notices for host in host_counts(found).values())
    assert (told > 0) == (signal != "drop")


def test_a_run_is_a_function_of_its_seed(ring: str, tmp_path: Path) -> None:
    def fingerprint(seed: int) -> object:
        outcome = simulated(ring, tmp_path, seed=str(seed))
        return outcome.virtual_s, outcome.took, [r["stats"] for r in outcome.collected.reports]

    assert fingerprint(3) == fingerprint(3)
    assert fingerprint(3) != fingerprint(4)


def test_a_link_fails_after_its_step_and_comes_back(ring: str, tmp_path: Path) -> None:
    failing = "[{at_step: 1, link: uplink, do: down}, {at_step: 4, link: uplink, do: up}]"
    found = simulated(ring, tmp_path, workload__repeats="2", events=failing).collected
    assert [(event.step, event.what) for event in found.events] == [
        (1, "link l1-s1 down"),
        (4, "link l1-s1 up"),
    ]
    assert found.failed_links == {frozenset(("l1", "s1"))}
    assert lost(found)["no path"] + lost(found)["link down"] > 0
    assert books(found).balanced


def test_a_link_fails_some_time_after_the_start(ring: str, tmp_path: Path) -> None:
    failing = "[{after: 1ms, link: uplink, do: down}, {after: 5ms, link: uplink, do: up}]"
    found = simulated(ring, tmp_path, workload__repeats="2", events=failing).collected
    assert [(event.at_s, event.what) for event in found.events] == [
        (pytest.approx(0.001), "link l1-s1 down"),
        (pytest.approx(0.005), "link l1-s1 up"),
    ]
    assert found.failed_links == {frozenset(("l1", "s1"))}
    assert books(found).balanced


def test_background_shares_links_with_the_job(ring: str, tmp_path: Path) -> None:
    """An incast of two hosts, one of them without a rank: slower, and of the same bits."""
    workers = "{count: 3, placement: spread}"
    incast = "[{to: h1, sources: [h2, h4], load: 1.0, burst: 50, duty: 0.5}]"
    calm = simulated(ring, tmp_path, workers=workers)
    busy = simulated(ring, tmp_path, workers=workers, background=incast)
    found = busy.collected
    (beside,) = found.background
    assert (beside.to, beside.sources) == ("h1", ["h2", "h4"])
    assert beside.packets_sent > 20
    assert busy.virtual_s > 1.1 * calm.virtual_s
    assert {report["digest"] for report in found.reports} == {found.reference["digest"]}
    assert books(found).balanced


def test_background_is_sent_at_its_pace(tmp_path: Path) -> None:
    """Bursts of 10 packets at a quarter of a link that take a fifth of the time."""
    world = World(leaf_spine(1, 1, 2), rate=1_000_000_000)
    switch, port = world.places["h1"]
    frame, size = 14 + 28 + 1000, 10
    interval = 4 * frame * 8
    world.simulation.add_bursts(
        switch, port, src_ipv4=0x0A000001, dst_ipv4=0x0A000002, udp_port=5001, payload=1000, burst=size,
        interval_ns=interval, every_ns=5 * size * interval,
    )  # fmt: skip
    world.simulation.advance(10 * 5 * size * interval - 1)
    assert world.simulation.bursts_sent().tolist() == [10 * size]
    world.simulation.stop_bursts()
    world.simulation.advance(20 * 5 * size * interval)
    assert world.simulation.bursts_sent().tolist() == [10 * size]
    with pytest.raises(ValueError, match="a burst has packets"):
        world.simulation.add_bursts(
            switch, port, src_ipv4=1, dst_ipv4=2, udp_port=1, payload=1, burst=3, interval_ns=9, every_ns=10
        )


@pytest.mark.parametrize("ranks", [False, True], ids=["bystander", "rank"])
def test_each_of_several_bursts_keeps_its_pace(ranks: bool) -> None:
    """A packet a millisecond, then also one every 10 us: of a host without a rank, and of a rank's."""
    world = World(leaf_spine(1, 1, 2), rate=1_000_000_000)
    switch, port = world.places["h1"]
    if not ranks:
        port = 60
        world.fabric.add_memory_port(switch, port, rate_bps=1_000_000_000, buffer_packets=64)
    for interval in (1_000_000, 10_000):
        world.simulation.add_bursts(
            switch, port, src_ipv4=0x0A000001, dst_ipv4=0x0A000002, udp_port=5001, payload=100, burst=1,
            interval_ns=interval, every_ns=interval,
        )  # fmt: skip
    world.simulation.advance(499_999)
    assert world.simulation.bursts_sent().tolist() == [1, 50]


def test_training_has_the_bits_of_one_process(tmp_path: Path) -> None:
    overrides = {
        "workload": "{name: train_digits, steps: 2, hidden: [32]}",
        "fabric": "leaf-spine-2x2",
        "link_rate": "1Gbit",
        "host": "{}",
        "events": "[]",
    }
    plan = make_plan(RunOptions(scenario="first-light", overrides=overrides))
    found = ScenarioRun(plan, tmp_path).run().collected
    assert {report["digest"] for report in found.reports} == {found.reference["digest"]}


def test_the_command_writes_a_report_that_net_compare_reads(ring: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["run", ring, "--seed", "9", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    report = load_report(tmp_path / "out")
    assert (report.run.target, report.run.seed, report.passed) == ("sim", 9, True)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("host: {mode: udp}", "host.mode"),
        ("host: {window: 100000}", "host.window"),
        ("background: [{kind: bulk, to: h1}]", "background[0].kind"),
    ],
)
def test_what_cannot_be_simulated_is_refused_by_name(tmp_path: Path, line: str, key: str) -> None:
    path = tmp_path / "asks.yaml"
    path.write_text(RING + line + "\n")
    done = CliRunner().invoke(app, ["run", str(path)])
    assert done.exit_code == 2
    assert f"{path}:{len(RING.splitlines()) + 1}: {key}: " in done.output


def test_a_rank_that_fails_ends_the_run_and_leaves_no_thread(
    ring: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(RunOptions(scenario=ring))
    run = ScenarioRun(plan, tmp_path)
    emit_step = run._step

    def fails(rank: int, event: dict[str, object]) -> None:
        if rank == 2:
            raise ZeroDivisionError("of rank 2")
        emit_step(rank, event)

    monkeypatch.setattr(run, "_step", fails)
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError, match="of rank 2"):
        run.run()
    assert threading.active_count() == before


def test_a_scenario_that_takes_too_long_says_so(ring: str, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="not done at 1 s, of virtual time"):
        simulated(ring, tmp_path, time_limit="1s", link_rate="1Mbit")


def test_a_job_over_ipv6_is_refused_by_its_key(ring: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ring\.yaml.*: ipv6: simulated hosts speak over IPv4"):
        simulated(ring, tmp_path, ipv6="true")


def test_mistakes_of_the_file_are_told_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text("name: wrong\nseeed: 3\n")
    with pytest.raises(ConfigError, match=r"wrong\.yaml:2: seeed: unknown key"):
        make_plan(RunOptions(scenario=str(path)))
