"""Counters are read by anybody, without a session, and every cell has its name."""

import asyncio
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from csaud_controller.inventory import Fabric, leaf_spine
from csaud_controller.program.packets import KINDS
from csaud_controller.switches import port_reader, readings
from csaud_controller.switches.counters import BY_KIND, BY_PATH, BY_PORT, read_counters
from csaud_controller.switches.errors import CountersError
from csaud_controller.switches.tls import open_channel
from csaud_controller.targets.assigned import programs
from csaud_topologies.job.telemetry import switch_counts
from finsy.proto import p4r

from tests.controller.soft import controller, programmed, run_directory, switches

P4INFO = Path(__file__).parents[2] / "p4src" / "artifacts"


def test_every_cell_is_read_under_its_name() -> None:
    async def main() -> None:
        with run_directory() as run:
            fabric = run.fabric()
            async with switches(run) as host:
                async with controller(run) as made:
                    await programmed(made)
                l1 = host.fabric.switch("l1")
                names = {c["name"].rsplit(".", 1)[-1]: c["name"] for c in l1.counters()}
                for number, name in enumerate(BY_KIND):
                    for cell in range(512):
                        l1.counter_write(names[name], cell, 10_000 * number + cell, 1)
                for number, name in enumerate(BY_PATH):
                    for cell in range(2048):
                        l1.counter_write(names[name], cell, 100_000 * (number + 1) + cell, 1)
                for number, name in enumerate(BY_PORT):
                    for cell in range(128):
                        l1.counter_write(names[name], cell, 1_000 * number + cell, 1)
                for cell in range(4):
                    l1.counter_write(names["no_path"], cell, 70 + cell, 1)
                for cell in range(6):
                    l1.counter_write(names["discarded"], cell, 80 + cell, 1)
                counts = await asyncio.to_thread(read_counters, fabric)  # no controller runs any more
        assert list(counts) == list(fabric.switches)
        for number, name in enumerate(BY_KIND):
            expected = {
                port: {kind: 10_000 * number + port * 4 + code for kind, code in KINDS.items()}
                for port in (1, 2, 3, 4)
            }
            assert counts["l1"][name] == expected
        for number, name in enumerate(BY_PATH):
            first = 100_000 * (number + 1) + 3 * 16
            assert counts["l1"][name][3] == list(range(first, first + 16))
        for number, name in enumerate(BY_PORT):
            assert counts["l1"][name] == {port: 1_000 * number + port for port in (1, 2, 3, 4)}
        assert counts["l1"]["no_path"] == {"other": 70, "data": 71, "control": 72, "loss": 73}
        assert counts["l1"]["discarded"] == {
            "bad_checksum": 80,
            "ttl_expired": 81,
            "no_route": 82,
            "cut_short": 83,
            "answer": 84,
            "malformed": 85,
        }
        assert counts["s2"]["no_path"] == dict.fromkeys(KINDS, 0)

    asyncio.run(main())


class _Chips:
    """Switches whose cells hold their index, and that must be asked for none that they have not."""

    def __init__(self) -> None:
        self.has: dict[int, set[int]] = {}

    def unary_stream(self, *_: object, **__: object) -> Any:
        def read(request: p4r.ReadRequest, timeout: float) -> list[p4r.ReadResponse]:
            answer = p4r.ReadResponse()
            for entity in request.entities:
                assert entity.counter_entry.counter_id in self.has[request.device_id]
                cell = answer.entities.add().counter_entry
                cell.CopyFrom(entity.counter_entry)
                cell.data.packet_count = cell.index.index
            return [answer]

        return read

    def _unused(self, *_: object, **__: object) -> None: ...

    unary_unary = stream_stream = _unused

    def close(self) -> None: ...


def test_each_switch_is_asked_by_its_own_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = leaf_spine(1, 1, 1)
    switches = {}
    for name, target in (("l1", "tofino"), ("s1", None)):
        spec: dict[str, Any] = {"p4runtime": "192.0.2.1:9559"}
        if target:
            (tmp_path / "csaud.p4info.txtpb").write_text((P4INFO / target / "csaud.p4info.txtpb").read_text())
            (tmp_path / "tofino.bin").write_bytes(b"")
            spec |= {"target": target, "program": tmp_path}
        switches[name] = fabric.switches[name].model_copy(update=spec)
    fabric = fabric.changed(switches=switches)
    of, chips = programs(fabric), _Chips()
    for name, artifacts in of.items():
        chips.has[fabric.switches[name].device_id] = {counter.id for counter in artifacts.schema.counters}
    monkeypatch.setattr(readings, "open_channel", lambda *_: chips)
    counts = read_counters(fabric, of)
    assert {*counts["s1"]} - {*counts["l1"]} == {
        "both",
        "trim_dropped",
        "bounce_dropped",
        "held_back",
        "overflow",
    }
    assert counts["l1"]["ingress_kind"][1] == dict(zip(KINDS, range(4, 8), strict=True))
    assert "overflow" not in read_counters(fabric, of, counters=["overflow", "marked"])["l1"]
    with pytest.raises(CountersError, match="no program of these switches has a counter overflow"):
        read_counters(fabric, of, switches=["l1"], counters=["overflow"])
    assert switch_counts(counts["l1"]).both == {}


def test_a_switch_that_does_not_answer_is_named() -> None:
    with run_directory() as run, pytest.raises(CountersError, match="l1: counters cannot be read: "):
        read_counters(run.fabric())


def test_ports_are_read_again_and_again_over_one_channel_a_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def counted(fabric: Fabric, switch: str, address: str) -> Any:
        opened.append(switch)
        return open_channel(fabric, switch, address)

    monkeypatch.setattr(readings, "open_channel", counted)

    async def main() -> None:
        with run_directory() as run:
            fabric = run.fabric()
            async with switches(run) as host:
                async with controller(run) as made:
                    await programmed(made)
                l1 = host.fabric.switch("l1")
                sent = next(c["name"] for c in l1.counters() if c["name"].endswith("egress_kind"))
                queues = next(r["name"] for r in l1.registers() if r["name"].endswith("occupancy"))
                with port_reader.PortReader(fabric) as reader:
                    for turn in (1, 2):
                        for port in fabric.peers["l1"]:
                            l1.counter_write(sent, port * 4 + KINDS["data"], 100 * turn + port, 5_000 * turn)
                            l1.register_write(queues, port, 10 * turn + port)
                        found = await asyncio.to_thread(reader.read)
                        assert set(found) == {(s, port) for s in fabric.switches for port in fabric.peers[s]}
                        for port in fabric.peers["l1"]:
                            assert found["l1", port] == (100 * turn + port, 5_000 * turn, 10 * turn + port)
        assert opened == list(fabric.switches)

    asyncio.run(main())


def test_a_port_reader_names_the_switch_that_does_not_answer() -> None:
    with (
        run_directory() as run,
        port_reader.PortReader(run.fabric()) as reader,
        pytest.raises(CountersError, match="l1: counters cannot be read: "),
    ):
        reader.read()


def test_what_a_signal_raises_goes_through_no_call_of_grpc(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that it goes through is lost, and closing the channel then waits for ever."""

    class Stop(BaseException):
        pass

    class Channel:
        """Signals come while it calls; its calls end when it is closed."""

        def __init__(self) -> None:
            self.closed = threading.Event()
            self.went_through = False

        def _call(self, request: object, timeout: float) -> list[Any]:
            try:
                signal.raise_signal(signal.SIGUSR1)
                assert self.closed.wait(30)
            except Stop:
                self.went_through = True
            return []

        def _method(self, *name: object, **how: object) -> Any:
            return self._call

        unary_unary = unary_stream = stream_stream = _method

        def close(self) -> None:
            self.closed.set()

    def stop(number: int, frame: object) -> None:
        raise Stop

    channel = Channel()
    monkeypatch.setattr(readings, "open_channel", lambda *_: channel)
    before = signal.signal(signal.SIGUSR1, stop)
    try:
        with run_directory() as run, pytest.raises(Stop):
            read_counters(run.fabric(), switches=["l1"])
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert channel.closed.is_set()
    assert not channel.went_through
