"""programs/p4rt.p4 over P4Runtime: its ids, updates of its entities, and frames for it."""

from __future__ import annotations

from csaud_softswitch.p4runtime.p4info_index import build_index
from csaud_softswitch.p4runtime.proto import p4r
from csaud_softswitch.program_file import read_config

from tests.softswitch.programs import FOLDER

CONFIG = read_config(FOLDER / "p4rt.json", FOLDER / "p4rt.p4info.txtpb")
INDEX = build_index(CONFIG.p4info)
TABLES = {spec.name.removeprefix("In."): spec.id for spec in INDEX.tables.values()}
ACTIONS = {name.removeprefix("In."): id for name, id in INDEX.action_ids.items()}
[RATES] = INDEX.meters
[TAGS] = INDEX.value_sets
[LEARNED] = INDEX.digests
REGISTERS = {spec.name.removeprefix("In."): spec.id for spec in INDEX.registers.values()}
HERE, THERE = 0x0200_0000_0001, 0x0200_0000_0002


def frame(dst: int = THERE, src: int = HERE, kind: int = 0x0800, size: int = 100) -> bytes:
    return dst.to_bytes(6, "big") + src.to_bytes(6, "big") + kind.to_bytes(2, "big") + bytes(size - 14)


def modify(**entity: object) -> p4r.Update:
    return p4r.Update(type=p4r.Update.MODIFY, entity=p4r.Entity(**entity))


def insert(**entity: object) -> p4r.Update:
    return p4r.Update(type=p4r.Update.INSERT, entity=p4r.Entity(**entity))


def delete(**entity: object) -> p4r.Update:
    return p4r.Update(type=p4r.Update.DELETE, entity=p4r.Entity(**entity))


def number(value: int) -> bytes:
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


def action(name: str, *values: int) -> p4r.TableAction:
    made = p4r.TableAction()
    made.action.action_id = ACTIONS[name]
    for at, value in enumerate(values, 1):
        made.action.params.add(param_id=at, value=number(value))
    return made


def destination(dst: int = THERE, port: int = 2, **fields: object) -> p4r.TableEntry:
    """An entry of `destinations`: frames to dst leave by port."""
    entry = p4r.TableEntry(table_id=TABLES["destinations"], action=action("to", port), **fields)
    entry.match.add(field_id=1).exact.value = number(dst)
    return entry


def source(src: int = HERE, **fields: object) -> p4r.TableEntry:
    """An entry of `sources`, the table with idle timeouts."""
    entry = p4r.TableEntry(table_id=TABLES["sources"], action=action("known"), **fields)
    entry.match.add(field_id=1).exact.value = number(src)
    return entry


def tag(*values: int) -> p4r.Update:
    """Sets the value set."""
    entry = p4r.ValueSetEntry(value_set_id=TAGS)
    for value in values:
        entry.members.add().match.add(field_id=1).exact.value = number(value)
    return modify(value_set_entry=entry)
