"""What differs between targets."""

from pathlib import Path

import pytest
from csaud_controller.artifacts import Artifacts, ArtifactsError
from csaud_controller.inventory import leaf_spine
from csaud_controller.state import Group, GroupMember, table_state
from csaud_controller.targets import TARGETS, Bmv2, QueueLimit, Soft, target_named
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


def test_unknown_targets_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown target 'x'; expected one of soft, bmv2, tofino, tofino2"):
        target_named("x")


def test_bmv2s_queues_are_limited_in_packets_of_full_size() -> None:
    fabric = leaf_spine(2, 2, 1)
    ports = [QueueLimit(port, 5932, 256) for port in (1, 2, 3)]
    assert Bmv2().queue_limits(fabric, "l1") == [*ports, QueueLimit(127, 0, 768)]
    assert Soft().queue_limits(fabric, "l1") == []


def test_bmv2_gets_no_watch_ports() -> None:
    watched = table_state([Group(7, (GroupMember(1, 1, 1), GroupMember(2, 1, 2)))])
    assert Soft().adapt(watched) == watched
    assert Bmv2().adapt(watched) == table_state([Group(7, (GroupMember(1), GroupMember(2)))])


def bf_pipeline_config() -> type:
    """Stratum's message of that name, by its public definition."""
    file = descriptor_pb2.FileDescriptorProto(
        name="bf.proto", package="stratum.hal.barefoot", syntax="proto3"
    )
    config = file.message_type.add(name="BfPipelineConfig")
    profile = config.nested_type.add(name="Profile")
    kinds = descriptor_pb2.FieldDescriptorProto
    rows = [
        (profile, "profile_name", 1, kinds.TYPE_STRING),
        (profile, "context", 2, kinds.TYPE_BYTES),
        (profile, "binary", 3, kinds.TYPE_BYTES),
        (profile, "pipe_scope", 4, kinds.TYPE_UINT32),
        (config, "p4_name", 1, kinds.TYPE_STRING),
        (config, "bfruntime_info", 2, kinds.TYPE_BYTES),
        (config, "profiles", 3, kinds.TYPE_MESSAGE),
    ]
    for message, name, number, kind in rows:
        repeated = name in ("pipe_scope", "profiles")
        label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
        field = message.field.add(name=name, number=number, type=kind, label=label)
        if kind == kinds.TYPE_MESSAGE:
            field.type_name = ".stratum.hal.barefoot.BfPipelineConfig.Profile"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(
        pool.FindMessageTypeByName("stratum.hal.barefoot.BfPipelineConfig")
    )


@pytest.mark.parametrize(("name", "binary"), [("tofino", "tofino.bin"), ("tofino2", "tofino2.bin")])
@pytest.mark.parametrize("folder", ["pipe", "."])
def test_tofino_gets_binary_and_context_as_one_message(
    tmp_path: Path, name: str, binary: str, folder: str
) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / "csaud.p4info.txtpb").write_text("")
    (tmp_path / "bfrt.json").write_bytes(b"{}")
    (tmp_path / folder / binary).write_bytes(bytes(range(256)) * 100)
    (tmp_path / folder / "context.json").write_bytes(b'{"a": 1}')
    target = TARGETS[name]
    config = bf_pipeline_config().FromString(target.device_config(target.find_program(tmp_path)))
    assert config.p4_name == "csaud"
    assert config.bfruntime_info == b"{}"
    (profile,) = config.profiles
    assert profile.profile_name == "pipe"
    assert profile.binary == bytes(range(256)) * 100
    assert profile.context == b'{"a": 1}'
    assert list(profile.pipe_scope) == [0, 1, 2, 3]


def test_what_tofino_lacks_is_named(tmp_path: Path) -> None:
    target = TARGETS["tofino"]
    with pytest.raises(ArtifactsError, match="needs --program DIR"):
        target.find_program()
    with pytest.raises(ArtifactsError, match=r"no .*csaud.p4info.txtpb and no .*p4info.txt"):
        target.find_program(tmp_path)
    config = tmp_path / "tofino.bin"
    config.write_bytes(b"")
    with pytest.raises(ArtifactsError, match=r"context\.json"):
        target.device_config(Artifacts(tmp_path / "csaud.p4info.txtpb", config))
