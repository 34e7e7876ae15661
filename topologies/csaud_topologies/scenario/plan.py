"""From what the user asked to what will be run, with every mistake found before anything is started."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from csaud_controller.base.units import format_duration
from csaud_controller.base.why import why
from csaud_controller.base.yamlfile import ConfigError, FieldError, key_text, parse_yaml
from csaud_controller.inventory import Fabric, load_fabric

from csaud_topologies.base.usage import UsageError
from csaud_topologies.scenario.host_settings import check_settings
from csaud_topologies.scenario.model import SCENARIOS, Scenario, find_scenario, load_scenario
from csaud_topologies.scenario.options import RunOptions
from csaud_topologies.scenario.placement import check_background, place

QUIET = "plain"
"""The scenario in which nothing happens."""
_SHORTEST_FLAP = 500_000_000
"""ns. A job's runner looks ten times a second for what is due."""
_FABRIC = re.compile(r"(leaf-spine|fat-tree)-\d")


@dataclass(frozen=True)
class Plan:
    """One run, fully determined but for what a calibration finds out."""

    options: RunOptions
    scenario: Scenario
    fabric: Fabric
    hosts: list[str]
    """The host of each rank."""


def topo_or_scenario(text: str) -> tuple[str, str]:
    """What one word names: (topology or empty, scenario). A topology alone goes with the scenario in which
    nothing happens; RunError when the word is neither, ConfigError when a file cannot be read."""
    if _FABRIC.match(text):
        return text, QUIET
    path = Path(text)
    if path.suffix in (".yaml", ".yml", ".json"):
        if not path.exists():
            raise UsageError(f"{text}: no such file")
        try:
            content, _ = parse_yaml(path.read_text(encoding="utf-8"), text)
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{text}: cannot be read: {why(error)}") from None
        return (text, QUIET) if isinstance(content, dict) and "switches" in content else ("", text)
    known = sorted(file.stem for file in SCENARIOS.glob("*.yaml"))
    if text not in known:
        raise UsageError(
            f"{text}: neither a fabric (such as leaf-spine-2x2, fat-tree-4) nor a scenario"
            f" ({', '.join(known)}) nor a YAML file of one"
        )
    return "", text


def make_plan(options: RunOptions, *, virtual: bool = False) -> Plan:
    """ConfigError (file, line, key) or RunError for any mistake in scenario, topology or overrides.

    Args:
        virtual: in time that is not the machine's.
    """
    scenario = load_scenario(options.scenario, options.overrides)
    named = scenario.fabric_bmv2 if options.target == "bmv2" else scenario.fabric
    fabric = load_fabric(options.topo or named)
    if scenario.ipv6:
        fabric = fabric.with_ipv6()
    if scenario.link_rate is not None:
        link = fabric.link.model_copy(update={"rate": scenario.link_rate})
        fabric = fabric.model_copy(update={"link": link})
    if options.target != "soft" and fabric.links_via == "memory":
        if fabric.name != (options.topo or named):
            raise UsageError(
                f"{fabric.name}: links_via: memory needs TARGET=soft; {options.target} has veth links only"
            )
        fabric = fabric.model_copy(update={"links_via": "veth"})  # by name, no kind of link was asked for
    try:
        scenario.check(fabric)
        scenario = scenario.on(fabric)
        hosts = place(fabric, scenario.workers)
        check_background(scenario.background, fabric)
        check_settings(scenario.host)
        if not virtual:
            _check_for_emulation(options, scenario)
    except FieldError as error:
        raise in_file(find_scenario(options.scenario), error) from None
    if options.waits:
        _check_for_own_programs(options, scenario)
    return Plan(options, scenario, fabric, hosts)


def _check_for_emulation(options: RunOptions, scenario: Scenario) -> None:
    """FieldError for what neither a clock that runs nor the target lets happen to links."""
    for index, event in enumerate(scenario.events):
        if event.every is not None and event.every < _SHORTEST_FLAP:
            least = format_duration(_SHORTEST_FLAP)
            raise FieldError(("events", index, "every"), f"expected at least {least}: time is the machine's")
        if event.do == "slow" and options.target != "soft":
            raise FieldError(("events", index, "do"), f"slow needs TARGET=soft, not {options.target}")


def _check_for_own_programs(options: RunOptions, scenario: Scenario) -> None:
    """Nobody knows the steps of a user's own program."""
    for index, event in enumerate(scenario.events):
        if event.at_step is not None:
            message = (
                "steps are those of built-in workloads; beside one's own program an event comes"
                " `after: 2s` (--set events=[] leaves all of them out)"
            )
            raise in_file(find_scenario(options.scenario), FieldError(("events", index, "at_step"), message))


def in_file(path: Path, error: FieldError) -> ConfigError:
    """The mistake with the line of its key, or of the nearest one above it that the file has."""
    _, lines = parse_yaml(path.read_text(), str(path))
    loc = error.loc
    while loc and loc not in lines:
        loc = loc[:-1]
    return ConfigError(str(path), lines.get(loc), key_text(error.loc), str(error))
