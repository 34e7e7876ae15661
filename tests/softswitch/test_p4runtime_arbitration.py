"""One primary controller for each role, and who is told what when that changes."""

from __future__ import annotations

from collections.abc import Callable

import grpc
import pytest
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.proto import p4r

from tests.softswitch.inputs import route
from tests.softswitch.p4runtime_support import DEVICE_ID, Client, refused

Connect = Callable[..., Client]


def test_the_first_controller_is_primary_and_is_told_its_election_id(connect: Connect) -> None:
    client = connect(election_id=(3 << 64) + 5)
    client.introduce()
    answer = client.receive().arbitration
    assert (answer.device_id, answer.status.code) == (DEVICE_ID, Code.OK)
    assert (answer.election_id.high, answer.election_id.low) == (3, 5)


def test_a_higher_election_id_takes_over_and_both_are_told(connect: Connect) -> None:
    old, new = connect(1), connect(2)
    assert old.arbitrate() == Code.OK
    assert new.arbitrate() == Code.OK
    assert old.status() == Code.ALREADY_EXISTS
    with refused(Code.PERMISSION_DENIED, "election id 1"):
        old.set_pipeline()
    new.set_pipeline()


def test_a_lower_election_id_is_a_backup_and_only_it_is_told(connect: Connect) -> None:
    first, second = connect(9), connect(3)
    assert first.arbitrate() == Code.OK
    assert second.arbitrate() == Code.ALREADY_EXISTS
    assert first.inbox.empty()


def test_an_election_id_in_use_ends_the_second_stream(connect: Connect) -> None:
    first, second = connect(4), connect(4)
    assert first.arbitrate() == Code.OK
    with refused(Code.INVALID_ARGUMENT, "election id 4 is already used"):
        second.arbitrate()
    first.set_pipeline()


def test_no_one_follows_a_primary_that_leaves_until_an_election_id_says_so(connect: Connect) -> None:
    first, second = connect(9), connect(3)
    first.arbitrate()
    second.arbitrate()
    first.close()
    assert second.status() == Code.NOT_FOUND
    with refused(Code.PERMISSION_DENIED, "no primary"):
        second.set_pipeline()
    assert second.arbitrate(election_id=8) == Code.NOT_FOUND  # 9 is the highest that was seen
    assert second.arbitrate(election_id=9) == Code.OK
    second.set_pipeline()


def test_a_primary_can_raise_its_election_id_and_step_down(connect: Connect) -> None:
    first, second = connect(5), connect(4)
    first.arbitrate()
    second.arbitrate()
    assert first.arbitrate(election_id=7) == Code.OK
    assert second.status() == Code.ALREADY_EXISTS
    assert first.arbitrate(election_id=2) == Code.NOT_FOUND
    assert second.status() == Code.NOT_FOUND
    assert second.arbitrate(election_id=8) == Code.OK
    assert first.status() == Code.ALREADY_EXISTS


def test_without_an_election_id_a_controller_is_always_a_backup(connect: Connect) -> None:
    first, second = connect(None), connect(None)
    first.introduce()
    answer = first.receive().arbitration
    assert (answer.status.code, answer.HasField("election_id")) == (Code.NOT_FOUND, False)
    assert second.arbitrate() == Code.NOT_FOUND
    with refused(Code.PERMISSION_DENIED):
        first.set_pipeline()
    third = connect(0)  # zero is the lowest of all election ids, but it is one
    assert third.arbitrate() == Code.OK
    assert [first.status(), second.status()] == [Code.ALREADY_EXISTS] * 2
    third.set_pipeline()


def test_the_device_of_a_stream_is_fixed(connect: Connect) -> None:
    client = connect(5)
    client.arbitrate()
    with refused(Code.FAILED_PRECONDITION, "the device of a stream"):
        client.arbitrate(device_id=DEVICE_ID + 1)


def test_a_role_that_nobody_has_is_not_found(controller: Client) -> None:
    with refused(Code.NOT_FOUND, "role 'nobody'"):
        controller.stub.Write(p4r.WriteRequest(device_id=DEVICE_ID, role="nobody"))
    with refused(Code.NOT_FOUND, "role 'nobody'"):
        list(controller.stub.Read(p4r.ReadRequest(device_id=DEVICE_ID, role="nobody")))


def test_roles_have_a_primary_each(connect: Connect) -> None:
    default, other = connect(5), connect(5, role="telemetry")
    assert default.arbitrate() == Code.OK
    assert other.arbitrate() == Code.OK
    default.set_pipeline()
    other.write(route("10.0.0.0/8", 1))
    default.close()
    other.write(route("10.1.0.0/16", 1))


def test_the_role_of_a_stream_is_fixed(connect: Connect) -> None:
    client = connect(5)
    client.arbitrate()
    client.role = "other"
    with refused(Code.FAILED_PRECONDITION, "role"):
        client.arbitrate()


def test_another_device_id_is_not_found_everywhere(connect: Connect) -> None:
    client = connect(5)
    with refused(Code.NOT_FOUND, f"device {DEVICE_ID + 1}"):
        client.arbitrate(device_id=DEVICE_ID + 1)
    with refused(Code.NOT_FOUND):
        client.stub.Write(p4r.WriteRequest(device_id=99))
    with refused(Code.NOT_FOUND):
        list(client.stub.Read(p4r.ReadRequest(device_id=99)))
    with refused(Code.NOT_FOUND):
        client.stub.GetForwardingPipelineConfig(p4r.GetForwardingPipelineConfigRequest(device_id=99))


def test_anyone_reads_without_a_stream(controller: Client, connect: Connect) -> None:
    controller.write(route("10.0.0.0/8", 1))
    assert len(connect(77).read(table_entry=p4r.TableEntry())) == 1


def test_a_controller_that_vanishes_without_a_word_is_gone(connect: Connect) -> None:
    first, second = connect(9), connect(3)
    first.arbitrate()
    second.arbitrate()
    first.channel.close()
    assert second.status() == Code.NOT_FOUND


def test_a_backup_sends_no_packets(controller: Client, connect: Connect) -> None:
    backup = connect(0)
    backup.arbitrate()
    backup.send(p4r.StreamMessageRequest(packet=p4r.PacketOut(payload=b"x")))
    error = backup.receive().error
    assert error.canonical_code == Code.PERMISSION_DENIED
    assert error.packet_out.packet_out.payload == b"x"


@pytest.mark.parametrize("election_id", [0, 2, 1 << 64])
def test_a_write_needs_exactly_the_primary_s_election_id(controller: Client, election_id: int) -> None:
    request = p4r.WriteRequest(device_id=DEVICE_ID)
    request.election_id.high, request.election_id.low = election_id >> 64, election_id & (1 << 64) - 1
    with pytest.raises(grpc.RpcError) as caught:
        controller.stub.Write(request)
    assert caught.value.code() == grpc.StatusCode.PERMISSION_DENIED
