"""Types that controllers see in another width (@p4runtime_translation), and digests that no packet makes: the
program is p4rt.p4, with what p4c would write into its P4Info.
"""

from __future__ import annotations

import pytest
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.proto import p4r

from tests.softswitch.p4rt_program import (
    CONFIG,
    HERE,
    LEARNED,
    TABLES,
    THERE,
    delete,
    destination,
    frame,
    insert,
)
from tests.softswitch.p4runtime_support import CONFIG as CSAUD
from tests.softswitch.p4runtime_support import Client, Served, codes, refused


def changed() -> p4r.ForwardingPipelineConfig:
    config = p4r.ForwardingPipelineConfig()
    config.CopyFrom(CONFIG)
    return config


def with_widths(table: str, address: int, port: int) -> p4r.ForwardingPipelineConfig:
    """The key of a table, of 48 bits, and the port of `to`, of 9, have these widths for controllers."""
    config = changed()
    info = config.p4info
    for name, width in (("address_t", address), ("port_t", port)):
        info.type_info.new_types[name].translated_type.sdn_bitwidth = width
        info.type_info.new_types[name].translated_type.uri = f"example.org/{name}"
    [key] = next(t for t in info.tables if t.preamble.id == TABLES[table]).match_fields
    key.bitwidth, key.type_name.name = address, "address_t"
    for action in info.actions:
        if action.preamble.name == "In.to":
            [param] = action.params
            param.bitwidth, param.type_name.name = port, "port_t"
    return config


def test_numbers_of_a_wider_type_are_those_of_the_program(primary: Client, served: Served) -> None:
    primary.set_pipeline(config=with_widths("destinations", 64, 32))
    primary.write(insert(table_entry=destination(THERE, port=2)))
    [(port, _)] = served.inject(3, frame())
    assert port == 2
    [found] = primary.read(table_entry=p4r.TableEntry(table_id=TABLES["destinations"]))
    assert found.table_entry == destination(THERE, port=2)


def test_a_number_that_the_program_has_no_room_for_is_refused(primary: Client) -> None:
    primary.set_pipeline(config=with_widths("destinations", 64, 32))
    assert codes(primary, insert(table_entry=destination(THERE, port=512))) == [Code.OUT_OF_RANGE]
    assert codes(primary, insert(table_entry=destination(1 << 48))) == [Code.OUT_OF_RANGE]


def test_a_number_that_the_type_has_no_room_for_is_refused(primary: Client, served: Served) -> None:
    primary.set_pipeline(config=with_widths("destinations", 32, 9))
    assert codes(primary, insert(table_entry=destination(1 << 32))) == [Code.OUT_OF_RANGE]
    primary.write(insert(table_entry=destination(7, port=1)))
    [(port, _)] = served.inject(3, frame(dst=7))
    assert port == 1


@pytest.mark.parametrize(("name", "kind"), [("ipv4_lpm", "lpm"), ("policy", "ternary")])
def test_prefixes_and_masks_of_translated_numbers_are_refused_by_name(
    primary: Client, name: str, kind: str
) -> None:
    config = p4r.ForwardingPipelineConfig()
    config.CopyFrom(CSAUD)
    config.p4info.type_info.new_types["wide_t"].translated_type.sdn_bitwidth = 77
    table = next(t for t in config.p4info.tables if t.preamble.name.endswith(name))
    table.match_fields[0].bitwidth, table.match_fields[0].type_name.name = 77, "wide_t"
    with refused(Code.INVALID_ARGUMENT, f"matches of type {kind} on it are not supported"):
        primary.set_pipeline(config=config)


def test_another_width_without_translation_is_another_program(primary: Client) -> None:
    config = with_widths("destinations", 64, 9)
    del config.p4info.type_info.new_types["address_t"]
    with refused(Code.INVALID_ARGUMENT, "destinations: P4Info has the keys"):
        primary.set_pipeline(config=config)
    config = with_widths("destinations", 48, 32)
    del config.p4info.type_info.new_types["port_t"]
    with refused(Code.INVALID_ARGUMENT, "action In.to of P4Info is not that of the program"):
        primary.set_pipeline(config=config)


def test_a_digest_that_no_packet_makes_is_silent(primary: Client, served: Served) -> None:
    config = changed()
    [learned] = config.p4info.digests
    silent = config.p4info.digests.add()
    silent.CopyFrom(learned)
    silent.preamble.id, silent.preamble.name = LEARNED + 1, "silent_t"
    primary.set_pipeline(config=config)
    entry = p4r.DigestEntry(digest_id=LEARNED + 1)
    entry.config.max_list_size = 1
    primary.write(insert(digest_entry=entry))
    assert [found.digest_entry for found in primary.read(digest_entry=p4r.DigestEntry())] == [entry]
    served.inject(3, frame(src=HERE))
    primary.write(delete(digest_entry=entry))
    assert primary.read(digest_entry=p4r.DigestEntry()) == []
