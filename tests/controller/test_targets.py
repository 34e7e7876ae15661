"""What differs between targets."""

import asyncio
from pathlib import Path

import pytest
from csaud_controller.control.fabric_controller import FabricController
from csaud_controller.inventory import leaf_spine
from csaud_controller.program.artifacts import Artifacts, find_artifacts
from csaud_controller.program.entities import Group, GroupMember, table_state
from csaud_controller.targets import Bmv2, QueueLimit, Soft, Target, target_named

from tests.controller.recorder import recorder
from tests.controller.soft import PATIENCE_S


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
    fabric = leaf_spine(2, 2, 1)
    assert Soft().adapt(watched, fabric) == watched
    assert Bmv2().adapt(watched, fabric) == table_state([Group(7, (GroupMember(1), GroupMember(2)))])


@pytest.mark.parametrize("target", [Soft(), Bmv2()], ids=lambda target: target.name)
def test_bmv2s_clone_sessions_are_deleted_before_another_program_comes(
    tmp_path: Path, target: Target
) -> None:
    ours = find_artifacts()
    other = Artifacts(ours.p4info, tmp_path / "csaud.json")
    other.config.write_bytes(ours.config.read_bytes() + b"\n")

    async def main() -> None:
        fabric = leaf_spine(1, 0, 1).with_addresses({"l1": f"unix:{tmp_path}/l1.sock"})
        async with recorder(tmp_path / "l1.sock") as switch:
            for program in (ours, other):
                made = FabricController(fabric, program, target, probe_interval_s=0)
                running = asyncio.create_task(made.run())
                assert await made.wait_in_sync(PATIENCE_S) == {}, made.status()
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
            assert ("packet_replication_engine_entry" in switch.left_behind) == (target.name == "soft")
            assert "table_entry" in switch.left_behind
            kinds = [entity.WhichOneof("entity") for entity in switch.entities]
            assert kinds.count("packet_replication_engine_entry") == 1

    asyncio.run(main())
