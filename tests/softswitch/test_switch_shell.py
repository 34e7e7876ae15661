"""`csaud switch shell`: p4runtime-shell on a running switch, which keeps its primary controller.

p4runtime-shell needs an environment of its own; build/p4runtime-shell-venv is made by the first test that
needs it, with pip.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from csaud_softswitch.cli import app
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.proto import p4r
from csaud_softswitch.shell.environment import ENVIRONMENT, ensure
from typer.testing import CliRunner

from tests.softswitch.certificates import make
from tests.softswitch.inputs import leaf, name, route
from tests.softswitch.p4runtime_support import DEVICE_ID, Client, Served
from tests.softswitch.test_process import fabric_file, running

FOLDER = Path(__file__).resolve().parents[2] / "build" / "p4runtime-shell-venv"
PATIENCE_S = 120.0
pytestmark = pytest.mark.timeout(600)  # the environment may have to be made first
LPM = name("route.ipv4_lpm")


@pytest.fixture(scope="module")
def shell_venv() -> Iterator[Path]:
    before = os.environ.get(ENVIRONMENT)
    os.environ[ENVIRONMENT] = str(FOLDER)
    ensure(print)
    yield FOLDER
    if before is None:
        del os.environ[ENVIRONMENT]
    else:
        os.environ[ENVIRONMENT] = before


def shell(run: Path | None, code: str, *options: object, name: str = "l1", status: int = 0) -> str:
    """What the code prints in the shell on l1, or another switch."""
    command = [sys.executable, "-c", "from csaud_softswitch.cli import app; app()"]
    arguments = ["shell", name, *(["--run", run] if run else []), *options, "-c", code]
    done = subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == status, done
    return done.stdout + done.stderr


def run_folder(tmp_path: Path, address: str, **more: object) -> Path:
    switches = {"l1": {"device_id": DEVICE_ID, "p4runtime": address}}
    return fabric_file(tmp_path, switches=switches, edges=[], **more).parent


@pytest.mark.thorough
@pytest.mark.usefixtures("shell_venv")
def test_it_reads_and_leaves_the_primary_role_where_it_is(
    controller: Client, served: Served, tmp_path: Path
) -> None:
    controller.write(*leaf()["write"])
    run = run_folder(tmp_path, served.address)
    code = f'for entry in table_entry["{LPM}"].read(): print("group", entry.action["group"])'
    out = shell(run, code)
    assert "You are not the primary client" not in out
    assert out.count("group") >= 2
    assert controller.inbox.empty()  # nobody told it of a change
    code = f'e = table_entry["{LPM}"](action="{name("route.set_group")}"); e.match["dst"] = "10.9.0.0/16"; '
    code += 'e.action["group"] = "7"; e.insert()'
    out = shell(run, code, status=1)
    assert "PERMISSION_DENIED" in out
    controller.write(route("10.8.0.0/16", 1))
    routes = [e.table_entry for e in controller.read(table_entry=p4r.TableEntry()) if e.table_entry.match]
    assert b"\x0a\x09\x00\x00" not in [e.match[0].lpm.value for e in routes if e.match[0].HasField("lpm")]


@pytest.mark.thorough
@pytest.mark.usefixtures("shell_venv")
def test_it_is_a_backup_even_where_there_is_no_primary_and_a_controller_that_comes_is_primary(
    controller: Client, served: Served, tmp_path: Path
) -> None:
    controller.close()
    run = run_folder(tmp_path, served.address)
    wait = "import time; print('here', flush=True); time.sleep(3)"
    command = [sys.executable, "-c", "from csaud_softswitch.cli import app; app()"]
    arguments = [*command, "shell", "l1", "--run", str(run), "-c", wait]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while "here" not in (line := process.stdout.readline()):
            assert line, "the shell has ended"
        assert served.device.arbitration.primaries() == []
        late = Client(served.address, election_id=1)
        assert late.arbitrate() == Code.OK
        late.write(route("10.7.0.0/16", 1))
        late.close()
        assert process.wait(PATIENCE_S) == 0


@pytest.mark.thorough
@pytest.mark.usefixtures("shell_venv")
@pytest.mark.parametrize("kind", ["unix", "tcp"])
def test_it_reaches_a_switch_by_its_address_and_writes_no_escapes(kind: str, tmp_path: Path) -> None:
    """One that runs by itself, in no fabric."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"unix:{tmp_path}/one.sock" if kind == "unix" else f"127.0.0.1:{probe.getsockname()[1]}"
    with running("--device-id", 7, "--grpc-server-addr", address):
        out = shell(None, "print(APIVersion())", "--device-id", 7, name=address)
        assert out == "1.4.0\n"
        out = shell(None, "print(APIVersion())", "--device-id", 8, name=address, status=1)
        assert out == "csaud switch shell: device 8 is not here; this is device 7\n"


@pytest.mark.thorough
@pytest.mark.usefixtures("shell_venv")
def test_it_reaches_a_switch_over_tls(tmp_path: Path) -> None:
    pki = make(tmp_path)
    tls = {"cert": "server.pem", "key": "server.key", "cacert": "ca.pem", "client_auth": True}
    client = {"cacert": "ca.pem", "cert": "client.pem", "key": "client.key"}
    path = fabric_file(
        tmp_path, switches={"l1": {"device_id": DEVICE_ID}}, edges=[], tls=tls, tls_client=client
    )
    with running("--fabric", path, "--run-dir", tmp_path):
        assert "1.4.0" in shell(tmp_path, "print(APIVersion())")
    assert pki.cert.is_file()


def fails(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["shell", *map(str, arguments)])
    assert done.exit_code == 1, done
    [line] = done.stderr.splitlines()
    return line


def test_mistakes_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CSAUD_RUN", raising=False)
    monkeypatch.setattr("csaud_runs.directory.ROOT", tmp_path / "none")
    assert "no fabric runs" in fails("l1")
    assert f"{tmp_path} is not the directory of a run" in fails("l1", "--run", tmp_path)
    fabric_file(tmp_path)
    assert "no switch 'x9'; there are l1, s1" in fails("x9", "--run", tmp_path)
    assert "nobody listens at 127.0.0.1:1" in fails("127.0.0.1:1")
    assert f"nobody listens at unix:{tmp_path}/no.sock" in fails(f"unix:{tmp_path}/no.sock")
    assert "expected host:port or unix:/path" in fails("127.0.0.1:p4")
    assert "--run" in fails("127.0.0.1:1", "--run", tmp_path)
    assert "--device-id" in fails("l1", "--run", tmp_path, "--device-id", 3)
    monkeypatch.setenv("CSAUD_RUN", str(tmp_path))
    assert f"switch l1 does not run: nobody listens at unix:{tmp_path}/l1.sock" in fails("l1")
    (tmp_path / "fabric.json").write_text("{")
    assert "fabric.json:1:" in fails("l1")


@pytest.mark.thorough
def test_without_pip_s_packages_it_says_so(
    tmp_path: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_folder(tmp_path, served.address)
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "venv"))
    monkeypatch.setattr("csaud_softswitch.shell.environment._PACKAGES", ("/nowhere/p4runtime-shell.whl",))
    done = CliRunner().invoke(app, ["shell", "l1", "--run", str(run)])
    assert done.exit_code == 1
    installing, failed = done.stderr.splitlines()
    assert f"installing p4runtime-shell 0.0.6 into {tmp_path}/venv" in installing
    assert "pip could not install p4runtime-shell" in failed


def test_its_help_says_what_it_does() -> None:
    done = CliRunner().invoke(app, ["shell", "--help"], env={"COLUMNS": "200"})
    assert done.exit_code == 0
    assert "backup controller" in done.output
    assert "--run" in done.output
