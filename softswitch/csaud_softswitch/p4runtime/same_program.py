"""P4Info and JSON must be of one compilation: everything that P4Info names is in the program, in the same
shape.
"""

from __future__ import annotations

from collections.abc import Iterable

from csaud_softswitch import _core
from csaud_softswitch.p4runtime.errors import invalid
from csaud_softswitch.p4runtime.p4data import leaves
from csaud_softswitch.p4runtime.p4info_specs import P4InfoIndex, TableSpec


def check_same_program(index: P4InfoIndex, switch: _core.Switch) -> None:
    """INVALID_ARGUMENT unless the program that `switch` has loaded is that of the P4Info."""
    tables = {table["name"]: table for table in switch.tables()}
    _check_names("table", (spec.name for spec in index.tables.values()), tables)
    for spec in index.tables.values():
        _check_table(index, spec, tables[spec.name])
    counters = (*index.counters.values(), *index.direct_counters.values())
    _check_names("counter", (c.name for c in counters), (c["name"] for c in switch.counters()))
    profiles = (profile["name"] for profile in switch.profiles())
    _check_names("action profile", (p.name for p in index.profiles.values()), profiles)
    meters = (*index.meters.values(), *index.direct_meters.values())
    _check_names("meter", (m.name for m in meters), (m["name"] for m in switch.meters()))
    sets = (found["name"] for found in switch.value_sets())
    _check_names("value set", (v.name for v in index.value_sets.values()), sets)
    _check_registers(index, switch)
    _check_digests(index, switch)


def _check_names(what: str, wanted: Iterable[str], there: Iterable[str]) -> None:
    names = set(there)
    for name in wanted:
        if name not in names:
            raise invalid(f"P4Info has {what} {name}, which the program's JSON does not have")


def _check_table(index: P4InfoIndex, spec: TableSpec, found: _core.TableInfo) -> None:
    # p4c writes optional keys as ternary ones into the JSON.
    ours = [(f.name, "ternary" if f.match_type == "optional" else f.match_type, f.width) for f in spec.fields]
    theirs = [(k["name"], k["match_type"], k["width"]) for k in found["keys"]]
    if ours != theirs:
        raise invalid(f"table {spec.name}: P4Info has the keys {ours}, the program's JSON has {theirs}")
    actions = {a["name"]: [width for _, width in a["params"]] for a in found["actions"]}
    for action_id in spec.actions:
        action = index.actions[action_id]
        if actions.get(action.name) != [p.width for p in action.params]:
            raise invalid(
                f"table {spec.name}: action {action.name} of P4Info is not that of the program's JSON"
            )


def _check_registers(index: P4InfoIndex, switch: _core.Switch) -> None:
    registers = {register["name"]: register for register in switch.registers()}
    _check_names("register", (r.name for r in index.registers.values()), registers)
    for spec in index.registers.values():
        found = registers[spec.name]
        widths = [leaf.width for leaf in leaves(spec.shape)]
        if (widths, spec.size) != ([found["width"]], found["size"]):
            raise invalid(f"register {spec.name} of P4Info is not that of the program's JSON")


def _check_digests(index: P4InfoIndex, switch: _core.Switch) -> None:
    digests = {digest["name"]: digest for digest in switch.digests()}
    _check_names("digest", (d.name for d in index.digests.values()), digests)
    for spec in index.digests.values():
        theirs = [width for _, width in digests[spec.name]["fields"]]
        if len(list(leaves(spec.shape))) != len(theirs):
            raise invalid(f"digest {spec.name}: the program's JSON has {len(theirs)} fields, P4Info another")
