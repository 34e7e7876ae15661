"""Forwarding pipeline configs: what is accepted, what is kept, and what a refused one leaves untouched."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.proto import p4r

from tests.softswitch.inputs import (
    DESTINATION,
    GROUP,
    HOST_PORT,
    csa,
    leaf,
    limits,
    member,
    policy,
    route,
)
from tests.softswitch.p4runtime_support import CONFIG, DEVICE_ID, Client, Served, refused

Kind = p4r.GetForwardingPipelineConfigRequest
ENTRIES = {"table_entry": p4r.TableEntry()}


def changed(**fields: object) -> p4r.ForwardingPipelineConfig:
    config = p4r.ForwardingPipelineConfig()
    config.CopyFrom(CONFIG)
    config.MergeFrom(p4r.ForwardingPipelineConfig(**fields))
    return config


def get(client: Client, kind: int) -> p4r.ForwardingPipelineConfig:
    request = Kind(device_id=DEVICE_ID, response_type=kind)
    return client.stub.GetForwardingPipelineConfig(request).config


def test_without_a_pipeline_every_call_says_so(primary: Client) -> None:
    request = Kind(device_id=DEVICE_ID)
    assert not primary.stub.GetForwardingPipelineConfig(request).HasField("config")
    with refused(Code.FAILED_PRECONDITION, "no forwarding pipeline config"):
        primary.write(route("10.0.0.0/8", 1))
    with refused(Code.FAILED_PRECONDITION, "no forwarding pipeline config"):
        primary.read(**ENTRIES)
    primary.send(p4r.StreamMessageRequest(packet=p4r.PacketOut(payload=b"x")))
    assert primary.receive().error.canonical_code == Code.FAILED_PRECONDITION


def test_the_config_is_read_back_in_all_its_parts(controller: Client) -> None:
    assert get(controller, Kind.ALL) == CONFIG
    cookie = p4r.ForwardingPipelineConfig(cookie=CONFIG.cookie)
    assert get(controller, Kind.COOKIE_ONLY) == cookie
    assert get(controller, Kind.P4INFO_AND_COOKIE) == p4r.ForwardingPipelineConfig(
        cookie=CONFIG.cookie, p4info=CONFIG.p4info
    )
    assert get(controller, Kind.DEVICE_CONFIG_AND_COOKIE) == p4r.ForwardingPipelineConfig(
        cookie=CONFIG.cookie, p4_device_config=CONFIG.p4_device_config
    )


def test_verify_changes_nothing(primary: Client) -> None:
    primary.set_pipeline("VERIFY")
    assert get(primary, Kind.ALL) == p4r.ForwardingPipelineConfig()


def test_commit_empties_the_tables(controller: Client) -> None:
    controller.write(route("10.0.0.0/8", 1))
    controller.set_pipeline()
    assert controller.read(**ENTRIES) == []


def test_a_saved_config_takes_entries_and_forwards_once_it_is_committed(
    controller: Client, served: Served
) -> None:
    controller.write(*leaf()["write"])
    controller.set_pipeline("VERIFY_AND_SAVE", changed(cookie={"cookie": 5}))
    assert get(controller, Kind.COOKIE_ONLY).cookie == CONFIG.cookie
    assert controller.read(**ENTRIES) == []  # reads and writes are about the saved config
    controller.write(member(1, HOST_PORT), limits(3, 1, 2))
    assert len(served.inject(HOST_PORT, csa())) == 1  # the committed one forwards as before
    controller.set_pipeline("COMMIT", None)
    assert get(controller, Kind.COOKIE_ONLY).cookie.cookie == 5
    assert len(controller.read(**ENTRIES)) == 1
    assert len(controller.read(action_profile_member=p4r.ActionProfileMember())) == 1
    assert served.inject(HOST_PORT, csa()) == []


def test_commit_needs_a_saved_config_and_takes_none(controller: Client) -> None:
    with refused(Code.NOT_FOUND, "no forwarding pipeline config was saved"):
        controller.set_pipeline("COMMIT", None)
    with refused(Code.INVALID_ARGUMENT, "takes no config"):
        controller.set_pipeline("COMMIT")


def test_reconcile_keeps_entries_and_forwarding(controller: Client, served: Served) -> None:
    controller.write(*leaf()["write"], policy("host_directed"))
    entries = controller.read(**ENTRIES)
    controller.set_pipeline("RECONCILE_AND_COMMIT", changed(cookie={"cookie": 6}))
    assert controller.read(**ENTRIES) == entries
    assert get(controller, Kind.COOKIE_ONLY).cookie.cookie == 6
    [(port, _)] = served.inject(HOST_PORT, csa(path_id=2))
    assert port == 3


def test_reconcile_with_a_program_that_the_entries_do_not_fit_changes_nothing(
    controller: Client, served: Served
) -> None:
    controller.write(*leaf()["write"])
    config = p4r.ForwardingPipelineConfig()
    config.CopyFrom(CONFIG)
    for table in config.p4info.tables:
        if table.preamble.name.endswith("ipv4_lpm"):
            config.p4info.tables.remove(table)
            break
    with refused(Code.INVALID_ARGUMENT, "the new config has no"):
        controller.set_pipeline("RECONCILE_AND_COMMIT", config)
    assert len(served.inject(HOST_PORT, csa())) == 1


def _json(change: Callable[[dict], None]) -> bytes:
    document = json.loads(CONFIG.p4_device_config)
    change(document)
    return json.dumps(document).encode()


def _rename_table(document: dict) -> None:
    for table in document["pipelines"][0]["tables"]:
        if table["name"].endswith("ipv4_lpm"):
            table["name"] = "other"


@pytest.mark.parametrize(
    ("device_config", "text"),
    [
        (b"", "p4_device_config is empty"),
        (b"{", "JSON"),
        (b"\xff\xfe", "p4_device_config"),
        (b"[]", ""),
        (b"{}", ""),
        (_json(_rename_table), "ipv4_lpm"),
    ],
    ids=["empty", "cut", "binary", "list", "nothing", "other program"],
)
def test_a_bad_device_config_is_refused_and_the_old_one_stays(
    controller: Client, served: Served, device_config: bytes, text: str
) -> None:
    controller.write(*leaf()["write"])
    config = p4r.ForwardingPipelineConfig(p4info=CONFIG.p4info, p4_device_config=device_config)
    for action in ("VERIFY", "VERIFY_AND_SAVE", "VERIFY_AND_COMMIT", "RECONCILE_AND_COMMIT"):
        with refused(Code.INVALID_ARGUMENT, text):
            controller.set_pipeline(action, config)
    assert get(controller, Kind.ALL) == CONFIG
    assert len(served.inject(HOST_PORT, csa(dst=DESTINATION))) == 1
    assert len(controller.read(table_entry=p4r.TableEntry())) == 4


def test_a_p4info_that_contradicts_itself_is_refused(primary: Client) -> None:
    config = changed()
    config.p4info.tables[1].preamble.id = config.p4info.tables[0].preamble.id
    with refused(Code.INVALID_ARGUMENT, "P4Info"):
        primary.set_pipeline("VERIFY", config)
    config = changed()
    config.p4info.tables[0].action_refs[0].id = 12345
    with refused(Code.INVALID_ARGUMENT, "refers to action"):
        primary.set_pipeline("VERIFY", config)
    config = changed()
    routes = next(table for table in config.p4info.tables if table.preamble.alias.endswith("ipv4_lpm"))
    routes.match_fields[0].bitwidth = 31
    with refused(Code.INVALID_ARGUMENT, "ipv4_lpm"):
        primary.set_pipeline("VERIFY", config)


def test_a_request_without_config_or_with_an_unknown_action(primary: Client) -> None:
    with refused(Code.INVALID_ARGUMENT, "no config"):
        primary.set_pipeline("VERIFY_AND_COMMIT", None)
    request = p4r.SetForwardingPipelineConfigRequest(device_id=DEVICE_ID, config=CONFIG)
    request.election_id.low = 1
    with refused(Code.INVALID_ARGUMENT, "unknown action"):
        primary.stub.SetForwardingPipelineConfig(request)


def test_capabilities(primary: Client) -> None:
    version = primary.stub.Capabilities(p4r.CapabilitiesRequest()).p4runtime_api_version
    assert version.split(".")[0] == "1"


def test_the_group_of_the_leaf_is_what_the_tests_think(controller: Client) -> None:
    controller.write(*leaf()["write"])
    [found] = controller.read(action_profile_group=p4r.ActionProfileGroup(group_id=GROUP))
    assert [m.member_id for m in found.action_profile_group.members] == [1, 2, 3, 4]
