"""P4Info and JSON must be of one compilation: what P4Info names is in the program, in the same shape.

Two things differ between them by P4Runtime's own rules. A value of a translated type
(@p4runtime_translation) has another width for controllers: it is the same number here as there, and has to
fit into both. And P4Info names digests that no packet can make, which p4c leaves out of the JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from csaud_softswitch import _core
from csaud_softswitch.p4runtime.errors import P4RuntimeError, invalid, unimplemented
from csaud_softswitch.p4runtime.p4data import Leaf, leaves
from csaud_softswitch.p4runtime.p4info_specs import (
    ActionSpec,
    FieldSpec,
    P4InfoIndex,
    RegisterSpec,
    TableSpec,
    ValueSetSpec,
)


def fitted_to(index: P4InfoIndex, switch: _core.Switch) -> P4InfoIndex:
    """The index, with the widths of the program that `switch` has loaded where types are translated.

    INVALID_ARGUMENT unless the program is that of the P4Info.
    """
    tables = {table["name"]: table for table in switch.tables()}
    _check_names("table", (spec.name for spec in index.tables.values()), tables)
    actions = _fitted_actions(index, tables)
    counters = (*index.counters.values(), *index.direct_counters.values())
    _check_names("counter", (c.name for c in counters), (c["name"] for c in switch.counters()))
    profiles = (profile["name"] for profile in switch.profiles())
    _check_names("action profile", (p.name for p in index.profiles.values()), profiles)
    meters = (*index.meters.values(), *index.direct_meters.values())
    _check_names("meter", (m.name for m in meters), (m["name"] for m in switch.meters()))
    sets = {found["name"]: found for found in switch.value_sets()}
    _check_names("value set", (v.name for v in index.value_sets.values()), sets)
    _check_digests(index, switch)
    return replace(
        index,
        tables={spec.id: _fitted_table(spec, tables[spec.name]) for spec in index.tables.values()},
        actions=actions,
        registers=_fitted_registers(index, switch),
        value_sets={spec.id: _fitted_value_set(spec, sets[spec.name]) for spec in index.value_sets.values()},
    )


def _check_names(what: str, wanted: Iterable[str], there: Iterable[str]) -> None:
    names = set(there)
    for name in wanted:
        if name not in names:
            raise invalid(f"P4Info has {what} {name}, which the program's JSON does not have")


def _fitted(spec: FieldSpec, width: int, where: str) -> FieldSpec:
    """A field that has so many bits in the program; as it is where the two differ without translation."""
    if not spec.translated or spec.width == width:
        return spec
    if spec.match_type not in ("exact", "optional"):
        raise unimplemented(
            f"P4Info: {where}.{spec.name} is translated from {width} to {spec.width} bits:"
            f" matches of type {spec.match_type} on it are not supported, only exact and optional ones"
        )
    return replace(spec, width=min(spec.width, width), core_width=width)


def _fitted_table(spec: TableSpec, found: _core.TableInfo) -> TableSpec:
    keys = found["keys"]
    # p4c writes optional keys as ternary ones into the JSON.
    ours = [(f.name, "ternary" if f.match_type == "optional" else f.match_type, f.width) for f in spec.fields]
    theirs = [(k["name"], k["match_type"], k["width"]) for k in keys]
    if len(ours) != len(theirs) or any(
        mine[:2] != other[:2] or (mine != other and not field.translated)
        for mine, other, field in zip(ours, theirs, spec.fields, strict=True)
    ):
        raise invalid(f"table {spec.name}: P4Info has the keys {ours}, the program's JSON has {theirs}")
    pairs = zip(spec.fields, keys, strict=True)
    return replace(spec, fields=tuple(_fitted(field, key["width"], spec.name) for field, key in pairs))


def _fitted_actions(index: P4InfoIndex, tables: Mapping[str, _core.TableInfo]) -> dict[int, ActionSpec]:
    """An action of several tables is the same in all of them."""
    actions = dict(index.actions)
    for table in index.tables.values():
        found = {a["name"]: [width for _, width in a["params"]] for a in tables[table.name]["actions"]}
        for action_id in table.actions:
            spec = index.actions[action_id]
            widths = found.get(spec.name)
            if widths is None or len(widths) != len(spec.params):
                raise _other_action(table, spec)
            pairs = zip(spec.params, widths, strict=True)
            fitted = replace(spec, params=tuple(_fitted(p, width, spec.name) for p, width in pairs))
            if [p.core_width or p.width for p in fitted.params] != widths:
                raise _other_action(table, spec)
            actions[action_id] = fitted
    return actions


def _fitted_value_set(spec: ValueSetSpec, found: _core.ValueSetInfo) -> ValueSetSpec:
    if len(spec.fields) != len(found["widths"]):
        raise invalid(f"value set {spec.name} of P4Info is not that of the program's JSON")
    pairs = zip(spec.fields, found["widths"], strict=True)
    return replace(spec, fields=tuple(_fitted(field, width, spec.name) for field, width in pairs))


def _other_action(table: TableSpec, action: ActionSpec) -> P4RuntimeError:
    return invalid(f"table {table.name}: action {action.name} of P4Info is not that of the program's JSON")


def _fitted_registers(index: P4InfoIndex, switch: _core.Switch) -> dict[int, RegisterSpec]:
    registers = {register["name"]: register for register in switch.registers()}
    _check_names("register", (r.name for r in index.registers.values()), registers)
    fitted = {}
    for spec in index.registers.values():
        found = registers[spec.name]
        shape = spec.shape
        if isinstance(shape, Leaf) and shape.translated:
            shape = replace(shape, width=found["width"])
        if ([leaf.width for leaf in leaves(shape)], spec.size) != ([found["width"]], found["size"]):
            raise invalid(f"register {spec.name} of P4Info is not that of the program's JSON")
        fitted[spec.id] = replace(spec, shape=shape)
    return fitted


def _check_digests(index: P4InfoIndex, switch: _core.Switch) -> None:
    digests = {digest["name"]: digest for digest in switch.digests()}
    for spec in index.digests.values():
        if spec.name not in digests:
            continue  # no packet makes it
        theirs = [width for _, width in digests[spec.name]["fields"]]
        if len(list(leaves(spec.shape))) != len(theirs):
            raise invalid(f"digest {spec.name}: the program's JSON has {len(theirs)} fields, P4Info another")
