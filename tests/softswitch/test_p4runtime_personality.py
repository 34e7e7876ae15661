"""A server that refuses what Stratum refuses on Tofino."""

import pytest
from csaud_softswitch.cli import app
from csaud_softswitch.p4runtime.errors import P4RuntimeError
from csaud_softswitch.p4runtime.personality import StratumBfrt
from csaud_softswitch.p4runtime.proto import p4r
from typer.testing import CliRunner

Member = p4r.ActionProfileGroup.Member


def group(**member: object) -> p4r.Entity:
    members = [Member(**{"member_id": 1, "weight": 1, **member})]
    return p4r.Entity(action_profile_group=p4r.ActionProfileGroup(group_id=1, members=members))


def session(
    replicas: int = 1, number: int = 5, instance: int = 0, port: int = 3, **fields: int
) -> p4r.Entity:
    copies = [p4r.Replica(egress_port=port, instance=instance) for _ in range(replicas)]
    entity = p4r.Entity()
    entity.packet_replication_engine_entry.clone_session_entry.CopyFrom(
        p4r.CloneSessionEntry(session_id=number, replicas=copies, **fields)
    )
    return entity


@pytest.mark.parametrize(
    ("entity", "said"),
    [
        (group(watch_port=b"\x03"), "Watch ports are not supported"),
        (group(watch=3), "Watch ports are not supported"),
        (group(weight=2), "Member weights greater than 1"),
        (group(weight=0), "Zero member weights"),
        (session(replicas=0), "Multiple replicas are not supported: there are 0"),
        (session(replicas=2), "Multiple replicas are not supported: there are 2"),
        (session(instance=1), "Instances on Replicas are not supported"),
        (session(port=0), "Invalid egress port"),
        (session(number=1016), "Invalid session id 1016"),
        (session(number=0), "Invalid session id 0"),
        (session(class_of_service=8), "Class of service must be smaller than 8"),
        (session(packet_length_bytes=65536), "Packet length exceeds"),
    ],
)
def test_what_it_refuses_to_write(entity: p4r.Entity, said: str) -> None:
    stratum = StratumBfrt()
    with pytest.raises(P4RuntimeError, match=said):
        stratum.check_update(p4r.Update(type=p4r.Update.INSERT, entity=entity))
    stratum.check_update(p4r.Update(type=p4r.Update.DELETE, entity=entity))


@pytest.mark.parametrize("entity", [group(), session(), session(number=1015, class_of_service=7)])
def test_what_it_takes(entity: p4r.Entity) -> None:
    StratumBfrt().check_update(p4r.Update(type=p4r.Update.MODIFY, entity=entity))


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("action_profile_member", "action_profile_id"),
        ("action_profile_group", "action_profile_id"),
        ("digest_entry", "digest_id"),
    ],
)
def test_what_it_refuses_to_read(kind: str, named: str) -> None:
    everything, one = p4r.Entity(), p4r.Entity()
    getattr(everything, kind).SetInParent()
    setattr(getattr(one, kind), named, 7)
    StratumBfrt().check_read(one)
    with pytest.raises(P4RuntimeError):
        StratumBfrt().check_read(everything)


def test_of_a_digest_it_keeps_the_time() -> None:
    entity = p4r.Entity()
    entity.digest_entry.digest_id = 7
    entity.digest_entry.config.max_list_size, entity.digest_entry.config.max_timeout_ns = 16, 20
    told = StratumBfrt().told(entity).digest_entry
    assert (told.digest_id, told.config.max_list_size, told.config.max_timeout_ns) == (7, 0, 20)


def test_an_unknown_personality_is_told_of() -> None:
    result = CliRunner().invoke(app, ["run", "--personality", "nobody"])
    assert result.exit_code == 1
    assert "--personality: expected stratum-bfrt, got 'nobody'" in result.output
