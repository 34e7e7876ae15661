"""A switch that is gone without a word: nothing that is sent to it is acknowledged any more."""

import asyncio
import os

import pytest
from csaud_controller.control.client import ask, wait_programmed
from csaud_controller.inventory import leaf_spine
from csaud_softswitch.p4runtime.server import P4RuntimeServer

from tests.controller.soft import PATIENCE_S, controller_process, run_directory, switches
from tests.support.netns import NetworkNamespace

pytestmark = pytest.mark.root


def test_it_loses_its_session_before_its_links_are_taken_to_be_dead() -> None:
    """s1 is reached over a cable, which is pulled; its links and its tables are as good as before."""

    async def main() -> list[str]:
        with (
            NetworkNamespace() as here,
            NetworkNamespace() as there,
            run_directory(leaf_spine(2, 2).with_addresses({"s1": "10.99.0.2:9559"})) as run,
        ):
            here.ip(
                f"link add eth0 type veth peer name eth0 netns /proc/{os.getpid()}/fd/{there._descriptor}"
            )
            for namespace, address in ((here, "10.99.0.1/24"), (there, "10.99.0.2/24")):
                namespace.ip(f"address add {address} dev eth0")
                namespace.ip("link set eth0 up")
            async with switches(run) as host:
                server = P4RuntimeServer(host.devices["s1"], ["10.99.0.2:9559"])
                with there.entered():
                    await server.start()
                with here.entered():
                    process = controller_process(run)
                with process:

                    def status() -> dict:
                        return ask(run.control_socket, "status")["status"]

                    try:
                        await asyncio.to_thread(wait_programmed, run.control_socket, PATIENCE_S)
                        before = (await asyncio.to_thread(status))["probes"]["rounds"]
                        there.ip("link set eth0 down")
                        while (now := await asyncio.to_thread(status))["switches"]["s1"]["connected"]:
                            await asyncio.sleep(0.01)
                        print(f" [{now['probes']['rounds'] - before} rounds of 150 ms]", end="")
                    finally:
                        await server.stop()
                return now["events"]

    assert asyncio.run(main()) == []
