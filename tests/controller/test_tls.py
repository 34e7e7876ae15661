"""Switches that speak TLS, and know their controller by its certificate."""

import asyncio
import json
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from csaud_controller.cli import fabric as fabric_command
from csaud_controller.inventory import ClientTls, Fabric, ServerTls, leaf_spine
from csaud_controller.run.directory import RunDir
from csaud_controller.switches.backoff import Backoff
from csaud_controller.switches.certificates import out_of_date
from csaud_controller.switches.counters import read_counters
from csaud_controller.switches.errors import CountersError, TlsError
from csaud_controller.switches.primacy import Primacy
from csaud_controller.switches.tls import credentials, in_words
from typer.testing import CliRunner

from tests.controller.soft import PATIENCE_S, controller, programmed, run_directory, switches


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def _named(name: str) -> tuple[str, ...]:
    return "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}"


def reissue(folder: Path, name: str, named: str, ca: str, days: int) -> None:
    """A certificate like another one, by this authority, from three days ago until so many days from now."""
    like = x509.load_pem_x509_certificate((folder / f"{name}.pem").read_bytes())
    key = load_pem_private_key((folder / f"{ca}.key").read_bytes(), None)
    issuer = x509.load_pem_x509_certificate((folder / f"{ca}.pem").read_bytes()).subject
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(issuer, like.subject, like.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=3))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, SHA256())
    )
    (folder / f"{named}.pem").write_bytes(made.public_bytes(Encoding.PEM))


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
        reissue(folder, name, f"old-{name}", "ca", days=-1)
    reissue(folder, "controller", "strange", "stranger", days=2)
    (folder / "empty.pem").touch()
    (folder / "words.pem").write_text("to be had from the authority\n")
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


@pytest.mark.parametrize(
    ("client", "server", "says"),
    [
        ({"cert": "old-controller.pem"}, {},
         "it closed the connection, and tls_client.cert: PKI/old-controller.pem has expired (20.* UTC)"),
        ({"cert": "strange.pem"}, {},
         "it closed the connection, as one does that does not trust who signed tls_client.cert:"
         " PKI/strange.pem"),
        ({"cert": None, "key": None}, {},
         "it closed the connection, as one does that asks for a certificate: there is no tls_client.cert"),
        ({"cacert": "stranger.pem"}, {},
         "its certificate (PKI/localhost.pem) is not signed by tls_client.cacert: PKI/stranger.pem:"
         " unable to get local issuer certificate"),
        ({}, {"cert": "old-localhost.pem"},
         "its certificate (PKI/old-localhost.pem) is out of date: certificate has expired"),
        ({}, {"cert": "controller.pem", "key": "controller.key"},
         "its certificate (PKI/controller.pem) is not that of localhost (tls_client.server_name)"),
    ],
)  # fmt: skip
def test_of_a_handshake_that_fails_the_switch_and_the_certificate_are_named_once(
    pki: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    client: dict[str, str | None],
    server: dict[str, str],
    says: str,
) -> None:
    """However often it is tried, and from then on the session is opened once it is mended."""
    pauses: list[float] = []
    monkeypatch.setattr(Backoff, "pause", lambda self, lasted_s: pauses.append(self.first_s) or 0.01)

    async def main() -> None:
        with run_directory(leaf_spine(1, 0, 1)) as run:
            fabric = inventory(run, pki, **{key: name and pki / name for key, name in client.items()})
            served = fabric.tls.model_copy(update={key: pki / name for key, name in server.items()})
            fabric = fabric.model_copy(update={"tls": served})
            run.fabric_file.write_text(fabric.to_json())
            async with switches(run), controller(run, fabric=fabric) as made:
                assert await made.wait_until(lambda: len(pauses) > 5, PATIENCE_S) or len(pauses) > 5
                with pytest.raises(CountersError, match=f"^l1: counters cannot be read: {expected}$"):
                    await asyncio.to_thread(read_counters, fabric, timeout_s=PATIENCE_S)

    expected = re.escape(says.replace("PKI", str(pki))).replace(r"\.\*", ".*")
    asyncio.run(main())
    assert set(pauses) == {0.2}
    (said,) = [record.getMessage() for record in caplog.records if record.name == "csaud.controller"][:1]
    assert re.fullmatch(f"l1: cannot be reached: {expected}", said)
    assert len([r for r in caplog.records if "cannot be reached" in r.getMessage()]) == 1


def test_a_switch_that_speaks_no_tls_or_is_not_there_is_told(pki: Path) -> None:
    async def main() -> None:
        with run_directory(leaf_spine(1, 0, 1)) as run:
            plain = run.fabric_file.read_text()
            fabric = inventory(run, pki)
            with pytest.raises(CountersError) as gone:
                await asyncio.to_thread(read_counters, fabric, timeout_s=PATIENCE_S)
            assert str(gone.value).startswith("l1: counters cannot be read: ")
            assert "TLS" not in str(gone.value) and "certificate" not in str(gone.value)
            run.fabric_file.write_text(plain)
            async with switches(run):
                with pytest.raises(CountersError) as told:
                    await asyncio.to_thread(read_counters, fabric, timeout_s=PATIENCE_S)
            assert str(told.value) == (
                "l1: counters cannot be read: it does not speak TLS, as the fabric says that it does"
            )
            away = fabric.tls_client.model_copy(update={"cert": pki / "nowhere.pem"})
            without = fabric.model_copy(update={"tls_client": away})
            assert in_words(without, "l1", "Socket closed") == (
                f"it closed the connection, and tls_client.cert: {pki}/nowhere.pem: No such file or directory"
            )

    asyncio.run(main())


def test_a_certificate_is_out_of_date_before_and_after_its_time(pki: Path) -> None:
    pem, now = (pki / "controller.pem").read_bytes(), datetime.now(UTC)
    assert out_of_date(pem, now) == ""
    assert re.fullmatch(r"has expired \(.* UTC\)", out_of_date(pem, now + timedelta(days=3)))
    assert re.fullmatch(r"is not valid before .* UTC", out_of_date(pem, now - timedelta(days=1)))


def test_a_check_of_the_fabric_file_finds_certificates_of_no_use_by_line_and_key(
    pki: Path, tmp_path: Path
) -> None:
    file = tmp_path / "fabric.yaml"
    file.write_text(
        "name: one\nswitches: {l1: {device_id: 1}}\nhosts: {h1: {ip: 10.0.1.1, mac: '02:00:00:00:00:01'}}\n"
        "edges: [{a: l1, a_port: 1, b: h1, b_port: 0}]\n"
        f"tls:\n  cert: {pki}/old-localhost.pem\n  key: {pki}/localhost.key\n  cacert: {pki}/words.pem\n"
        f"tls_client:\n  cert: {pki}/controller.pem\n  key: {pki}/localhost.key\n  cacert: {pki}/ca.pem\n"
    )
    found = CliRunner().invoke(fabric_command.app, ["check", str(file), "--json"])
    assert found.exit_code == 2
    told = [(each["line"], each["key"], each["message"]) for each in json.loads(found.stdout)["mistakes"]]
    assert [each[:2] for each in told] == [(6, "tls.cert"), (8, "tls.cacert"), (11, "tls_client.key")]
    assert told[0][2].startswith(f"{pki}/old-localhost.pem has expired")
    assert [each[2] for each in told[1:]] == [
        f"{pki}/words.pem is no certificate in PEM format",
        f"{pki}/localhost.key is not the key of the certificate",
    ]


def test_what_a_command_says_of_a_handshake_that_fails_is_one_line(pki: Path) -> None:
    command = [sys.executable, "-c", "from csaud.cli import main; main()", "counter", "show", "--run"]

    async def main() -> None:
        with run_directory(leaf_spine(1, 0, 1)) as run:
            inventory(run, pki, cacert=pki / "stranger.pem")
            async with switches(run):
                words = [*command, str(run.path)]
                done = await asyncio.to_thread(subprocess.run, words, capture_output=True, text=True)
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"csaud: l1: counters cannot be read: its certificate ({pki}/localhost.pem)")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("client", "says"),
    [
        ({"cert": "empty.pem"}, "tls_client.cert: PKI/empty.pem is empty"),
        ({"cacert": "empty.pem"}, "tls_client.cacert: PKI/empty.pem is empty"),
        ({"key": "empty.pem"}, "tls_client.key: PKI/empty.pem is empty"),
        ({"cert": "words.pem"}, "tls_client.cert: PKI/words.pem is no certificate in PEM format"),
        ({"cacert": "words.pem"}, "tls_client.cacert: PKI/words.pem is no certificate in PEM format"),
        ({"key": "words.pem"}, "tls_client.key: PKI/words.pem is no private key in PEM format"),
        ({"key": "localhost.key"},
         "tls_client.key: PKI/localhost.key is not the key of the certificate PKI/controller.pem"),
    ],
)  # fmt: skip
def test_a_file_of_no_use_is_named_and_what_is_open_stays(
    pki: Path, tmp_path: Path, client: dict[str, str], says: str
) -> None:
    """An empty certificate, as there is while one is copied, ended the process."""
    for file in pki.iterdir():
        shutil.copy(file, tmp_path)
    shutil.copy(pki / "ca.pem", good(tmp_path, "cacert"))  # not that of the switch
    ((key, name),) = client.items()
    right = "ca.pem" if key == "cacert" else good(pki, key).name
    expected = says.replace(f"PKI/{name}", str(good(tmp_path, key))).replace("PKI", str(tmp_path))

    async def main() -> None:
        with run_directory(leaf_spine(1, 0, 1)) as run:
            fabric = inventory(run, tmp_path, cacert=good(tmp_path, "cacert"))
            async with controller(run, fabric=fabric, probe_interval_s=0.05) as made:
                async with switches(run):
                    assert not await programmed(made)
                    shutil.copy(pki / name, good(tmp_path, key))
                    with pytest.raises(TlsError, match=f"^{re.escape(expected)}$"):
                        await asyncio.to_thread(read_counters, fabric)
                    assert made.tasks["l1"].status.connected, "what is open stays"
                found = await made.wait_until(lambda: made.tasks["l1"].status.error == expected, PATIENCE_S)
                assert found, made.tasks["l1"].status.error
                async with switches(run):
                    shutil.copy(pki / right, good(tmp_path, key))
                    assert not await programmed(made)

    asyncio.run(main())


def good(folder: Path, key: str) -> Path:
    return folder / {"cacert": "trusted.pem", "cert": "controller.pem", "key": "controller.key"}[key]


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
