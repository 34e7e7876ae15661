"""Tofino's targets by the messages that they make: no such switch is needed, and none has been seen."""

import asyncio
import re
from collections import Counter
from pathlib import Path

import pytest
from csaud_controller.base.seeds import derive
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.control.fabric_controller import FabricController
from csaud_controller.desired.states import desired_states
from csaud_controller.inventory import Fabric, fat_tree, leaf_spine
from csaud_controller.policy.faults import FaultRule, Faults
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.program.artifacts import Artifacts, ArtifactsError
from csaud_controller.program.entities import CloneSession, TableState, call
from csaud_controller.program.room import Room
from csaud_controller.targets import TARGETS, Tofino, Tofino2
from csaud_softswitch.p4runtime.personality import StratumBfrt
from finsy import P4Schema
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tests.controller.recorder import recorder
from tests.controller.soft import PATIENCE_S

P4INFO = Path(__file__).parents[2] / "p4src" / "artifacts"
"""What p4c made of p4src/tna."""
FABRIC = leaf_spine(2, 2, 1)
INTENT = Intent(
    policy=Policy(
        spray="flowlet", flowlet_gap=500_000, weights={"l1": {"l2": {1: 3, 2: 1}}}, loss_signal="both"
    ),
    faults=Faults(rules=(FaultRule(probability=0.5, signalled=True),)),
)


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


@pytest.mark.parametrize("name", ["tofino", "tofino2"])
def test_a_fabric_whose_hosts_have_ipv6_addresses_is_refused_for_them(name: str) -> None:
    room = Room(P4Schema(P4INFO / name / "csaud.p4info.txtpb"))
    fabric, target = FABRIC.with_ipv6(), TARGETS[name]
    told = {
        told
        for state in desired_states(fabric, INTENT).values()
        for told in room.misfits(target.adapt(state, fabric))
    }
    assert told == {
        "the program has no table edge.sources6, which IPv6 addresses of hosts need",
        "the program has no table route.ipv6_lpm, which IPv6 addresses of hosts need",
    }
    assert not [*room.misfits(target.adapt(desired_states(FABRIC, INTENT)["l1"], FABRIC))]


def adapted(target: Tofino) -> TableState:
    return target.adapt(desired_states(FABRIC, INTENT)["l1"], FABRIC)


def actions(state: TableState, table: str) -> Counter[str]:
    return Counter(str(entry.action) for entry in state.entries.values() if entry.table == table)


@pytest.mark.parametrize("name", ["tofino", "tofino2"])
def test_what_both_chips_count_otherwise(name: str) -> None:
    state = adapted(TARGETS[name])  # type: ignore[arg-type]
    assert actions(state, "spray.policy")["spray.flowlet(gap=1953)"] == 4, "500 us in ticks of 256 ns"
    assert actions(state, "spray.policy")["spray.random()"] == 1
    assert actions(state, "fault.inject") == {"fault.lose(signalled=1, threshold=2147483648)": 4}
    assert actions(state, "congestion.alarm") == {"congestion.report(interval=3906250)": 3}
    assert actions(state, "loss_signal.return_limits") == {}
    assert actions(state, "punt.ether_type") == {"punt.to_cpu()": 2}
    assert actions(state, "edge.sources") == {"edge.belongs()": 1}
    assert actions(state, "loss_signal.signal") == {
        "loss_signal.both(dscp=48, icrc=0, priority=7, size=94)": 3
    }
    assert len(actions(state, "spray.buckets")) == 2
    assert list(state.digests) == ["overflow_alarm_t"]


@pytest.mark.parametrize("name", ["tofino", "tofino2"])
def test_where_v1model_divides_path_ids_the_chips_hash_them(name: str) -> None:
    fabric = fat_tree(4)
    intent = Intent(policy=Policy(spray="host", seed=5))
    target = TARGETS[name]
    assert isinstance(target, Tofino)
    states = {s: target.adapt(state, fabric) for s, state in desired_states(fabric, intent).items()}
    assert actions(states["e1"], "spray.policy")["spray.host_directed()"] == 4, "three kinds, and asked for"
    hashed = {s: f"spray.entropy(seed={derive(5, 'spray', s)})" for s in ("a1", "a2")}
    assert hashed["a1"] != hashed["a2"]
    for switch, action in hashed.items():
        assert actions(states[switch], "spray.policy")[action] == 5, "and where hosts ask for entropy"


def test_tofino_has_its_thresholds_in_the_traffic_manager() -> None:
    state = adapted(Tofino())
    # 4218 bytes are 53 cells of 80 bytes
    assert actions(state, "congestion.limits") == {f"congestion.set_limits(alarm_at={229 * 53})": 3}
    assert set(actions(state, "ecn.marking")) == {f"ecn.mark_between(low={32 * 53}, span=2047)"}
    assert actions(state, "spray.alternative") == {}
    assert {selector for selector, _ in state.groups} == {"spray.path_selector"}
    assert not any("least_queue" in action for action in actions(state, "spray.policy"))
    assert state.clones == {
        **{512 + port: CloneSession(512 + port, ((port, 0),), 7, 101) for port in (1, 2, 3)},
        1000: CloneSession(1000, ((68, 0),), 0, 101),
    }


def test_tofino2_numbers_queues() -> None:
    state = adapted(Tofino2())
    # 24 cells of 176 bytes
    limits = [each * 24 for each in (229, 240, 152, 32, 64)]
    texts = "alarm_at={}, drop_at={}, no_trim_at={}, other_at={}, trim_at={}".format(*limits)
    assert actions(state, "congestion.limits") == {f"congestion.set_limits({texts})": 3}
    assert state.members["spray.path_selector", 2].action == call("spray.forward", port=2, queue=32)
    second = state.members["spray.alternative_selector", 2].action
    assert second == call("spray.forward_alternative", port=2, queue=32)
    assert actions(state, "spray.policy")["spray.least_queue()"] == 1
    assert state.clones == {1: CloneSession(1, ((1, 0),), 0, 101)}


@pytest.mark.parametrize("name", ["tofino", "tofino2"])
@pytest.mark.parametrize(
    ("policy", "left"), [({}, 94), ({"trim_icrc": True}, 94), ({"trim_size": 200}, 200)], ids=str
)
def test_a_mirror_session_leaves_what_a_loss_keeps(name: str, policy: dict, left: int) -> None:
    """Its length counts the mirror's own header, too; the iCRC of the second form is added behind it."""
    source = (P4INFO.parent / "tna" / "metadata.p4").read_text()
    [fields] = re.findall(r"header made_t \{(.*?)\n\}", source, re.S)
    header = sum(map(int, re.findall(r"bit<(\d+)>", fields))) // 8
    state = desired_states(FABRIC, Intent(policy=Policy.model_validate(policy)))["l1"]
    lengths = {session.length for session in TARGETS[name].adapt(state, FABRIC).clones.values()}
    assert lengths == {header + left}


@pytest.mark.parametrize(
    "policy", [{"spray": "least-queue"}, {"overrides": [{"spray": "least-queue", "cls": 1}]}]
)
def test_what_a_chip_cannot_do_is_refused_by_name(policy: dict) -> None:
    with pytest.raises(FieldError, match="target tofino has no least-queue"):
        TARGETS["tofino"].check(Policy.model_validate(policy))
    TARGETS["tofino2"].check(Policy.model_validate(policy))


def test_alarms_in_ticks_become_microseconds() -> None:
    assert TARGETS["tofino"].alarm({"port": 1, "at": 1000})["at_us"] == 256


@pytest.mark.parametrize("name", ["tofino", "tofino2"])
def test_the_controller_programs_it_through_the_same_code(tmp_path: Path, name: str) -> None:
    """Everything encodes with the P4Info that p4c made, Stratum refuses none of it, and what is read back is
    what was wanted."""
    (tmp_path / "csaud.p4info.txtpb").write_bytes((P4INFO / name / "csaud.p4info.txtpb").read_bytes())
    (tmp_path / TARGETS[name].binary).write_bytes(b"binary")  # type: ignore[attr-defined]
    (tmp_path / "context.json").write_bytes(b"{}")

    async def main() -> None:
        one = leaf_spine(1, 0, 2)
        async with recorder(tmp_path / "l1.sock", StratumBfrt()) as switch:
            fabric: Fabric = one.with_addresses({"l1": f"unix:{tmp_path}/l1.sock"})
            program = TARGETS[name].find_program(tmp_path)
            for expected in (True, False):  # the second controller finds everything as it should be
                before = switch.writes
                made = FabricController(fabric, program, TARGETS[name], probe_interval_s=0)
                running = asyncio.create_task(made.run())
                assert await made.wait_in_sync(PATIENCE_S) == {}, made.status()
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
                assert (switch.writes > before) == expected
            config = bf_pipeline_config().FromString(switch.config.p4_device_config)
            assert config.profiles[0].binary == b"binary"
            kinds = Counter(entity.WhichOneof("entity") for entity in switch.entities)
            assert kinds["digest_entry"] == 1
            assert kinds["packet_replication_engine_entry"] == (3 if name == "tofino" else 1)
            assert kinds["action_profile_member"] == (2 if name == "tofino" else 4)

    asyncio.run(main())
