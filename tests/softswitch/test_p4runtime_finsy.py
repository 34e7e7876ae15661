"""finsy, a controller library of others, against the embedded switch in the same process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import finsy as fy

from tests.softswitch.inputs import GROUP, HOST_PORT, LLDP, csa, ether, name
from tests.softswitch.p4runtime_support import DEVICE_ID, PROGRAM, Served

PROBE = ether(bytes(46), LLDP)


def options() -> fy.SwitchOptions:
    return fy.SwitchOptions(
        p4info=PROGRAM.with_suffix(".p4info.txtpb"),
        p4blob=PROGRAM,
        device_id=DEVICE_ID,
        initial_election_id=10,
    )


def entities() -> list[object]:
    member = fy.P4ActionProfileMember(
        action_profile_id=name("spray.path_selector"),
        member_id=1,
        action=fy.P4TableAction(name("spray.forward"), port=2),
    )
    group = fy.P4ActionProfileGroup(
        action_profile_id=name("spray.path_selector"),
        group_id=GROUP,
        members=[fy.P4Member(1, weight=1)],
    )
    route = fy.P4TableEntry(
        name("route.ipv4_lpm"),
        match=fy.P4TableMatch(dst="10.0.2.0/24"),
        action=fy.P4TableAction(name("route.set_group"), group=GROUP),
    )
    path = fy.P4TableEntry(
        name("spray.paths"),
        match=fy.P4TableMatch(group=GROUP),
        action=fy.P4IndirectAction(group_id=GROUP),
    )
    punt = fy.P4TableEntry(
        name("punt.ether_type"),
        match=fy.P4TableMatch({"hdr.ethernet.ether_type": LLDP, "port": 4}),
        action=fy.P4TableAction(name("punt.to_cpu"), gap_us=0),
    )
    return [member, group, route, path, punt]


def test_finsy_programs_reads_and_exchanges_packets(served: Served) -> None:
    async def run() -> None:
        seen: asyncio.Queue[fy.P4PacketIn] = asyncio.Queue()

        async def ready(switch: fy.Switch) -> None:
            async for packet in switch.read_packets():
                seen.put_nowait(packet)

        switch = fy.Switch("l1", served.address, options())
        switch.options = switch.options(ready_handler=ready)  # type: ignore[operator]
        async with switch:
            assert switch.is_primary
            await switch.write([+entity for entity in entities()])
            found = [entity async for entity in switch.read(fy.P4TableEntry(name("route.ipv4_lpm")))]
            assert [entity.match["dst"] for entity in found] == [(0x0A000200, 24)]
            out = await asyncio.to_thread(served.inject, HOST_PORT, csa())
            assert [port for port, _ in out] == [2]
            await asyncio.to_thread(served.inject, 4, PROBE)
            packet = await asyncio.wait_for(seen.get(), 5)
            assert (packet["ingress_port"], packet.payload) == (4, PROBE)
            await switch.write(fy.P4PacketOut(PROBE, egress_port=3, pad=0))
            await switch.delete_all()
            assert [entity async for entity in switch.read(fy.P4TableEntry())] == []

    asyncio.run(asyncio.wait_for(run(), 120))


def test_a_second_finsy_controller_is_a_backup_until_the_first_leaves(served: Served) -> None:
    async def run() -> None:
        first = fy.Switch("first", served.address, options())
        await first.__aenter__()
        assert first.is_primary
        async with fy.Switch("second", served.address, options()) as second:
            assert not second.is_primary
            became = asyncio.Event()
            second.ee.add_listener(fy.SwitchEvent.BECOME_PRIMARY, lambda *_: became.set())
            await first.__aexit__(None, None, None)
            await asyncio.wait_for(became.wait(), 60)
            assert second.is_primary

    asyncio.run(asyncio.wait_for(run(), 120))


def test_the_program_is_not_pushed_again_when_its_cookie_is_there(served: Served, tmp_path: Path) -> None:
    async def run() -> None:
        async with fy.Switch("l1", served.address, options()) as switch:
            await switch.write([+entity for entity in entities()])
        async with fy.Switch("l1", served.address, options()) as switch:
            assert len([entity async for entity in switch.read(fy.P4TableEntry())]) == 3

    asyncio.run(asyncio.wait_for(run(), 120))
