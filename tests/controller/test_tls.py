"""Switches that speak TLS, and know their controller by its certificate."""

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest
from csaud_controller.inventory import ClientTls, Fabric, ServerTls, leaf_spine
from csaud_controller.run.directory import RunDir
from csaud_controller.switches.backoff import Backoff
from csaud_controller.switches.counters import read_counters
from csaud_controller.switches.errors import CountersError, TlsError
from csaud_controller.switches.primacy import Primacy
from csaud_controller.switches.tls import credentials

from tests.controller.soft import PATIENCE_S, controller, programmed, run_directory, switches


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def _named(name: str) -> tuple[str, ...]:
    return "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}"


def certificates(folder: Path) -> Path:
    """A CA, and certificates that it signed for the switches and for the controller; another CA beside it."""
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


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificates(tmp_path_factory.mktemp("pki"))


def inventory(run: RunDir, pki: Path, **client: Path | None) -> Fabric:
    files = {
        "cacert": pki / "ca.pem",
        "cert": pki / "controller.pem",
        "key": pki / "controller.key",
        **client,
    }
    server = ServerTls(
        cert=pki / "localhost.pem", key=pki / "localhost.key", cacert=pki / "ca.pem", client_auth=True
    )
    fabric = run.fabric().model_copy(
        update={"links_via": "memory", "tls": server, "tls_client": ClientTls(**files)}
    )
    run.fabric_file.write_text(fabric.to_json())
    return fabric


def test_switches_are_programmed_and_read_over_mutual_tls(pki: Path) -> None:
    async def main() -> None:
        with run_directory(leaf_spine(2, 1, 1)) as run:
            fabric = inventory(run, pki)
            async with switches(run):
                async with controller(run, fabric=fabric) as made:
                    await programmed(made)
                counts = await asyncio.to_thread(read_counters, fabric)
                assert list(counts) == ["l1", "l2", "s1"]
                plain = fabric.model_copy(update={"tls": None, "tls_client": None})
                with pytest.raises(CountersError, match="l1: counters cannot be read"):
                    await asyncio.to_thread(read_counters, plain, timeout_s=5.0)

    asyncio.run(main())


@pytest.mark.parametrize("wrong", [{"cacert": "stranger.pem"}, {"cert": None, "key": None}])
def test_strangers_are_refused_on_both_sides(pki: Path, wrong: dict[str, str | None]) -> None:
    async def main() -> None:
        with run_directory(leaf_spine(1, 0, 1)) as run:
            fabric = inventory(run, pki, **{key: name and pki / name for key, name in wrong.items()})
            async with switches(run), controller(run, fabric=fabric) as made:
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
        assert credentials(fabric.model_copy(update={"tls": None, "tls_client": None}), "l1") is None


def test_whoever_stands_by_hears_of_primaries_once_its_certificates_are_there(pki: Path) -> None:
    async def main() -> None:
        with run_directory(leaf_spine(1, 1)) as run:
            later = run.path / "later.pem"
            fabric, changed = inventory(run, pki, cacert=later), asyncio.Event()
            async with switches(run), asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
                primacy = Primacy(fabric, changed.set)
                watching = group.create_task(primacy.watch())
                await changed.wait()
                assert not primacy.heard and not watching.done()
                later.write_bytes((pki / "ca.pem").read_bytes())
                while primacy.heard != fabric.switches.keys():
                    changed.clear()
                    await changed.wait()
                watching.cancel()

    asyncio.run(main())


def test_certificates_are_replaced_while_switches_and_controller_run(pki: Path, tmp_path: Path) -> None:
    """Everybody's, and those of who signed them: first the switches', whose sessions stand; then, when they
    are opened anew, the controller uses what is there by then."""
    for file in pki.iterdir():
        shutil.copy(file, tmp_path)
    renewed = tmp_path / "renewed"
    renewed.mkdir()
    certificates(renewed)

    async def main() -> None:
        with run_directory(leaf_spine(1, 0, 1)) as run:
            fabric = inventory(run, tmp_path)
            old_ca = inventory(run, tmp_path, cacert=pki / "ca.pem")
            run.fabric_file.write_text(fabric.to_json())
            async with controller(run, fabric=fabric, probe_interval_s=0.05) as made:
                async with switches(run):
                    assert not await programmed(made)
                    for name in ("localhost", "controller"):
                        shutil.copy(renewed / f"{name}.key", tmp_path)
                        shutil.copy(renewed / f"{name}.pem", tmp_path)
                    shutil.copy(renewed / "ca.pem", tmp_path)
                    counts = await asyncio.to_thread(read_counters, fabric)
                    assert list(counts) == ["l1"]
                    with pytest.raises(CountersError, match="l1: counters cannot be read"):
                        await asyncio.to_thread(read_counters, old_ca, timeout_s=5.0)
                    assert made.tasks["l1"].status.connected, "what is open stays"
                assert await made.wait_until(lambda: not made.tasks["l1"].status.connected, PATIENCE_S)
                async with switches(run):
                    assert not await programmed(made)

    asyncio.run(main())


def test_a_certificate_without_its_key_leaves_switches_with_the_old_ones(pki: Path, tmp_path: Path) -> None:
    for file in pki.iterdir():
        shutil.copy(file, tmp_path)

    async def main() -> None:
        with run_directory(leaf_spine(1, 0, 1)) as run:
            fabric = inventory(run, tmp_path)
            async with switches(run), controller(run, fabric=fabric) as made:
                await programmed(made)
                shutil.copy(pki / "controller.pem", tmp_path / "localhost.pem")  # its key is to follow
                assert list(await asyncio.to_thread(read_counters, fabric)) == ["l1"]

    asyncio.run(main())


def test_a_certificate_that_is_missing_for_a_moment_is_one_line_and_a_short_pause(
    pki: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As if the switch could not be reached, and no longer: its session is opened once the file is there."""
    file, pauses = tmp_path / "ca.pem", list[float]()
    shutil.copy(pki / "ca.pem", file)

    def pause(self: Backoff, _lasted_s: float) -> float:
        pauses.append(self.first_s)
        if len(pauses) == 3:
            shutil.copy(pki / "ca.pem", file)
        return 0.0

    async def main() -> None:
        with run_directory(leaf_spine(1, 0, 1)) as run:
            fabric = inventory(run, pki, cacert=file)
            async with switches(run), controller(run, fabric=fabric) as made:
                file.unlink()
                await programmed(made)

    monkeypatch.setattr(Backoff, "pause", pause)
    asyncio.run(main())
    assert pauses == [0.2] * 3
    (said,) = [record for record in caplog.records if "ca.pem" in record.getMessage()]
    assert said.getMessage() == f"l1: tls_client.cacert: {file}: No such file or directory"
    assert said.exc_info is None
