"""From what the user asked to what will be run, with every mistake found before anything is started."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from csaud_controller.base.yamlfile import ConfigError, FieldError, key_text, parse_yaml
from csaud_controller.inventory import Fabric, load_fabric
from csaud_runs.errors import RunError

from csaud_topologies.scenario.model import Scenario, find_scenario, load_scenario
from csaud_topologies.scenario.options import RunOptions
from csaud_topologies.scenario.placement import place, sources_of


@dataclass(frozen=True)
class Plan:
    """One run, fully determined but for what a calibration finds out."""

    options: RunOptions
    scenario: Scenario
    fabric: Fabric
    hosts: list[str]
    """The host of each rank."""


def make_plan(options: RunOptions) -> Plan:
    """ConfigError (file, line, key) or RunError for any mistake in scenario, topology or overrides."""
    scenario = load_scenario(options.scenario, options.overrides)
    named = scenario.fabric_bmv2 if options.target == "bmv2" else scenario.fabric
    fabric = load_fabric(options.topo or named)
    if scenario.link_rate is not None:
        link = fabric.link.model_copy(update={"rate": scenario.link_rate})
        fabric = fabric.model_copy(update={"link": link})
    if options.target != "soft" and fabric.links_via == "memory":
        if fabric.name != (options.topo or named):
            raise RunError(
                f"{fabric.name}: links_via: memory needs TARGET=soft; {options.target} has veth links only"
            )
        fabric = fabric.model_copy(update={"links_via": "veth"})  # by name, no kind of link was asked for
    try:
        scenario.check(fabric)
        scenario = scenario.on(fabric)
    except FieldError as error:
        raise in_file(find_scenario(options.scenario), error) from None
    for incast in scenario.background:
        sources_of(incast, fabric)
    return Plan(options, scenario, fabric, place(fabric, scenario.workers))


def in_file(path: Path, error: FieldError) -> ConfigError:
    """The mistake with the line of its key, or of the nearest one above it that the file has."""
    _, lines = parse_yaml(path.read_text(), str(path))
    loc = error.loc
    while loc and loc not in lines:
        loc = loc[:-1]
    return ConfigError(str(path), lines.get(loc), key_text(error.loc), str(error))
