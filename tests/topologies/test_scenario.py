"""Scenario files: the shipped ones are right; a mistake gets one message with file, line and key."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from csaud_controller.base.yamlfile import ConfigError
from csaud_controller.inventory import load_fabric
from csaud_runs.errors import RunError
from csaud_topologies.scenario.model import SCENARIOS, load_scenario
from csaud_topologies.scenario.options import RunOptions
from csaud_topologies.scenario.plan import make_plan, topo_or_scenario
from csaud_topologies.workloads.mlp import Mlp

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted(path.stem for path in SCENARIOS.glob("*.yaml"))


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("target", ["soft", "bmv2"])
@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_scenarios_fit_their_fabrics(name, target):
    plan = make_plan(RunOptions(scenario=name, target=target))
    assert len(plan.hosts) == len(plan.fabric.hosts)


def test_default_scenario_is_what_the_readme_promises():
    scenario = load_scenario("first-light")
    fabric = load_fabric(scenario.fabric)
    assert (len(fabric.hosts), len(fabric.uplinks("l1"))) == (8, 4)
    model = Mlp([64, *scenario.workload.hidden, 10], seed=1)
    assert model.size >= 1_000_000
    assert model.size * 4 / 8 / 4064 > 100  # packets a message
    assert scenario.faults[0].probability == 0.01
    assert scenario.policy.loss_signal == "trim"
    assert [event.do for event in scenario.events] == ["down", "up"]
    incast = scenario.background[0]
    assert incast.load * incast.sources > 1


def test_the_scenario_of_the_training_tutorial_fails_a_link_while_ranks_train():
    scenario = load_scenario(str(ROOT / "examples/lossy.yaml"))
    assert [(event.after, event.do) for event in scenario.events] == [
        (40 * 10**9, "down"),
        (80 * 10**9, "up"),
    ]
    assert scenario.faults[0].kinds == ("data", "control", "other"), "TCP loses as much"


@pytest.mark.parametrize(
    ("text", "line", "key", "words"),
    [
        ("name: x\nsede: 3\n", 2, "sede", "unknown key"),
        ("name: x\nseed: many\n", 2, "seed", "integer"),
        (
            "name: x\nworkload:\n  name: train_digits\n  steps: 0\n",
            4,
            "workload.steps",
            "greater than or equal to 1",
        ),
        (
            "name: x\nworkload: {name: mine}\n",
            2,
            "workload.name",
            "expected one of train_digits, allreduce, got 'mine'",
        ),
        ("name: x\nworkload: 7\n", 2, "workload", "expected a mapping, got 7"),
        ("name: x\npolicy:\n  spray: sideways\n", 3, "policy.spray", "round-robin"),
        ("name: x\nfaults:\n  - probability: 1.5\n", 3, "faults[0].probability", "less than or equal to 1"),
        (
            "name: x\nfaults:\n  - {probability: 0.1, where: nowhere!}\n",
            3,
            "faults[0].where",
            "expected uplinks",
        ),
        ("name: x\nlink_rate: fast\n", 2, "link_rate", "200Mbit"),
        (
            "name: x\nevents:\n  - {after: 40, link: [l1, s1], do: down}\n",
            3,
            "events[0].after",
            "expected a duration with its unit, such as 40s, got 40",
        ),
        (
            "name: x\nevents:\n  - {at_step: 3, link: [l1, s1], do: up}\n",
            3,
            "events[0].do",
            "not down at this point",
        ),
        (
            "name: x\nevents:\n  - {at_step: 3, link: [l1, s1], do: down}\n"
            "  - {at_step: 2, link: [l1, s2], do: down}\n",
            4,
            "events[1].at_step",
            "in order",
        ),
        (
            "name: x\nevents:\n  - {at_step: 99, link: [l1, s1], do: down}\n",
            3,
            "events[0].at_step",
            "30 steps",
        ),
        (
            "name: x\nevents:\n  - {after: 3s, link: [l1, s1], do: slow}\n",
            3,
            "events[0].rate",
            "missing: do: slow needs it",
        ),
        (
            "name: x\nevents:\n  - {at_step: 3, link: [l1, s1], do: flap, every: 2s, times: 3}\n",
            3,
            "events[0].at_step",
            "a link flaps by time: expected after",
        ),
        (
            "name: x\nevents:\n  - {after: 3s, link: [l1, s1], do: lose, loss: 0.1, rate: 1Gbit}\n",
            3,
            "events[0].rate",
            "of do: slow alone, here it is lose",
        ),
        ("name: x\nworkers: {placement: [h1, 7]}\n", 2, "workers.placement", ""),
        (
            "name: x\nevents:\n  - {at_step: 3, link: l1+s1, do: down}\n",
            3,
            "events[0].link",
            "expected a link as l1-s1 or [l1, s1], or uplink, got 'l1+s1'",
        ),
        (
            "name: x\nevents:\n  - {at_step: 3, link: [l1, s1, s2], do: down}\n",
            3,
            "events[0].link",
            "expected a link as l1-s1 or [l1, s1], or uplink",
        ),
    ],
)
def test_mistake_in_a_file_names_file_line_key_and_expectation(tmp_path, text, line, key, words):
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_scenario(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:{line}: {key}")
    assert words in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        (
            "name: x\nevents: [{at_step: 1, link: [l1, s9], do: down}]\n",
            ":2: events[0].link",
            "no link l1-s9",
        ),
        ("name: x\nfaults: [{probability: 0.1, where: l1-h9}]\n", "faults[0].where", "l1-h9"),
        (
            "name: x\nevents: [{at_step: 3, link: l1-h1, do: slow, rate: 50Mbit}]\n",
            ":2: events[0].link",
            "do: slow is of a link between two switches",
        ),
        (
            "name: x\nevents: [{after: 3s, link: l1-s1, do: flap, every: 499ms, times: 2}]\n",
            ":2: events[0].every",
            "expected at least 500ms: time is the machine's",
        ),
        ("name: x\nbackground: [{to: h99}]\n", "background[0]", "no host h99"),
        ("name: x\nbackground: [{to: h1, sources: 9}]\n", ":2: background[0].sources", "7 other hosts"),
        ("name: x\nbackground: [{to: h1, sources: 0}]\n", ":2: background[0].sources", "at least 1, got 0"),
        ("name: x\nbackground: [{to: h1, sources: []}]\n", ":2: background[0].sources", "expected hosts"),
        (
            "name: x\nbackground: [{to: h1, sources: [h2, h2]}]\n",
            ":2: background[0].sources",
            "h2 is named twice",
        ),
        ("name: x\nbackground: [{to: h1, sources: [h1]}]\n", ":2: background[0].sources", "others than h1"),
        ("name: x\nbackground: [{to: h1}, {to: h1}]\n", ":2: background[1].to", "background[0] goes to h1"),
        ("name: x\nbackground: [{kind: tcp, to: h1}]\n", ":2: background[0]", "of kind incast or bulk"),
        ("name: x\nbackground: [{kind: bulk, to: h1, load: 1}]\n", ":2: background[0].load", "unknown key"),
        (
            "name: x\nbackground: [{kind: bulk, to: h1, burst: 1}]\n",
            ":2: background[0].burst",
            "unknown key; expected one of to, sources, kind",
        ),
        (
            "name: x\nworkload: {name: allreduce, steps: 3}\n",
            ":2: workload.steps",
            "unknown key; expected one of name, sizes, repeats",
        ),
        ("name: x\nbackground: [{kind: bulk}]\n", ":2: background[0].to", "missing"),
        ("name: x\nbackground: [h1]\n", ":2: background[0]", "expected a mapping"),
        (
            "name: x\nhost: {widnow: 8}\n",
            ":2: host.widnow",
            "there is no setting 'widnow'; did you mean window?",
        ),
        ("name: x\nhost: {window: many}\n", ":2: host.window", "window='many': expected"),
        ("name: x\nworkers: {placement: [h1, h99]}\n", ":2: workers.placement[1]", "unknown host 'h99'"),
        ("name: x\nworkers: {placement: [h1, h1]}\n", ":2: workers.placement[1]", "named twice"),
        ("name: x\nworkers: {count: 99}\n", ":2: workers.count", "too few for 99"),
        ("name: x\nworkers: {placement: []}\n", ":2: workers.placement", "at least 1"),
        ("name: x\npolicy: {limits_at: {'l9:1': {trim_at: 1, drop_at: 2}}}\n", ":2: policy.limits_at", "l9"),
    ],
)
def test_places_that_the_fabric_lacks_are_named(tmp_path, text, key, words):
    with pytest.raises(ConfigError) as caught:
        make_plan(RunOptions(scenario=written(tmp_path, text)))
    assert key in str(caught.value)
    assert words in str(caught.value)


def test_a_link_flaps_faster_where_time_is_virtual_and_is_slow_on_the_embedded_switch(tmp_path):
    flap = "name: x\nevents: [{after: 3s, link: l1-s1, do: flap, every: 1ms, times: 2}]\n"
    make_plan(RunOptions(scenario=written(tmp_path, flap)), virtual=True)
    slow = written(tmp_path, "name: x\nevents: [{after: 3s, link: l1-s1, do: slow, rate: 1Mbit}]\n")
    with pytest.raises(ConfigError, match=r":2: events\[0\]\.do: slow needs TARGET=soft, not bmv2"):
        make_plan(RunOptions(scenario=slow, target="bmv2"))


def test_background_needs_a_link_whose_load_is_known(tmp_path):
    fabric = yaml.safe_load((ROOT / "topologies/fabrics/leaf-spine-2x2.yaml").read_text())
    fabric["link"]["rate"] = 0
    (tmp_path / "endless.yaml").write_text(yaml.safe_dump(fabric))
    scenario = written(tmp_path, "name: x\nbackground: [{to: h1, sources: 2}]\n")
    with pytest.raises(ConfigError, match=r":2: background\[0\]\.to: the link of h1 has no rate"):
        make_plan(RunOptions(scenario=scenario, topo=str(tmp_path / "endless.yaml")))


def test_a_file_that_is_no_text_is_told_in_one_line(tmp_path):
    (path := tmp_path / "latin.yaml").write_bytes("about: für\n".encode("latin-1"))
    with pytest.raises(RunError, match=r"latin.yaml: cannot be read: .*utf-8"):
        topo_or_scenario(str(path))


def test_a_link_is_named_as_it_is_printed(tmp_path):
    text = "name: x\nevents:\n  - {at_step: 3, link: l2-s2, do: down}\n"
    text += "  - {at_step: 5, link: [s2, l2], do: up}\n"
    events = load_scenario(written(tmp_path, text)).events
    assert [(event.nodes, event.name) for event in events] == [
        (("l2", "s2"), "l2-s2"),
        (("s2", "l2"), "s2-l2"),
    ]
    once = written(tmp_path, "name: x\nevents: [{at_step: 3, link: uplink, do: down}]\n")
    assert load_scenario(once, {"events.0.link": "l3-s4"}).events[0].nodes == ("l3", "s4")


def test_unknown_scenario_lists_those_there_are():
    with pytest.raises(ConfigError, match="first-light"):
        load_scenario("second-light")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("policy.spray", "sideways", "round-robin"),
        ("loss", "2", "less than or equal to 1"),
        ("loss", "much", "valid number"),
        ("seed", "-1", "greater than or equal to 0"),
        ("workload.step", "3", "expected one of name, steps"),
        ("workload.steps", "none", "integer"),
        ("workload.hidden", "[8, 0]", "workload.hidden[1]: expected greater"),
        ("workload", "{name: allreduce, sizes: [-1]}", "workload.sizes[0]: expected greater"),
        ("workload.name", "allreduce", "workload.hidden: unknown key"),
        ("workload", "3", "expected a mapping"),
        ("workload.name", "mine", "train_digits, allreduce, got 'mine'"),
        ("background.4.to", "h1", "index from 0 to 0"),
        ("colour", "red", "expected one of name, about, seed"),
    ],
)
def test_wrong_override_is_named_with_its_value(key, value, words):
    with pytest.raises(RunError) as caught:
        load_scenario("first-light", {key: value})
    assert str(caught.value).startswith(f"{key}=" if key.count(".") < 2 and words[0] != "e" else key)
    assert words in str(caught.value)


def test_overrides_reach_their_keys():
    scenario = load_scenario(
        "first-light",
        {"policy.spray": "ecmp", "loss": "0.05", "seed": "7", "workers.count": "4", "link_rate": "50Mbit"},
    )
    assert scenario.policy.spray == "ecmp"
    assert [rule.probability for rule in scenario.faults] == [0.05]
    assert scenario.link_rate == 50_000_000
    intent = scenario.intent()
    assert (intent.policy.seed, intent.faults.rules[0].seed) == (7, 7)


def test_a_workload_without_a_name_is_that_of_scenarios_that_say_nothing_of_one():
    assert load_scenario("plain").workload.name == "train_digits"
    shortened = load_scenario("plain", {"workload.steps": "2"}).workload
    assert (shortened.name, shortened.steps) == ("train_digits", 2)


def test_a_host_setting_can_be_set_that_the_scenario_does_not_have(tmp_path):
    plain = written(tmp_path, "name: x\n")
    assert load_scenario(plain, {"host.window": "8", "host.paths": "4"}).host == {"window": 8, "paths": 4}
    other = written(tmp_path, "name: x\nhost: {paths: 2}\n")
    assert load_scenario(other, {"host.window": "8"}).host == {"paths": 2, "window": 8}


def test_loss_override_makes_a_rule_where_there_is_none(tmp_path):
    scenario = load_scenario(written(tmp_path, "name: x\n"), {"loss": "0.1"})
    assert [(rule.where, rule.probability) for rule in scenario.faults] == [("uplinks", 0.1)]


def test_shorter_run_keeps_the_events_that_fit_it():
    events = load_scenario("first-light", {"workload.steps": "12"}).events
    assert [(event.at_step, event.do) for event in events] == [(10, "down")]


def test_memory_links_need_the_embedded_switch(tmp_path):
    fabric = load_fabric("leaf-spine-2x2").model_copy(update={"links_via": "memory"})
    path = tmp_path / "inside.json"
    path.write_text(fabric.to_json())
    assert make_plan(RunOptions(topo=str(path))).fabric.links_via == "memory"
    with pytest.raises(RunError, match="links_via: memory needs TARGET=soft"):
        make_plan(RunOptions(topo=str(path), target="bmv2"))


@pytest.mark.parametrize(
    ("topo", "target", "link", "via"),
    [
        ("leaf-spine-4x4", "soft", ("l1", "s1"), "veth"),
        ("fat-tree-4", "soft", ("e1", "a1"), "memory"),
        ("fat-tree-4", "bmv2", ("e1", "a1"), "veth"),
    ],
)
def test_the_default_scenario_runs_on_any_fabric(topo, target, link, via):
    plan = make_plan(RunOptions(topo=topo, target=target))
    assert [event.link for event in plan.scenario.events] == [link, link]
    assert plan.fabric.links_via == via


def test_a_fabric_without_uplinks_has_none_that_could_fail(tmp_path):
    with pytest.raises(ConfigError, match=r"events\[0\]\.link: leaf-spine-1x0x4 has no uplink"):
        make_plan(RunOptions(topo="leaf-spine-1x0x4", overrides={"background": "[]"}))


@pytest.mark.parametrize("mode", ["weighted", "least-queue", "flowlet"])
@pytest.mark.parametrize("signal", ["trim", "bounce", "both", "drop"])
def test_modes_and_signals_reach_the_policy(mode, signal):
    given = {
        "policy.spray": mode,
        "policy.loss_signal": signal,
        "policy.trim_icrc": "true",
        "policy.ecn": "false",
    }
    policy = load_scenario("first-light", given).intent().policy
    assert (policy.spray, policy.loss_signal, policy.trim_icrc, policy.ecn) == (mode, signal, True, False)
    assert policy.limits == load_scenario("first-light", {}).policy.limits
    assert policy.limits.no_trim_at is None, "what is not set stays derived"


FABRICS = sorted(Path(SCENARIOS.parent / "fabrics").glob("*.yaml"))


@pytest.mark.parametrize("path", FABRICS, ids=lambda path: path.stem)
def test_shipped_fabrics_load_and_take_the_default_scenario(path):
    plan = make_plan(RunOptions(topo=str(path)))
    assert plan.fabric.name == path.stem


def test_written_out_example_is_the_built_fabric():
    written_out = load_fabric(SCENARIOS.parent / "fabrics" / "leaf-spine-2x2.yaml")
    assert written_out.peers == load_fabric("leaf-spine-2x2").peers
    assert written_out.hosts == load_fabric("leaf-spine-2x2").hosts
