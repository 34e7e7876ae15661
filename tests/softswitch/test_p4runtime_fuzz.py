"""Messages that no sane controller sends: the server answers each of them and goes on as before."""

from __future__ import annotations

import random
from collections.abc import Callable

import grpc
import pytest
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.proto import p4r

from tests.softswitch.inputs import HOST_PORT, csa, leaf, lose, policy, trim
from tests.softswitch.p4runtime_support import CONFIG, DEVICE_ID, NAMES, WAIT_S, Client, Served, refused

SEEDS = range(8)
ROUNDS = 60


def seeds_of_messages() -> list[bytes]:
    write = p4r.WriteRequest(device_id=DEVICE_ID)
    write.election_id.low = 1
    for step in (leaf(watch=True)["write"], [policy("random", seed=1), lose(1, 0.1, 2, 1), trim(2)]):
        write.updates.extend(NAMES.update(update) for update in step)
    read = p4r.ReadRequest(device_id=DEVICE_ID)
    read.entities.add().table_entry.counter_data.SetInParent()
    read.entities.add().counter_entry.index.index = 3
    read.entities.add().direct_counter_entry.table_entry.SetInParent()
    return [write.SerializeToString(), read.SerializeToString()]


def mutate(chance: random.Random, message: bytes) -> bytes:
    """Flip bits, cut, repeat or insert bytes."""
    data = bytearray(message)
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(data)) if data else 0
        action = chance.randrange(4)
        if action == 0 and data:
            data[at] ^= 1 << chance.randrange(8)
        elif action == 1:
            del data[at : at + chance.randint(1, 20)]
        elif action == 2:
            data[at:at] = chance.randbytes(chance.randint(1, 10))
        else:
            data[at:at] = data[at : at + chance.randint(1, 40)]
    return bytes(data)


def call(client: Client, method: str, message: bytes) -> None:
    """Send raw bytes to a method; any answer will do."""
    streams = method == "Read"
    make = client.channel.unary_stream if streams else client.channel.unary_unary
    rpc = make(f"/p4.v1.P4Runtime/{method}", request_serializer=bytes, response_deserializer=bytes)
    try:
        answer = rpc(message, timeout=WAIT_S)
        if streams:
            list(answer)
    except grpc.RpcError as error:
        assert error.code() != grpc.StatusCode.DEADLINE_EXCEEDED, f"{method}: no answer"
        assert error.code() != grpc.StatusCode.UNAVAILABLE, f"{method}: the server is gone"


@pytest.mark.parametrize("seed", SEEDS)
def test_mutated_requests_are_answered_and_the_switch_works_on(
    controller: Client, served: Served, connect: Callable[..., Client], seed: int
) -> None:
    print("seed", seed)
    chance = random.Random(seed)
    messages = seeds_of_messages()
    methods = ("Write", "Write", "Read", "GetForwardingPipelineConfig", "Capabilities")
    for _ in range(ROUNDS):
        call(controller, chance.choice(methods), mutate(chance, chance.choice(messages)))
    call(controller, "SetForwardingPipelineConfig", mutate(chance, CONFIG.SerializeToString()))
    controller.set_pipeline()
    controller.write(*leaf()["write"])
    assert len(served.inject(HOST_PORT, csa())) == 1
    assert connect(0).arbitrate() is not None


@pytest.mark.parametrize("seed", SEEDS)
def test_random_but_well_formed_updates_never_break_the_tables(
    controller: Client, served: Served, seed: int
) -> None:
    """Fields that parse as protobuf and mean nothing: each update has a code, and what was read can be
    written.
    """
    print("seed", seed)
    chance = random.Random(seed)
    updates = [NAMES.update(update) for update in (*leaf(watch=True)["write"], policy("entropy", seed=1))]
    for _ in range(ROUNDS):
        update = p4r.Update.FromString(chance.choice(updates).SerializeToString())
        update.type = chance.randrange(5)  # type: ignore[assignment]
        scramble(chance, update.entity)
        try:
            controller.write(update)
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.UNKNOWN, error
            assert error.trailing_metadata(), error
    kept = [
        entity
        for kind in ("action_profile_member", "action_profile_group", "table_entry")
        for entity in controller.read(**{kind: p4r.Entity().__getattribute__(kind)})
    ]
    controller.set_pipeline()
    controller.write(*[p4r.Update(type=p4r.Update.INSERT, entity=entity) for entity in kept])
    served.inject(HOST_PORT, csa())


def scramble(chance: random.Random, message: object) -> None:
    """Give some of a protobuf message's fields other values, at any depth."""
    for field, value in message.ListFields():  # type: ignore[attr-defined]
        repeated = hasattr(value, "append") or hasattr(value, "add")
        if field.type == field.TYPE_MESSAGE:
            for item in value if repeated else [value]:
                scramble(chance, item)
        elif not repeated and chance.random() < 0.15:
            if field.type == field.TYPE_BYTES:
                setattr(message, field.name, chance.randbytes(chance.randrange(6)))
            elif field.type == field.TYPE_BOOL:
                setattr(message, field.name, not value)
            elif field.type in (field.TYPE_UINT32, field.TYPE_UINT64):
                setattr(message, field.name, chance.choice([0, 1, 2, 7, value + 1, (1 << 32) - 1]))
            elif field.type in (field.TYPE_INT32, field.TYPE_INT64):
                setattr(message, field.name, chance.choice([0, 1, -1, value + 1, (1 << 31) - 1, -(1 << 31)]))


def test_a_stream_that_talks_nonsense_is_ended_and_others_go_on(controller: Client, served: Served) -> None:
    stream = controller.channel.stream_stream(
        "/p4.v1.P4Runtime/StreamChannel", request_serializer=bytes, response_deserializer=bytes
    )
    with refused(Code.INVALID_ARGUMENT, "StreamMessageRequest"):
        list(stream(iter([b"\xff\xff\xff"]), timeout=WAIT_S))
    assert list(stream(iter([]), timeout=WAIT_S)) == []
    controller.write(*leaf()["write"])
    assert len(served.inject(HOST_PORT, csa())) == 1


def test_a_very_large_batch_is_taken(controller: Client) -> None:
    batch = [p4r.Update(type=p4r.Update.DELETE) for _ in range(50_000)]
    with refused(Code.UNKNOWN, "50000 of 50000"):
        controller.write(*batch)
