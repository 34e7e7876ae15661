"""The switches' counters in the form that the books want."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from csaud_controller.inventory import Fabric
from csaud_controller.program.artifacts import ArtifactsError
from csaud_controller.switches.counters import BY_KIND, SwitchCounters, Unit, read_counters
from csaud_controller.switches.errors import CountersError
from csaud_controller.targets.assigned import programs
from csaud_runs.errors import RunError

from csaud_topologies.record.books import KINDS, SwitchCounts

_CSA_KINDS = KINDS[1:]
_READ_EVERY_S = 0.25
_PATIENCE_S = 60.0  # a switch that is gone is noticed by its process; one that is slow lacks processor time


def switch_counts(reading: Mapping[str, Any]) -> SwitchCounts:
    """One switch's reading as its counts."""

    def by_port(name: str) -> dict[tuple[int, int], int]:
        return {
            (port, kind): int(kinds[word])
            for port, kinds in reading.get(name, {}).items()  # not every program has all of them
            for kind, word in enumerate(KINDS)
            if kinds[word]
        }

    def by_kind(name: str) -> dict[int, int]:
        return {kind: int(reading[name][word]) for kind, word in enumerate(KINDS)}

    return SwitchCounts(
        ingress=by_port("ingress_kind"),
        egress=by_port("egress_kind"),
        injected=by_port("injected"),
        trimmed=by_port("trimmed"),
        bounced=by_port("bounced"),
        both=by_port("both"),
        congestion_dropped=by_port("congestion_dropped"),
        refused=by_port("refused_kind"),
        trim_sent=dict(reading.get("trim_sent", {})),
        trim_dropped=dict(reading.get("trim_dropped", {})),
        bounce_sent=dict(reading.get("bounce_sent", {})),
        bounce_dropped=dict(reading.get("bounce_dropped", {})),
        no_path=by_kind("no_path"),
        discarded=by_kind("discarded_kind"),
    )


def read(
    fabric: Fabric,
    counters: Iterable[str] | None = None,
    switches: Iterable[str] | None = None,
    unit: Unit = "packets",
) -> dict[str, SwitchCounters]:
    """The counters of all switches, or those named; RunError when a switch does not answer."""
    try:
        return read_counters(
            fabric, programs(fabric), switches=switches, counters=counters, unit=unit, timeout_s=_PATIENCE_S
        )
    except (ArtifactsError, CountersError) as error:
        raise RunError(str(error)) from None


def since(now: Any, before: Any) -> Any:
    """What was counted between two readings: every number of `now` less the one at its place in `before`."""
    if isinstance(now, Mapping):
        return {key: since(value, before[key]) for key, value in now.items()}
    if isinstance(now, list):
        return [since(value, earlier) for value, earlier in zip(now, before, strict=True)]
    return now - before


def read_quiet(
    fabric: Fabric, tick: Callable[[], None], when: str, within_s: float = _PATIENCE_S
) -> dict[str, SwitchCounters]:
    """Counters of all switches once no CSA packet moves any more: two readings that agree.

    RunError when the network does not get quiet; `when` says in it what it was to be quiet for.
    """
    deadline = time.monotonic() + within_s
    before = read(fabric, BY_KIND)
    while True:
        time.sleep(_READ_EVERY_S)
        tick()
        now = read(fabric, BY_KIND)
        if _csa_only(now) == _csa_only(before):
            everything = read(fabric)
            if _csa_only(everything) == _csa_only(now):
                return everything
        if time.monotonic() > deadline:
            raise RunError(f"the network did not get quiet within {within_s:.0f} s {when}")
        before = now


def _csa_only(reading: Mapping[str, SwitchCounters]) -> dict[str, Any]:
    """Without other traffic: link probes and ARP never end."""
    return {
        switch: [
            [{port: kinds[kind] for port, kinds in counters[name].items()} for kind in _CSA_KINDS]
            for name in BY_KIND
            if name in counters
        ]
        for switch, counters in reading.items()
    }
