"""Switches that speak TLS, and know their controller by its certificate."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from csaud_controller.counters import CountersError, read_counters
from csaud_controller.inventory import ClientTls, Fabric, ServerTls, leaf_spine
from csaud_controller.rundir import RunDir
from csaud_controller.tls import TlsError, credentials
from csaud_softswitch.fabric_file import read_fabric_file
from csaud_softswitch.hosting import SwitchOptions, host_fabric
from csaud_softswitch.p4runtime.server import P4RuntimeServer
from csaud_softswitch.p4runtime.tls import ServerTls as SwitchTls

from tests.controller.soft import controller, programmed, run_directory


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def _named(name: str) -> tuple[str, ...]:
    return "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}"


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CA, and certificates that it signed for the switches and for the controller; another CA beside it."""
    folder = tmp_path_factory.mktemp("pki")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    for ca in ("ca", "stranger"):
        openssl(
            folder, "req", "-x509", *key, "-keyout", f"{ca}.key", "-out", f"{ca}.pem", "-subj", f"/CN={ca}"
        )
    for name in ("localhost", "controller"):
        openssl(
            folder, "req", "-x509", *key, *_named(name),
            "-addext", f"subjectAltName=DNS:{name}", "-CA", "ca.pem", "-CAkey", "ca.key",
        )  # fmt: skip
    return folder


def inventory(run: RunDir, pki: Path, **client: Path | None) -> Fabric:
    files = {
        "cacert": pki / "ca.pem",
        "cert": pki / "controller.pem",
        "key": pki / "controller.key",
        **client,
    }
    server = ServerTls(cert=pki / "localhost.pem", key=pki / "localhost.key")
    return run.fabric().model_copy(update={"tls": server, "tls_client": ClientTls(**files)})


@asynccontextmanager
async def tls_switches(run: RunDir, pki: Path) -> AsyncIterator[None]:
    """The run's switches, each behind a port that wants to see the controller's certificate."""
    host = host_fabric(read_fabric_file(run.fabric_file), run.path, SwitchOptions(), host_ports="memory")
    tls = SwitchTls(pki / "localhost.pem", pki / "localhost.key", pki / "ca.pem", client_auth=True)
    servers = [P4RuntimeServer(device, host.addresses[name], tls) for name, device in host.devices.items()]
    for server in servers:
        await server.start()
    host.fabric.start()
    try:
        yield
    finally:
        for server in servers:
            await server.stop()
        host.fabric.stop()


def test_switches_are_programmed_and_read_over_mutual_tls(pki: Path) -> None:
    async def main() -> None:
        with run_directory(leaf_spine(2, 1, 1)) as run:
            fabric = inventory(run, pki)
            async with tls_switches(run, pki):
                async with controller(run, fabric=fabric) as made:
                    await programmed(made)
                counts = await asyncio.to_thread(read_counters, fabric)
                assert list(counts) == ["l1", "l2", "s1"]
                with pytest.raises(CountersError, match="l1: counters cannot be read"):
                    await asyncio.to_thread(read_counters, run.fabric(), timeout_s=5.0)

    asyncio.run(main())


@pytest.mark.parametrize("wrong", [{"cacert": "stranger.pem"}, {"cert": None, "key": None}])
def test_strangers_are_refused_on_both_sides(pki: Path, wrong: dict[str, str | None]) -> None:
    async def main() -> None:
        with run_directory(leaf_spine(1, 0, 1)) as run:
            fabric = inventory(run, pki, **{key: name and pki / name for key, name in wrong.items()})
            async with tls_switches(run, pki), controller(run, fabric=fabric) as made:
                failed = await made.wait_until(lambda: bool(made.tasks["l1"].status.error), 20)
                assert failed
                assert "cannot be reached" in made.tasks["l1"].status.error
                assert not made.tasks["l1"].status.connected

    asyncio.run(main())


def test_files_that_are_not_there_are_named(pki: Path) -> None:
    with run_directory(leaf_spine(1, 0, 1)) as run:
        fabric = inventory(run, pki, cacert=pki / "missing.pem")
        with pytest.raises(TlsError, match=r"tls_client\.cacert: .*missing\.pem: No such file"):
            credentials(fabric, "l1")
        assert credentials(run.fabric(), "l1") is None
