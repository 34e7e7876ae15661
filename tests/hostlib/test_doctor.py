"""`csaud doctor` and `csaud device list`: what they find here, and that every finding says how to mend it."""

import ctypes
import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from csaud import _core
from csaud.cli import command as cli
from csaud.config import reading
from csaud.devices import rdma
from csaud.devices.interfaces import Interface
from csaud.doctor import examine as doctor
from csaud.doctor import soft, trial
from csaud.doctor import verbs as verbs_doctor
from csaud.doctor.finding import Finding
from typer.testing import CliRunner

CLONE_NEWNET = 0x40000000
PR_CAPBSET_DROP = 24
CAP_NET_ADMIN, CAP_NET_RAW = 12, 13
RIGHT = rdma.Gid(1, "RoCE v2", "10.0.1.2", "eth0")
SIX = rdma.Gid(2, "RoCE v2", "fd00:1::2", "eth0")
LIBC = ctypes.CDLL(None, use_errno=True)
LIMITS = {"max_qp": 1000, "max_qp_wr": 16384, "max_sge": 16, "max_ah": 100}


def port(*gids: rdma.Gid, active: bool = True, ethernet: bool = True, mtu: int = 4096) -> rdma.Port:
    return rdma.Port(1, active, ethernet, mtu, 4096, gids)


def device(*ports: rdma.Port, error: str = "") -> rdma.RdmaDevice:
    return rdma.RdmaDevice("mlx5_0", error, LIMITS, ports)


@pytest.fixture
def verbs(monkeypatch: pytest.MonkeyPatch):
    """The findings about RDMA devices where these are the machine's, or there is no library."""

    def findings(found: list[rdma.RdmaDevice] | rdma.NoVerbs, trial_says: str = "") -> list[Finding]:
        def find() -> list[rdma.RdmaDevice]:
            if isinstance(found, rdma.NoVerbs):
                raise found
            return found

        monkeypatch.setattr(rdma, "find_devices", find)
        monkeypatch.setattr(
            trial, "try_device", lambda *_, **settings: trial_says if settings["device"] == "verbs" else "no"
        )
        everything = doctor.examine(reading.load({}, {}))
        return [finding for finding in everything if finding.kind == "verbs"]

    return findings


@pytest.mark.parametrize(
    ("found", "text", "mend"),
    [
        (
            rdma.NoVerbs("libibverbs: cannot open shared object file"),
            "cannot open",
            "apt install libibverbs1",
        ),
        (rdma.NoVerbs("csaud was built without infiniband/verbs.h"), "built without", "libibverbs-dev"),
        (
            [device(error="open RDMA device mlx5_0: Permission denied")],
            "Permission denied",
            "/dev/infiniband",
        ),
        ([device(port(RIGHT, active=False))], "not active", "ip link set"),
        ([device(port(RIGHT, ethernet=False))], "InfiniBand", "LINK_TYPE=ETH"),
        ([device(port(rdma.Gid(0, "RoCE v2", "fe80::1", "eth0")))], "no RoCEv2 GID", "ip address add"),
        ([device(port(rdma.Gid(0, "RoCE v1", "10.0.1.2", "eth0")))], "no RoCEv2 GID", "ip address add"),
    ],
)
def test_what_keeps_an_rdma_device_from_working(verbs, found, text: str, mend: str) -> None:
    findings = verbs(found)
    assert [finding for finding in findings if finding.what == "trial"] == []
    [missing] = [finding for finding in findings if finding.level == "missing"]
    assert text in missing.text and mend in missing.mend
    if isinstance(found, list) and found[0].ports:
        assert missing.what == "mlx5_0 port 1"
    assert not doctor.works(findings)


@pytest.mark.parametrize(
    ("uverbs", "text", "mend"),
    [(False, "ib_uverbs is not loaded", "modprobe ib_uverbs"), (True, "no provider", "rdma link add")],
)
def test_without_an_rdma_device_it_says_whether_the_kernel_could_have_one(
    verbs, uverbs: bool, text: str, mend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    exists = Path.exists
    monkeypatch.setattr(
        Path, "exists", lambda path: uverbs if path.name == "infiniband_verbs" else exists(path)
    )
    [missing] = [finding for finding in verbs([]) if finding.level == "missing"]
    assert text in missing.text and mend in missing.mend


def test_a_device_that_works_and_one_whose_trial_fails(verbs) -> None:
    assert doctor.works(verbs([device(port(RIGHT))]))
    assert doctor.works(verbs([device(port(SIX))]))
    findings = verbs([device(port(RIGHT))], trial_says="rank 1 did not come")
    assert not doctor.works(findings)
    assert findings[-1].level == "missing" and "rank 1 did not come" in findings[-1].text


def test_a_small_path_mtu_is_noted(verbs) -> None:
    [note] = [one for one in verbs([device(port(RIGHT, mtu=1024))]) if one.level == "note"]
    assert "path MTU 1024" in note.text and "ip link set eth0 mtu 4200" in note.mend


def test_here_the_soft_device_works_and_every_other_line_says_how_to_mend_it() -> None:
    result = CliRunner().invoke(cli.app, ["doctor", "--json"])
    report = json.loads(result.output)
    assert (result.exit_code, report["works"]) == (0, True)
    for finding in report["findings"]:
        assert (finding["level"] == "ok") == (finding["mend"] == ""), finding
    lines = CliRunner().invoke(cli.app, ["doctor"]).output.splitlines()
    assert sum(bool(re.match(r"(ok|note|missing) ", line)) for line in lines) == len(report["findings"])


def udp_socket() -> socket.socket:
    """With a port that the kernel gave it, as it gives those of CSA to whoever asks for any."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind(("127.0.0.1", 0))
    return made


@pytest.mark.parametrize("raw", [True, False])
def test_a_port_that_somebody_has_is_told_where_ranks_need_it(
    raw: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with udp_socket() as somebodys:
        with udp_socket() as nobodys:
            taken, free = (each.getsockname()[1] for each in (somebodys, nobodys))
        monkeypatch.setattr(soft, "_PORTS", (taken, free))
        monkeypatch.setattr(soft, "raw_refusal", lambda: "" if raw else "Operation not permitted")
        monkeypatch.setattr(trial, "try_device", lambda *about, **how: "")
        found = {each.what: each for each in soft.look(reading.load({}, {}))}
    assert (f"UDP port {taken}" in found, f"UDP port {free}" in found) == (not raw, not raw)
    if not raw:
        note = found[f"UDP port {taken}"]
        assert (note.level, note.kind) == ("note", "soft")
        assert "somebody has it at some address" in note.text and "mode=udp needs it" in note.text
        assert "ss -lunp" in note.mend
        assert "sysctl -w net.ipv4.ip_local_reserved_ports=4791,49791" in note.mend
        assert (found[f"UDP port {free}"].level, found[f"UDP port {free}"].text) == ("ok", "free")


def without_networks() -> None:
    """In a network namespace of its own whose loopback is down, so that nothing at all can be sent."""
    if LIBC.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


def without_privileges() -> None:
    """What is dropped here, root does not get back by the exec that follows."""
    for capability in (CAP_NET_ADMIN, CAP_NET_RAW):
        if LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def doctor_in(prepare) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", "from csaud.cli import main; main()", "doctor", "--json"]
    return subprocess.run(words, capture_output=True, text=True, check=False, preexec_fn=prepare)


@pytest.mark.root
def test_exit_status_where_nothing_works() -> None:
    done = doctor_in(without_networks)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["works"] is False


@pytest.mark.root
def test_without_privileges_the_reduced_mode_is_tried() -> None:
    done = doctor_in(without_privileges)
    report = json.loads(done.stdout)
    assert (done.returncode, report["works"]) == (0, True), report
    found = {finding["what"]: finding for finding in report["findings"]}
    assert "setcap cap_net_raw+ep" in found["CAP_NET_RAW"]["mend"]
    assert "mode=udp" in found["trial"]["text"]


@pytest.mark.root
def test_without_the_library_only_the_verbs_device_is_missing() -> None:
    """Found at run time or not at all: nothing else may need it."""
    library = Path("/usr/lib/x86_64-linux-gnu/libibverbs.so.1")
    if not library.exists():
        pytest.skip("libibverbs is not on this machine")
    hidden = f'mount --bind /dev/null {library.resolve()} && exec "$0" "$@"'
    words = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        hidden,
        sys.executable,
        "-c",
        "from csaud.cli import main; main()",
    ]
    done = subprocess.run([*words, "doctor", "--json"], capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert (done.returncode, report["works"]) == (0, True), done.stderr
    [missing] = [one for one in report["findings"] if one["kind"] == "verbs"]
    assert (missing["level"], missing["what"]) == ("missing", "libibverbs")


def test_devices_are_listed() -> None:
    result = CliRunner().invoke(cli.app, ["device", "list", "--json"])
    report = json.loads(result.output)
    assert result.exit_code == 0
    loopback = next(row for row in report["devices"] if row["address"] == "127.0.0.1")
    assert (loopback["kind"], loopback["state"], loopback["mtu"]) == ("soft", "up", 4096)
    assert bool(report["verbs_problem"]) == (not any(row["kind"] == "verbs" for row in report["devices"]))
    assert "127.0.0.1" in CliRunner().invoke(cli.app, ["device", "list"]).output


def test_rdma_devices_are_listed_with_their_gids(monkeypatch: pytest.MonkeyPatch) -> None:
    devices = [device(port(SIX, RIGHT)), device(error="no permission")]
    monkeypatch.setattr(rdma, "find_devices", lambda: devices)
    [first, second] = [
        row
        for row in json.loads(CliRunner().invoke(cli.app, ["device", "list", "--json"]).output)["devices"]
        if row["kind"] == "verbs"
    ]
    assert (first["name"], first["state"], first["mtu"]) == ("mlx5_0/1", "active", 4096)
    assert first["address"] == "10.0.1.2"
    assert first["gids"] == [
        {"index": 2, "kind": "RoCE v2", "address": "fd00:1::2", "interface": "eth0", "usable": True},
        {"index": 1, "kind": "RoCE v2", "address": "10.0.1.2", "interface": "eth0", "usable": True},
    ]
    assert first["limits"]["max_qp_wr"] == 16384
    assert second["state"] == "no permission"
    assert "10.0.1.2" in CliRunner().invoke(cli.app, ["device", "list"]).output


def test_a_build_without_the_header_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "HAVE_VERBS", False)
    with pytest.raises(rdma.NoVerbs, match="built without"):
        rdma.find_devices()


@pytest.mark.parametrize("error", [RuntimeError("libibverbs: no such file"), OSError(19, "No such device")])
def test_a_library_that_cannot_be_used_is_told_with_the_devices(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> None:
        raise error

    monkeypatch.setattr(_core, "HAVE_VERBS", True)
    monkeypatch.setattr(_core, "verbs_devices", fails)
    report = json.loads(CliRunner().invoke(cli.app, ["device", "list", "--json"]).output)
    assert report["verbs_problem"] == str(error)
    assert {row["kind"] for row in report["devices"]} == {"soft"}
    told = " ".join(CliRunner().invoke(cli.app, ["device", "list"]).output.split())
    assert told.endswith(f"no verbs devices: {error} (csaud doctor says what to do)")


def test_what_libibverbs_tells_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    gids = [
        (0, 1, bytes.fromhex("fe800000000000000000000000000001"), "eth0"),
        (1, 2, bytes.fromhex("00000000000000000000ffff0a000102"), "eth0"),
        (2, 2, bytes.fromhex("fd000001000000000000000000000002"), "eth0"),
    ]
    told = {"number": 1, "active": True, "ethernet": True, "mtu": 4096, "max_mtu": 4096, "gids": gids}
    record = {"name": "mlx5_0", "error": "", "ports": [told], **LIMITS}
    monkeypatch.setattr(_core, "HAVE_VERBS", True)
    monkeypatch.setattr(_core, "verbs_devices", lambda: [record])
    assert rdma.find_devices() == [device(port(rdma.Gid(0, "RoCE v1", "fe80::1", "eth0"), RIGHT, SIX))]


@pytest.mark.parametrize(
    ("mtu", "level", "words"),
    [
        (307, "missing", "MTU 307: too small for any packet"),
        (308, "note", "MTU 308: path MTU 256, so more packets than with 4096"),
        (4147, "note", "MTU 4147: path MTU 4064, so more packets than with 4096"),
        (4148, "ok", "MTU 4148: path MTU 4096"),
    ],
)
def test_what_an_interface_carries(mtu: int, level: str, words: str) -> None:
    [found] = soft._interfaces([Interface("eth0", "10.0.1.2", mtu, up=True, loopback=False)])
    assert (found.level, found.text, bool(found.mend)) == (level, f"eth0, 10.0.1.2, {words}", level != "ok")


@pytest.mark.parametrize("less", [0, 1])
@pytest.mark.parametrize("limit", ["max_qp_wr", "max_sge"])
def test_short_queues_are_noted(verbs, limit: str, less: int) -> None:
    enough = {"max_qp_wr": verbs_doctor._SEND_SLOTS, "max_sge": 2}
    limits = {**LIMITS, **enough, limit: enough[limit] - less}
    findings = verbs([rdma.RdmaDevice("mlx5_0", "", limits, (port(RIGHT),))])
    short = [each for each in findings if "short queues, slower" in each.text]
    assert len(short) == less and all(each.level == "note" and each.mend for each in short)


@pytest.mark.parametrize("less", [0, 1])
def test_memory_that_a_user_may_lock_is_as_much_as_a_rank_needs(
    verbs, less: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = reading.load({}, {}).rx_buffer + verbs_doctor._SEND_SLOTS * 4224
    monkeypatch.setattr(verbs_doctor.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(verbs_doctor.resource, "getrlimit", lambda which: (needed - less, needed))
    [found] = [each for each in verbs([device(port(RIGHT))]) if each.what == "memory lock"]
    assert (found.level, bool(found.mend)) == (("missing", True) if less else ("ok", False))
    assert found.text.startswith(f"{needed - less} bytes")
