"""Links that fail, flap, are slow or lose packets while an experiment runs, under every transport."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from csaud_controller.base.yamlfile import ConfigError
from csaud_sim.experiment.measure import Measured, measure
from csaud_sim.experiment.model import Experiment, load_experiment
from csaud_sim.transports.model import CSA_UD, kinds

TRANSPORTS = [CSA_UD, *kinds()]
DOWN = {"after": "20us", "link": "l1-s1", "do": "down"}
UP = {"after": "200us", "link": "l1-s1", "do": "up"}


def measured(*events: Mapping[str, object], **keys: object) -> Measured:
    flows = {"pattern": "all-to-all", "sizes": 40640, "load": 0.5, "flows": 200}
    asked = {"name": "test", "fabric": "leaf-spine-2x2", "link_rate": "100Gbit", "link_delay": "1us"}
    return measure(
        Experiment.model_validate({**asked, "traffic": flows, "events": events, "time_limit": "40ms", **keys})
    )


def one_flow(*events: Mapping[str, object], **keys: object) -> float:
    """ns that a flow of 4 MB takes from one leaf to the other by the only spine."""
    flow = {"pattern": "permutation", "sizes": 4_064_000, "load": 1, "flows": 1}
    return float(measured(*events, fabric="leaf-spine-2x1x1", traffic=flow, **keys).flows["fct_ns"][0])


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_a_failed_link_loses_is_sent_again_once_it_is_back(transport: str) -> None:
    found = measured(DOWN, UP, transport=transport)
    assert found.totals["link_lost"] > 0
    assert found.totals["unfinished"] == 0
    assert measured(transport=transport).totals["link_lost"] == 0


def test_switches_of_baselines_keep_a_dead_port_until_routing_has_converged() -> None:
    asked = {"transport": {"name": "rc", "timeout": "100us"}, "time_limit": "5ms"}
    before, soon = (measured(DOWN, convergence=after, **asked) for after in ("1s", "300us"))
    assert before.totals["unfinished"] > 0
    assert soon.totals["unfinished"] == 0
    at_once = measured(DOWN, convergence=0, **asked)
    assert 0 < at_once.totals["link_lost"] < soon.totals["link_lost"] < before.totals["link_lost"]


def test_switches_with_the_program_leave_a_dead_port_before_that() -> None:
    """But for those two hops on, who go on sending to the spine that has lost its link."""
    found = measured(DOWN, convergence="1s", policy={"spray": "round-robin"})
    assert found.totals["unfinished"] == 0
    links = zip(found.links["switch"], found.links["to"], found.links["data"], strict=True)
    sent = {(switch, to): data for switch, to, data in links}
    assert sent["l1", "s1"] < sent["l1", "s2"] / 2
    assert sent["l2", "s1"] > sent["l2", "s2"] / 2


@pytest.mark.parametrize("transport", [CSA_UD, "ndp"])
def test_failover_is_as_an_experiment_asks(transport: str) -> None:
    """With it a leaf and a spine leave their dead ports: what the other leaf sends finds no way on there."""
    asked = {"transport": transport, "convergence": "1s", "time_limit": "5ms"}
    found = {failover: measured(DOWN, failover=failover, **asked) for failover in (True, False)}
    assert found[True].totals["no_path"] > 0 == found[False].totals["no_path"]
    assert found[True].totals["link_lost"] < found[False].totals["link_lost"] / 10
    default = measured(DOWN, **asked)
    assert default.totals["link_lost"] == found[transport == CSA_UD].totals["link_lost"]


def test_flows_of_a_dead_port_go_by_the_others_where_all_others_stay() -> None:
    def sent(*links: str) -> dict[str, int]:
        events = [{"after": 0, "link": link, "do": "down"} for link in links]
        found = measured(*events, fabric="leaf-spine-2x4x2", transport="irn", failover=True, convergence="1s")
        assert found.totals["lost"] == found.totals["unfinished"] == 0
        ports = zip(found.links["switch"], found.links["to"], found.links["data"], strict=True)
        return {to: data for switch, to, data in ports if switch == "l1" and to.startswith("s")}

    whole, failed = sent(), sent("l1-s1", "l2-s1")
    assert whole.pop("s1") > 0
    assert failed.keys() == whole.keys()
    assert all(failed[spine] > whole[spine] for spine in whole)


def test_a_table_that_follows_spares_the_spine() -> None:
    late, soon = (
        measured(DOWN, convergence=after, policy={"spray": "round-robin"}) for after in ("1s", "20us")
    )
    assert soon.totals["no_path"] < late.totals["no_path"] / 4
    assert late.totals["lost"] == late.totals["no_path"] + late.totals["link_lost"]
    assert late.totals["lost"] == late.totals["tx_data"] - late.totals["rx_data"]


@pytest.mark.parametrize("transport", [CSA_UD, "irn"])
def test_a_link_that_flaps_goes_down_and_comes_up_so_many_times(transport: str) -> None:
    flap = {"after": "20us", "link": "uplink", "do": "flap", "every": "60us", "times": 3}
    single = [
        {"after": f"{20 + 60 * turn + at}us", "link": "l1-s1", "do": do}
        for turn in range(3)
        for at, do in ((0, "down"), (30, "up"))
    ]
    once, again = measured(flap, transport=transport), measured(*single, transport=transport)
    assert once.totals["link_lost"] == again.totals["link_lost"] > 0
    assert np.array_equal(once.flows["fct_ns"], again.flows["fct_ns"])


@pytest.mark.parametrize("transport", [CSA_UD, "irn", "dcqcn"])
def test_a_slow_link_is_as_fast_again_when_it_is_up(transport: str) -> None:
    slow = {"after": 0, "link": "uplink", "do": "slow", "rate": "25Gbit"}
    whole = one_flow(transport=transport)
    assert 3 < one_flow(slow, transport=transport) / whole < 8
    restored = {"after": "100us", "link": "uplink", "do": "up"}
    assert 1 < one_flow(slow, restored, transport=transport) / whole < 3


@pytest.mark.parametrize("transport", [CSA_UD, "ndp"])
def test_a_link_loses_packets_from_one_event_to_the_next(transport: str) -> None:
    lose = {"after": "10us", "link": "l1-s1", "do": "lose", "loss": 0.1}
    whole = {"after": "50us", "link": "l1-s1", "do": "up"}
    injected = [
        measured(*events, transport=transport).totals["injected"]
        for events in ((lose,), (lose, whole), ({**lose, "after": "30ms"},), ())
    ]
    assert injected[0] > injected[1] > 0 == injected[2] == injected[3]


def test_faults_go_on_when_a_link_is_whole_again() -> None:
    fault = {"where": "l1-s1", "probability": 1, "kinds": ["data"]}
    lose = {"after": "1us", "link": "l1-s1", "do": "lose", "loss": 0.01}
    whole = {"after": "2us", "link": "l1-s1", "do": "up"}
    for transport in (CSA_UD, "irn"):
        asked = {"transport": transport, "faults": [fault], "time_limit": "2ms"}
        with_event, without = measured(lose, whole, **asked), measured(**asked)
        assert with_event.totals["injected"] > without.totals["injected"] * 0.8 > 0


def test_who_was_told_to_pause_by_a_link_that_fails_sends_again() -> None:
    incast = {"pattern": "incast", "senders": 3, "sizes": 400_000, "load": 1, "flows": 12, "to": "h1"}
    flap = {"after": "20us", "link": "l1-s1", "do": "flap", "every": "40us", "times": 5}
    transport = {"name": "dcqcn", "buffer": 600_000, "timeout": "500us"}
    found = measured(flap, traffic=incast, transport=transport)
    assert found.totals["pauses"] > 0 and found.totals["link_lost"] > 0
    assert found.totals["unfinished"] == 0


def test_mistakes_in_events_are_told_all_at_once(tmp_path: Path) -> None:
    file = tmp_path / "mistakes.yaml"
    file.write_text(
        """name: x
traffic: {load: 2}
events:
  - {after: 50us, link: l1-s1, do: up}
  - {after: 40us, link: l1-s1, do: flap, every: 10us}
  - {after: 60us, link: l1+s1, do: down}
  - {at_step: 1, link: l1-s1, do: down}
  - {after: 70us, link: l1-s1, do: down, rate: 1Gbit}
"""
    )
    with pytest.raises(ConfigError) as error:
        load_experiment(file)
    assert [(each.line, each.key) for each in error.value.all] == [
        (2, "traffic.load"),
        (5, "events[1].times"),
        (6, "events[2].link"),
        (7, "events[3].at_step"),
        (8, "events[4].rate"),
    ]
    file.write_text(
        """name: x
traffic: {}
events:
  - {after: 50us, link: l1-s1, do: up}
  - {after: 60us, link: l1-s2, do: flap, every: 10us, times: 5}
  - {after: 75us, link: l1-s2, do: down}
  - {after: 90us, link: l1-s2, do: down}
  - {after: 40us, link: l2-s2, do: slow, rate: 1Gbit}
"""
    )
    with pytest.raises(ConfigError) as error:
        load_experiment(file)
    assert [(each.line, each.key, each.message) for each in error.value.all] == [
        (4, "events[0].do", "l1-s1 is not down at this point"),
        (5, "events[1].do", "l1-s2 is down already at this point"),
        (7, "events[3].do", "l1-s2 is down already at this point"),
        (8, "events[4].after", "expected times in order, got 40us after 90us"),
    ]
