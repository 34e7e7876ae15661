"""From one fabric to the next while switches forward: what stays as it is, and what would change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping
from itertools import count
from typing import Any

from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import Edge, Fabric, SwitchSpec
from csaud_controller.program.entities import CloneSession, Digest, Entry, Group, Item, Member, TableState
from csaud_controller.switches.reconcile import plan


def following(old: Fabric, new: Fabric) -> Fabric:
    """The new fabric with what lasts of the old: ids of path groups, without which a switch that comes in
    between would have all others' routes rewritten, addresses of switches that it does not give, and how the
    controller reaches them over TLS.

    FieldError when the new one gives an id that a switch which stays has.
    """
    kept = {name: spec.group or old.place_of.get(name) for name, spec in new.switches.items()}
    for name, number in kept.items():
        other = next((n for n, g in kept.items() if g == number and number is not None and n != name), None)
        if other is not None:
            at = name if new.switches[name].group else other
            raise FieldError(("switches", at, "group"), f"{number} is that of another switch which stays")
    taken = {*filter(None, kept.values()), *old.place_of.values()}
    free = (number for number in count(1) if number not in taken)
    switches = {
        name: spec.model_copy(update={"group": kept[name] or next(free)})
        for name, spec in addressed(old, new).switches.items()
    }
    return new.changed(switches=switches, tls_client=new.tls_client or old.tls_client)


def addressed(old: Fabric, new: Fabric) -> Fabric:
    """The new fabric, in which switches that stay have the addresses that they had, where it gives none."""
    known = {name: spec.p4runtime for name, spec in old.switches.items() if spec.p4runtime is not None}
    unsaid = {name for name, spec in new.switches.items() if spec.p4runtime is None}
    return new.with_addresses({name: known[name] for name in unsaid & known.keys()})


def wiring_changes(old: Fabric, new: Fabric) -> dict[str, list[str]]:
    """Switches, hosts and links that come, go or become others, by name, and what holds for all of them."""
    changes: dict[str, list[str]] = {}
    for key, before, after in (
        ("switches", _numbered(old), _numbered(new)),
        ("hosts", old.hosts, new.hosts),
    ):
        changes[f"{key}_added"] = [name for name in after if name not in before]
        changes[f"{key}_removed"] = [name for name in before if name not in after]
        changes[f"{key}_changed"] = [n for n in after if n in before and after[n] != before[n]]
    links, others = _links(old), _links(new)
    changes["links_added"] = [str(edge) for ends, edge in others.items() if ends not in links]
    changes["links_removed"] = [str(edge) for ends, edge in links.items() if ends not in others]
    changes["links_changed"] = [
        str(edge)
        for ends, edge in others.items()
        if ends in links and new.link_of(edge) != old.link_of(links[ends])
    ]
    changes["settings_changed"] = [
        key if key.startswith("tls") else f"{key} ({getattr(old, key)} -> {getattr(new, key)})"
        for key in ("name", "links_via", "mtu", "tls", "tls_client")
        if getattr(new, key) != getattr(old, key)
    ]
    return changes


def _numbered(fabric: Fabric) -> dict[str, SwitchSpec]:
    """Switches with the ids of their groups, be it that a file gives them."""
    return {
        name: spec.model_copy(update={"group": fabric.place_of[name]})
        for name, spec in fabric.switches.items()
    }


def in_words(changes: Mapping[str, list[str]]) -> list[str]:
    """One a kind of change: `fabric: links added: l1:3-s3:1`."""
    return [f"fabric: {key.replace('_', ' ')}: {', '.join(those)}" for key, those in changes.items() if those]


def _links(fabric: Fabric) -> dict[frozenset[Any], Edge]:
    return {frozenset(edge.ends): edge for edge in fabric.edges}


def table_changes(
    before: Mapping[str, TableState], after: Mapping[str, TableState]
) -> Generator[None, None, dict[str, dict[str, Any]]]:
    """What would be written, a switch at a step: entries by table and verb, counted and in words."""
    found = {}
    for name, want in after.items():
        counts: dict[str, Counter[str]] = {}
        entries = []
        for step in plan(before.get(name, TableState()), want):
            for item in step.items:
                counts.setdefault(step.verb, Counter())[_table(item)] += 1
                entries.append(f"{step.verb} {item}")
        if entries:
            by_verb = {verb: dict(sorted(tables.items())) for verb, tables in counts.items()}
            found[name] = {**by_verb, "entries": entries}
        yield
    return found


def _table(item: Item) -> str:
    match item:
        case Entry():
            return item.table
        case Member():
            return f"members of {item.selector}"
        case Group():
            return f"groups of {item.selector}"
        case CloneSession():
            return "clone sessions"
        case Digest():
            return "digests"
