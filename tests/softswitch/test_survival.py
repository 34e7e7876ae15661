"""What a switch process lives through: damaged requests and packets, big tables, being killed; its memory.

Figures are printed; `pytest -s` shows them.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from pathlib import Path

import finsy as fy
import grpc
import pytest
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.proto import p4r

from tests.softswitch import test_core_fuzz as packets
from tests.softswitch.fuzz_messages import Generator
from tests.softswitch.inputs import leaf, lose, name, policy, trim
from tests.softswitch.p4rt_program import CONFIG as P4RT
from tests.softswitch.p4rt_program import TABLES, delete, destination, insert, source, tag
from tests.softswitch.p4runtime_support import CONFIG, DEVICE_ID, INDEX, NAMES, PROGRAM, Client
from tests.softswitch.programs import FOLDER
from tests.softswitch.test_core_fabric import balance
from tests.softswitch.test_p4runtime_fuzz import mutate
from tests.softswitch.test_process import P4INFO, Running, running, single
from tests.support.marks import thorough

SEED = 20
MESSAGES = 10_000
ENTRIES = int(os.environ.get("CSAUD_ENTRIES", "50000"))
MEANINGFUL = 0.8
"""Share of requests that are made, not damaged."""
BATCH = 5_000
MIB = 1 << 20
PATIENCE_S = 60.0


def memory(process: Running) -> int:
    """Resident bytes of a switch process."""
    pages = Path(f"/proc/{process.process.pid}/statm").read_text().split()[1]
    return int(pages) * 4096


# --- damaged requests


def good_messages() -> dict[str, list[bytes]]:
    """For each method, requests that a controller would send."""
    write = p4r.WriteRequest(device_id=DEVICE_ID)
    write.election_id.low = 1
    for step in (leaf(watch=True)["write"], [policy("random", seed=1), lose(1, 0.1, 2, 1), trim(2)]):
        write.updates.extend(NAMES.update(update) for update in step)
    other = p4r.WriteRequest(device_id=DEVICE_ID, atomicity=p4r.WriteRequest.ROLLBACK_ON_ERROR)
    other.election_id.low = 1
    other.updates.extend([insert(table_entry=source(idle_timeout_ns=5)), tag(1, 2), write.updates[0]])
    copies = p4r.PacketReplicationEngineEntry()
    copies.clone_session_entry.session_id = 3
    copies.clone_session_entry.replicas.add(port=b"\1", instance=1)
    other.updates.append(insert(packet_replication_engine_entry=copies))
    read = p4r.ReadRequest(device_id=DEVICE_ID)
    read.entities.add().table_entry.counter_data.SetInParent()
    read.entities.add().counter_entry.index.index = 3
    read.entities.add().direct_counter_entry.table_entry.SetInParent()
    read.entities.add().register_entry.SetInParent()
    read.entities.add().action_profile_group.SetInParent()
    hello, packet = p4r.StreamMessageRequest(), p4r.StreamMessageRequest()
    hello.arbitration.device_id, hello.arbitration.election_id.low = DEVICE_ID, 1
    hello.arbitration.role.name = "fuzz"
    packet.packet.payload = bytes(64)
    packet.packet.metadata.add(metadata_id=1, value=b"\1")
    save = p4r.SetForwardingPipelineConfigRequest(device_id=DEVICE_ID, config=CONFIG)
    save.action = p4r.SetForwardingPipelineConfigRequest.VERIFY
    save.election_id.low = 1
    return {
        "Write": [write.SerializeToString(), other.SerializeToString()],
        "Read": [read.SerializeToString()],
        "StreamChannel": [hello.SerializeToString(), packet.SerializeToString()],
        "SetForwardingPipelineConfig": [save.SerializeToString()],
        "GetForwardingPipelineConfig": [
            p4r.GetForwardingPipelineConfigRequest(device_id=DEVICE_ID).SerializeToString()
        ],
    }


class Fuzzer:
    """Sends requests, some of them good, some wrong in one place and some damaged; whatever the answer is,
    there must be one.
    """

    def __init__(self, address: str, rng: random.Random) -> None:
        self.channel = grpc.insecure_channel(address)
        self._rng = rng
        self._good = good_messages()
        self._generator = Generator(INDEX, DEVICE_ID, rng)
        self._kinds = ["Write"] * 8 + ["Read"] * 3 + ["StreamChannel"] + ["GetForwardingPipelineConfig"]
        self.answers: dict[str, int] = {}

    def send(self, number: int) -> None:
        rng = self._rng
        method = "SetForwardingPipelineConfig" if number % 500 == 0 else rng.choice(self._kinds)
        try:
            self._call(method, self._messages(method))
            outcome = "OK"
        except grpc.RpcError as error:
            outcome = error.code().name
            assert outcome not in ("DEADLINE_EXCEEDED", "UNAVAILABLE"), f"message {number}, {method}: {error}"
            assert "Unexpected" not in error.details(), f"message {number}, {method}: {error}"
        self.answers[outcome] = self.answers.get(outcome, 0) + 1

    def _messages(self, method: str) -> list[bytes]:
        """Those of a stream, or one."""
        rng = self._rng
        if method in ("Write", "Read", "StreamChannel") and rng.random() < MEANINGFUL:
            if method == "StreamChannel":
                return [message.SerializeToString() for message in self._generator.stream()]
            made = self._generator.write() if method == "Write" else self._generator.read()
            return [made.SerializeToString()]
        message = mutate(rng, rng.choice(self._good[method]))
        return [message] * (rng.randint(1, 3) if method == "StreamChannel" else 1)

    def _call(self, method: str, messages: list[bytes]) -> None:
        message = messages[0]
        path = f"/p4.v1.P4Runtime/{method}"
        if method == "StreamChannel":
            rpc = self.channel.stream_stream(path, request_serializer=bytes, response_deserializer=bytes)
            list(rpc(iter(messages), timeout=PATIENCE_S))
        elif method == "Read":
            rpc = self.channel.unary_stream(path, request_serializer=bytes, response_deserializer=bytes)
            list(rpc(message, timeout=PATIENCE_S))
        else:
            rpc = self.channel.unary_unary(path, request_serializer=bytes, response_deserializer=bytes)
            rpc(message, timeout=PATIENCE_S)


@pytest.mark.thorough
def test_ten_thousand_damaged_requests(tmp_path: Path) -> None:
    """Each is answered with a code that P4Runtime knows; the switch works as before, with no more memory."""
    print(f"seed {SEED}")
    address = f"unix:{tmp_path}/s.sock"
    with running(*single(address, PROGRAM, "--p4info", P4INFO)) as process:
        client = Client(address)
        client.arbitrate()
        fuzzer = Fuzzer(address, random.Random(SEED))
        before = 0
        for number in range(1, MESSAGES + 1):
            fuzzer.send(number)
            if number == MESSAGES // 4:
                before = memory(process)
        grown = memory(process) - before
        print(f"{MESSAGES} requests: {fuzzer.answers}; {memory(process) / MIB:.0f} MiB, {grown / MIB:+.1f}")
        assert grown < 24 * MIB
        # Batches with an answer for each update are UNKNOWN; the others are turned away at the door.
        assert fuzzer.answers["OK"] > 0.25 * MESSAGES
        assert fuzzer.answers["OK"] + fuzzer.answers["UNKNOWN"] > 0.5 * MESSAGES
        client.set_pipeline()
        client.write(*leaf()["write"])
        assert len(client.read(table_entry=p4r.TableEntry())) == 4
        assert process.stop() == 0
        assert process.process.stderr is not None
        assert "Traceback" not in process.process.stderr.read()


# --- damaged packets


@pytest.mark.parametrize("count", [100_000, thorough(1_000_000)])
def test_damaged_packets(count: int) -> None:
    """Bits of good frames turned, frames cut and lengthened: every one is accounted for."""
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    good = [(int.from_bytes(frame, "big"), len(frame)) for frame in packets.good_frames()]
    fabric, switch = packets.switch()
    began = time.monotonic()
    for _ in range(count // BATCH):
        frames = []
        for _ in range(BATCH):
            number, size = good[rng.getrandbits(20) % len(good)]
            number ^= 1 << rng.getrandbits(11) % (size * 8)
            choice = rng.getrandbits(3)
            if choice == 0:
                number ^= rng.getrandbits(size * 8)
            elif choice == 1:
                cut = rng.getrandbits(8) % size
                number, size = number >> 8 * cut, size - cut
            elif choice == 2:
                number, size = number << 64, size + 8
            frames.append(number.to_bytes(size, "big"))
        fabric.inject_many("s", 5, frames, fabric.now)
        fabric.poll()
    stats = switch.stats()
    print(f"{count} packets in {time.monotonic() - began:.1f} s, {stats['tx']} left")
    assert stats["rx"] >= count
    assert stats["tx"] > count // 20
    balance(fabric)


# --- a big table


def batches(make: object) -> list[list[p4r.Update]]:
    update = insert if make is insert else delete
    return [
        [update(table_entry=destination(dst=at, port=at % 5 + 1)) for at in range(start, start + BATCH)]
        for start in range(0, ENTRIES, BATCH)
    ]


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_a_big_table(tmp_path: Path) -> None:
    """Written, counted, read one by one and all at once, and deleted; a second time takes no more memory.
    `make nightly` writes 200,000."""
    address = f"unix:{tmp_path}/s.sock"
    info = FOLDER / "p4rt.p4info.txtpb"
    with running(*single(address, FOLDER / "p4rt.json", "--p4info", info)) as process:
        client = Client(address)
        client.arbitrate()
        inserts, deletes = batches(insert), batches(delete)
        sizes = [memory(process)]
        for number in range(2):
            began = time.monotonic()
            for batch in inserts:
                client.write(*batch)
            written = time.monotonic()
            sizes.append(memory(process))
            assert len(client.read(table_entry=p4r.TableEntry(table_id=TABLES["destinations"]))) == ENTRIES
            read = time.monotonic()
            one = destination(dst=ENTRIES - 1)
            one.ClearField("action")
            for _ in range(100):
                [found] = client.read(table_entry=one)
            looked_up = time.monotonic()
            assert found.table_entry.action.action.params[0].value == bytes([(ENTRIES - 1) % 5 + 1])
            for batch in deletes:
                client.write(*batch)
            print(
                f"round {number}: {ENTRIES} entries written in {written - began:.1f} s, read in"
                f" {read - written:.1f} s, one of them in {(looked_up - read) * 10:.2f} ms, deleted in"
                f" {time.monotonic() - looked_up:.1f} s; {sizes[-1] / MIB:.0f} MiB"
            )
        assert client.read(table_entry=p4r.TableEntry(table_id=TABLES["destinations"])) == []
        assert sizes[1] - sizes[0] < 400 * MIB
        assert sizes[2] - sizes[1] < 60 * MIB


@pytest.mark.thorough
def test_memory_stays_bounded_over_writes_reads_and_pipelines(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/s.sock"
    with running(*single(address)) as process:
        client = Client(address)
        client.arbitrate()
        sizes = []
        for number in range(45):
            client.set_pipeline(config=P4RT if number % 2 else CONFIG)
            if number % 2:
                client.write(*[insert(table_entry=destination(at, metadata=bytes(50))) for at in range(1000)])
            else:
                client.write(*leaf()["write"])
            client.read(table_entry=p4r.TableEntry())
            client.set_pipeline("RECONCILE_AND_COMMIT", P4RT if number % 2 else CONFIG)
            Client(address, election_id=None).close()
            sizes.append(memory(process))
        print("MiB:", [round(size / MIB) for size in sizes[::5]])
        assert sizes[-1] - sizes[14] < 12 * MIB


# --- being killed


def test_a_controller_programs_a_switch_again_that_was_killed(tmp_path: Path) -> None:
    """finsy connects again by itself; what it installs when a switch is ready is then all there."""
    address = f"unix:{tmp_path}/s.sock"
    options = fy.SwitchOptions(p4info=P4INFO, p4blob=PROGRAM, device_id=DEVICE_ID)

    async def run() -> None:
        ready: asyncio.Queue[fy.Switch] = asyncio.Queue()

        async def program(switch: fy.Switch) -> None:
            route = fy.P4TableEntry(
                name("route.ipv4_lpm"),
                match=fy.P4TableMatch(dst="10.0.2.0/24"),
                action=fy.P4TableAction(name("route.set_group"), group=1),
            )
            await switch.delete_all()
            await switch.write([+route])
            ready.put_nowait(switch)

        switch = fy.Switch("l1", address, options(ready_handler=program))  # type: ignore[operator]
        controller = asyncio.create_task(switch.run())
        try:
            for _ in range(3):
                with running(*single(address)) as process:
                    await asyncio.wait_for(ready.get(), PATIENCE_S)
                    found = [entry async for entry in switch.read(fy.P4TableEntry(name("route.ipv4_lpm")))]
                    assert [entry.match["dst"] for entry in found] == [(0x0A000200, 24)]
                    assert process.stop(signal.SIGKILL) == -signal.SIGKILL
        finally:
            controller.cancel()
            await asyncio.gather(controller, return_exceptions=True)

    asyncio.run(asyncio.wait_for(run(), 3 * PATIENCE_S))


def test_election_ids_start_anew_with_the_process(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/s.sock"
    with running(*single(address)) as process:
        assert Client(address, election_id=1000).arbitrate() == Code.OK
        process.stop(signal.SIGKILL)
    with running(*single(address)):
        assert Client(address, election_id=1).arbitrate() == Code.OK
