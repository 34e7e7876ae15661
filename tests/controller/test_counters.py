"""Counters are read by anybody, without a session, and every cell has its name."""

import asyncio
import signal
import threading
from typing import Any

import pytest
from csaud_controller.inventory import Fabric
from csaud_controller.program.packets import KINDS
from csaud_controller.switches import port_reader, readings
from csaud_controller.switches.counters import BY_KIND, BY_PATH, BY_PORT, read_counters
from csaud_controller.switches.errors import CountersError
from csaud_controller.switches.tls import open_channel

from tests.controller.soft import controller, programmed, run_directory, switches


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
