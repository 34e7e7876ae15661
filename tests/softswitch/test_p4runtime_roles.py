"""Roles with a config: what their controllers may write, read, push and hear of."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from csaud_softswitch.p4runtime import arbitration
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.proto import p4r, stratum

from tests.softswitch.inputs import HOST_PORT, LLDP, PORTS, ether, lose, name, policy, probes_to_cpu, route
from tests.softswitch.p4runtime_support import (
    CONFIG,
    INDEX,
    NAMES,
    Client,
    Served,
    codes,
    refused,
)

Connect = Callable[..., Client]
LPM = NAMES.table(name("route.ipv4_lpm")).id
POLICY = NAMES.table(name("spray.policy")).id
FAULT = NAMES.table(name("fault.inject")).id
PUNTS = probes_to_cpu(PORTS)
PROBE = ether(bytes(46), LLDP)


def config(**fields: object) -> stratum.P4RoleConfig:
    return stratum.P4RoleConfig(**fields)


def with_role(connect: Connect, role: str, limits: stratum.P4RoleConfig, election_id: int = 1) -> Client:
    client = connect(election_id, role)
    assert client.arbitrate(role_config=limits) == Code.OK
    return client


def test_a_role_writes_and_reads_what_its_config_names(controller: Client, connect: Connect) -> None:
    router = with_role(connect, "router", config(exclusive_p4_ids=[LPM], shared_p4_ids=[POLICY]))
    batch = [route("10.0.0.0/8", 1), lose(1, 0.5, 1, 0), policy("round_robin", 1)]
    assert codes(router, *batch) == [Code.OK, Code.PERMISSION_DENIED, Code.OK]
    controller.write(lose(2, 0.5, 1, 0))  # a role without a config may do everything
    everything = [found.table_entry.table_id for found in controller.read(table_entry=p4r.TableEntry())]
    assert sorted(everything) == sorted([LPM, POLICY, FAULT])
    request = p4r.ReadRequest(device_id=router.device_id, role="router")
    request.entities.add().table_entry.SetInParent()
    mine = [e.table_entry.table_id for response in router.stub.Read(request) for e in response.entities]
    assert sorted(mine) == sorted([LPM, POLICY])
    with refused(Code.PERMISSION_DENIED, "may not set a forwarding pipeline"):
        router.set_pipeline()


def test_a_role_may_be_allowed_to_push_the_pipeline(connect: Connect) -> None:
    operator = with_role(connect, "operator", config(can_push_pipeline=True))
    operator.set_pipeline()
    assert codes(operator, route("10.0.0.0/8", 1)) == [Code.PERMISSION_DENIED]


def test_what_is_exclusive_to_one_role_cannot_be_anothers(connect: Connect) -> None:
    first = with_role(connect, "first", config(exclusive_p4_ids=[LPM], shared_p4_ids=[POLICY]))
    second = connect(1, "second")
    with refused(Code.INVALID_ARGUMENT, "is that of role 'first'"):
        second.arbitrate(role_config=config(shared_p4_ids=[LPM]))
    with_role(connect, "third", config(shared_p4_ids=[POLICY]))
    first.close()
    fourth = connect(1, "fourth")
    for _ in range(50):  # until the server has noticed that `first` is gone
        fourth.introduce(role_config=config(exclusive_p4_ids=[LPM]))
        try:
            assert fourth.status() == Code.OK
            break
        except Exception:
            fourth.close()
            fourth = connect(1, "fourth")
    else:
        pytest.fail("the role is never given up")


def test_the_primary_s_config_is_the_role_s_and_all_are_told(connect: Connect) -> None:
    limits = config(shared_p4_ids=[LPM])
    first = with_role(connect, "r", limits, 5)
    backup = connect(3, "r")
    backup.introduce(role_config=config(shared_p4_ids=[FAULT]))  # a backup's does not count
    told = backup.receive().arbitration
    assert told.status.code == Code.ALREADY_EXISTS
    found = config()
    assert told.role.config.Unpack(found)
    assert found == limits
    first.introduce(role_config=config(shared_p4_ids=[POLICY]))
    assert first.status() == Code.OK
    told = backup.receive().arbitration
    told.role.config.Unpack(found)
    assert list(found.shared_p4_ids) == [POLICY]


def test_packets_go_to_the_roles_that_take_them(controller: Client, connect: Connect, served: Served) -> None:
    port = next(field.id for field in INDEX.packet_in if field.name == "ingress_port")
    at_host = stratum.P4RoleConfig.PacketFilter(metadata_id=port, value=bytes([0, HOST_PORT]))
    filtered = with_role(connect, "one", config(receives_packet_ins=True, packet_in_filter=at_host))
    every = with_role(connect, "all", config(receives_packet_ins=True))
    deaf = with_role(connect, "none", config())
    controller.write(*PUNTS)
    for ingress in (2, HOST_PORT):
        served.inject(ingress, PROBE)
    assert filtered.receive().packet.metadata[0].value == bytes([HOST_PORT])
    assert [every.receive().packet.metadata[0].value for _ in range(2)] == [b"\x02", bytes([HOST_PORT])]
    assert deaf.inbox.empty()
    assert filtered.inbox.empty()


BAD = {
    "another message": CONFIG.p4info,
    "both": config(exclusive_p4_ids=[LPM], shared_p4_ids=[LPM]),
    "zero": config(shared_p4_ids=[0]),
    "filter without a value": config(packet_in_filter=stratum.P4RoleConfig.PacketFilter(metadata_id=1)),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_config_ends_the_stream(connect: Connect, what: str) -> None:
    with refused(Code.INVALID_ARGUMENT, "role 'r': config"):
        connect(1, "r").arbitrate(role_config=BAD[what])


def test_the_default_role_takes_no_config(connect: Connect) -> None:
    with refused(Code.INVALID_ARGUMENT, "full pipeline access"):
        connect(1).arbitrate(role_config=config())


def test_there_is_room_for_so_many_roles_and_streams(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arbitration, "MAX_ROLES", 3)
    monkeypatch.setattr(arbitration, "MAX_STREAMS", 2)
    for role in ("a", "b"):
        assert connect(1, role).arbitrate() == Code.OK
    with refused(Code.RESOURCE_EXHAUSTED, "roles"):
        connect(1, "c").arbitrate()
    assert connect(2, "a").arbitrate() == Code.OK
    with refused(Code.RESOURCE_EXHAUSTED, "role 'a'"):
        connect(3, "a").arbitrate()
