"""P4Runtime over TLS: who gets in, and what is said of certificates that cannot be used."""

from __future__ import annotations

import asyncio
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import finsy as fy
import grpc
import pytest
from csaud_softswitch.p4runtime.proto import p4r, p4r_grpc
from csaud_softswitch.p4runtime.tls import ServerTls, TlsError

from tests.softswitch.certificates import Certificates, make
from tests.softswitch.p4runtime_support import CONFIG, DEVICE_ID, PROGRAM
from tests.softswitch.test_process import fabric_file, fails, running, single

WAIT_S = 60.0


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make(tmp_path_factory.mktemp("pki"))


def free_port() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


def options(pki: Certificates, *more: object) -> tuple[object, ...]:
    files = ("--grpc-server-cert", pki.cert, "--grpc-server-key", pki.key)
    return ("--grpc-server-ssl", *files, *more)


def mutual(pki: Certificates) -> tuple[object, ...]:
    return options(pki, "--grpc-server-cacert", pki.cacert, "--grpc-server-with-client-auth")


def version(channel: grpc.Channel) -> str:
    with channel:
        stub = p4r_grpc.P4RuntimeStub(channel)
        answer = stub.Capabilities(p4r.CapabilitiesRequest(), timeout=WAIT_S, wait_for_ready=False)
        return answer.p4runtime_api_version


def secure(address: str, pki: Certificates, *, own: bool = False, trusts: Path | None = None) -> grpc.Channel:
    credentials = grpc.ssl_channel_credentials(
        (trusts or pki.cacert).read_bytes(),
        pki.client_key.read_bytes() if own else None,
        pki.client_cert.read_bytes() if own else None,
    )
    # Of a Unix socket gRPC would check its path.
    name = [("grpc.ssl_target_name_override", "localhost")] if address.startswith("unix:") else None
    return grpc.secure_channel(address, credentials, name)


def test_a_client_checks_the_switch(pki: Certificates) -> None:
    address = free_port()
    with running(*single(address, *options(pki))):
        assert version(secure(address, pki)) == "1.4.0"
        for channel in (grpc.insecure_channel(address), secure(address, pki, trusts=pki.client_cert)):
            with pytest.raises(grpc.RpcError) as caught:
                version(channel)
            assert caught.value.code() == grpc.StatusCode.UNAVAILABLE


def test_the_switch_checks_its_clients(pki: Certificates, tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/s.sock"
    with running(*single(address, *mutual(pki))):
        assert version(secure(address, pki, own=True)) == "1.4.0"
        with pytest.raises(grpc.RpcError) as caught:
            version(secure(address, pki))
        assert caught.value.code() == grpc.StatusCode.UNAVAILABLE


def test_a_fabric_file_says_which_certificates_its_switches_have(pki: Certificates, tmp_path: Path) -> None:
    """All are served with the fabric's, and l1 asks its clients for theirs as well."""
    (tmp_path / "pki").symlink_to(pki.cert.parent)
    tls = {"cert": "pki/server.pem", "key": "pki/server.key"}
    own = tls | {"cacert": "pki/ca.pem", "client_auth": True}
    switches = {"l1": {"device_id": DEVICE_ID, "tls": own}, "s1": {"device_id": 2}}
    path = fabric_file(tmp_path, switches=switches, tls=tls)
    with running("--fabric", path, "--run-dir", tmp_path):
        assert version(secure(f"unix:{tmp_path}/s1.sock", pki)) == "1.4.0"
        assert version(secure(f"unix:{tmp_path}/l1.sock", pki, own=True)) == "1.4.0"
        with pytest.raises(grpc.RpcError):
            version(secure(f"unix:{tmp_path}/l1.sock", pki))


def test_finsy_programs_a_switch_over_tls(pki: Certificates) -> None:
    address = free_port()

    async def run() -> None:
        chosen = fy.SwitchOptions(
            p4info=PROGRAM.with_suffix(".p4info.txtpb"),
            p4blob=PROGRAM,
            device_id=DEVICE_ID,
            channel_credentials=fy.GRPCCredentialsTLS(
                cacert=pki.cacert.read_bytes(),
                cert=pki.client_cert.read_bytes(),
                private_key=pki.client_key.read_bytes(),
            ),
        )
        async with fy.Switch("l1", address, chosen) as switch:
            assert switch.is_primary
            assert len(switch.p4info.tables) == len(CONFIG.p4info.tables)

    with running(*single(address, *mutual(pki))):
        asyncio.run(asyncio.wait_for(run(), 30))


def test_what_is_wrong_with_certificates_is_said_before_anything_starts(
    pki: Certificates, tmp_path: Path
) -> None:
    address = f"unix:{tmp_path}/s.sock"
    ssl = "--grpc-server-ssl"
    assert "--grpc-server-cert and --grpc-server-key" in fails(*single(address, ssl))
    assert "without --grpc-server-ssl" in fails(*single(address, "--grpc-server-cert", pki.cert))
    missing = ("--grpc-server-cert", tmp_path / "no.pem", "--grpc-server-key", pki.key)
    assert "no.pem: No such file" in fails(*single(address, ssl, *missing))
    other = ("--grpc-server-cert", pki.cert, "--grpc-server-key", pki.client_key)
    assert f"{pki.cert}, {pki.client_key}: not a certificate and its key" in fails(
        *single(address, ssl, *other)
    )
    assert "needs the CA certificate" in fails(
        *single(address, *options(pki, "--grpc-server-with-client-auth"))
    )
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    assert f"{broken}: not a certificate" in fails(
        *single(address, *options(pki, "--grpc-server-cacert", broken))
    )
    path = fabric_file(tmp_path, tls={"cert": "server.pem"})
    assert "tls: the key 'key' is missing" in fails("--fabric", path, "--run-dir", tmp_path)
    path = fabric_file(tmp_path, tls={"cert": "a", "key": "b", "client_auth": "yes"})
    assert "tls.client_auth: expected true or false" in fails("--fabric", path, "--run-dir", tmp_path)
    assert "keys `tls`" in fails("--fabric", path, "--run-dir", tmp_path, ssl)


def test_certificates_that_are_replaced_while_they_are_checked_are_not_mixed(
    pki: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the reading of the key and that of the certificate another pair takes their places: at a
    handshake, so that what was there before is used, and at the start."""
    cert, key = tmp_path / "own.pem", tmp_path / "own.key"
    shutil.copy(pki.cert, cert)
    shutil.copy(pki.key, key)
    tls, installed = ServerTls(cert, key), list[tuple[bytes, bytes]]()
    newest: list[Callable[[], object]] = []

    def configuration(pairs: list[tuple[bytes, bytes]], root_certificates: bytes | None) -> object:
        installed.extend(pairs)
        return object()

    def dynamic(_first: object, fetch: Callable[[], object], **_: object) -> object:
        newest.append(fetch)
        return object()

    monkeypatch.setattr(grpc, "ssl_server_certificate_configuration", configuration)
    monkeypatch.setattr(grpc, "dynamic_ssl_server_credentials", dynamic)
    tls.credentials()
    old = (pki.key.read_bytes(), pki.cert.read_bytes())
    assert installed == [old] and newest[0]() is None

    def replaced_meanwhile() -> None:
        read = Path.read_bytes

        def read_bytes(path: Path) -> bytes:
            content = read(path)
            if path == key:
                shutil.copy(pki.client_cert, cert)
                shutil.copy(pki.client_key, key)
            return content

        monkeypatch.setattr(Path, "read_bytes", read_bytes)

    with monkeypatch.context():
        replaced_meanwhile()
        assert newest[0]() is None and installed == [old], "the old key beside the new certificate"
        assert newest[0]() is not None
        assert installed == [old, (pki.client_key.read_bytes(), pki.client_cert.read_bytes())]
        shutil.copy(pki.cert, cert)
        shutil.copy(pki.key, key)
        with pytest.raises(TlsError, match=r"own\.pem, .*own\.key: not a certificate and its key"):
            tls.credentials()
