"""`csaud lab deploy` and `accept`: refusals, what runs on hosts, and the whole way in a lab of namespaces."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_lab.acceptance.node import SshNode
from csaud_lab.acceptance.parts import PARTS, policy, rules, scenario
from csaud_lab.acceptance.run import accept
from csaud_lab.cli import app
from csaud_lab.inventory import inventory
from csaud_lab.inventory.wheels import archive, release_of
from csaud_lab.machines import sets_up
from csaud_runs.errors import RunError
from rich.console import Console
from typer.testing import CliRunner

from tests.lab.places import nowhere
from tests.lab.rehearsed import needs_rehearsal, rehearse
from tests.support import rxe
from tests.support.wheels import wheels_for_hosts


def test_what_cannot_be_deployed_is_told_at_once_and_changes_nothing(tmp_path: Path) -> None:
    nowhere(tmp_path)
    done = CliRunner().invoke(app, ["deploy", "--lab", str(tmp_path / "lab.yaml")])
    assert done.exit_code == 1
    told = done.stderr
    assert "nothing was changed, because of 4 problems" in told
    assert "wheels: no csaud-*.whl in" in told and "make lab-wheels" in told
    assert "l1: P4Runtime at 127.0.0.1:1: UNAVAILABLE" in told
    assert "h1: ssh root@127.0.0.1:" in told and "h2: ssh root@127.0.0.1:" in told
    assert not (tmp_path / "control").exists()


def test_a_lab_that_is_not_ready_is_not_accepted(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"the lab is not ready \(csaud lab check, csaud lab deploy\)"):
        accept(nowhere(tmp_path), tmp_path / "out", Console(file=io.StringIO()))
    done = CliRunner().invoke(app, ["report", "--out", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert f"no {tmp_path}/out/acceptance.json: `csaud lab accept` writes it" in done.stderr.replace("\n", "")


def test_a_release_is_named_by_what_is_in_its_wheels(tmp_path: Path) -> None:
    site = nowhere(tmp_path)
    assert release_of(site) == ""
    site.wheels.mkdir()
    site.directory.mkdir()
    (site.wheels / "csaud-1-py3-none-any.whl").write_bytes(b"one")
    first = release_of(site)
    old = archive(site, first)
    (site.wheels / "csaud-1-py3-none-any.whl").write_bytes(b"two")
    second = release_of(site)
    assert first != second
    assert archive(site, second).exists() and not old.exists()
    made = inventory(site)["all"]["vars"]
    assert made["csaud_archive"] == str(tmp_path / f"control/wheels-{second}.tar")


def test_firmware_files_need_the_version_that_they_bring(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"lab\.yaml:4: nic\.firmware_file: no such file") as told:
        nowhere(tmp_path, "nic: {firmware_file: fw.bin}\n")
    assert "expected `firmware` beside it" in str(told.value)


def test_the_secret_of_a_job_is_in_no_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    ssh = tmp_path / "bin/ssh"
    ssh.write_text('#!/bin/sh\necho "$@" >$0.said\nfor last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setenv("CSAUD_RETRIES", "3")
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv/bin").mkdir()
    (tmp_path / "venv/bin/python").symlink_to(sys.executable)
    node = SshNode(nowhere(tmp_path, f"prefix: {tmp_path}/venv\n"), "h1")
    environment = {
        "CSAUD_SECRET": "c0ffee",
        "RANK": "1",
        "CSAUD_DEVICE": "soft",
        "CSAUD_CONTROLLER": "unix:x",
    }
    program = "import os, sys; print(os.environ['CSAUD_SECRET'], os.environ['RANK'], sys.stdin.read())"
    process = node.popen(
        [sys.executable, "-c", program], environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    printed, _ = process.communicate("and more\n")
    assert printed == "c0ffee 1 and more\n\n"
    said = Path(f"{ssh}.said").read_text()
    assert "c0ffee" not in said and "CSAUD_CONTROLLER" not in said
    assert "CSAUD_DEVICE=soft" in said and "BatchMode=yes" in said


def test_each_part_of_an_acceptance_asks_for_what_its_name_says(tmp_path: Path) -> None:
    site = nowhere(tmp_path, "acceptance: {loss: 0.1, seed: 7}\n")
    lab_policy = Policy(queues={26: 3}, spray="ecmp")
    asked = {part.name: (policy(part, lab_policy), rules(part, site)) for part in PARTS}
    assert {p.spray for p, _ in asked.values()} == {"random"} and asked["trim"][0].queues == {26: 3}
    assert asked["clean"][1] == []
    assert [
        (p.loss_signal, *((r.signalled, r.probability) for r in those)) for p, those in asked.values()
    ] == [
        ("trim",),
        ("trim", (True, 0.1)),
        ("bounce", (True, 0.1)),
        ("trim", (False, 0.1)),
    ]
    for part in PARTS:  # what the report holds against it is just what was asked for
        made = scenario(part, site, lab_policy)
        assert made.intent() == Intent(policy=asked[part.name][0], faults=made.intent().faults)
        made.intent().check(site.fabric)


_NO_IPV6 = "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6"
_SET_UP = """
set -e
ip link add eth7 address 02:00:0a:00:01:01 type veth peer name far
python3 {program}; python3 {program}
ip -o addr show eth7; ip route get 10.0.1.2; ip -6 route get fd00:a00:1::2 || true; ip neigh show
"""


@pytest.mark.root
@pytest.mark.parametrize("ipv6", [False, True])
def test_a_host_is_set_up_once(tmp_path: Path, ipv6: bool) -> None:
    """By the MAC address of its NIC; the second time there is nothing to do."""
    site = nowhere(tmp_path, ipv6=ipv6)
    settings = inventory(site)["all"]["children"]["csaud_hosts"]["hosts"]["h1"]["csaud_host"]
    (tmp_path / "host.json").write_text(json.dumps(settings))
    source = Path(sets_up.__file__).read_text().replace("/etc/csaud/host.json", str(tmp_path / "host.json"))
    (tmp_path / "sets_up.py").write_text(source)
    script = _SET_UP.format(program=tmp_path / "sets_up.py")
    done = subprocess.run(
        ["unshare", "--net", "--mount", "sh", "-c", f"mount -t sysfs sysfs /sys; {_NO_IPV6}; {script}"],
        capture_output=True,
        text=True,
        check=False,
    )
    first, second, *shown = done.stdout.splitlines()
    assert json.loads(first) == [
        "eth7: MTU 4200",
        "eth7: up",
        "eth7: address 10.0.1.1",
        "eth7: 1 IPv4 neighbours, 1 routes",
        *(
            [
                "eth7: IPv6",
                "eth7: address fd00:a00:1::1",
                "eth7: 1 IPv6 neighbours, 1 routes",
            ]
            if ipv6
            else []
        ),
    ], done.stderr
    assert json.loads(second) == []
    told = "\n".join(shown)
    assert "10.0.1.2 dev eth7 src 10.0.1.1" in told
    assert "10.0.1.2 dev eth7 lladdr 02:00:0a:00:01:02 PERMANENT" in told
    assert ("inet6 fd00:a00:1::1/128 scope global" in told) == ipv6
    assert ("fd00:a00:1::2 dev eth7 lladdr 02:00:0a:00:01:02 PERMANENT" in told) == ipv6
    assert ("fd00:a00:1::2 from :: dev eth7 src fd00:a00:1::1" in told) == ipv6
    assert "tentative" not in told


_KILLED = r"""
set -e
csaud lab deploy >deploy1.txt & first=$!
until grep -q 'Wheels are copied' deploy1.txt; do sleep 0.2; done
kill -9 $first
csaud lab deploy >deploy2.txt
kill -9 $(csaud controller status --run control/run --json | sed -n 's/.*"pid": \([0-9]*\).*/\1/p')
csaud lab deploy >deploy3.txt
csaud lab deploy --json >deploy4.json
csaud lab check --json >check.json
csaud policy set --run control/run --spray flowlet
csaud fault set --run control/run 0.001
csaud lab accept --json >accept.json
csaud policy show --run control/run --json >policy.json
csaud fault show --run control/run --json >faults.json
csaud lab report --out accept
"""


@pytest.fixture(scope="module")
def wheel() -> Path:
    """With all that it needs."""
    return wheels_for_hosts()


@needs_rehearsal
@pytest.mark.thorough
@pytest.mark.timeout(1200)  # Ansible takes minutes where others work, too
@pytest.mark.root
def test_from_nothing_to_an_accepted_lab(tmp_path: Path, wheel: Path) -> None:
    """Deployments that are killed, a controller that is killed, and all-reduces with losses on purpose; over
    IPv6, with addresses of both kinds."""
    folder = tmp_path / "a lab"  # paths may have blanks
    command, options = ("bash", "-c", _KILLED), ("--ipv6",)
    told = rehearse(folder, "leaf-spine-2x2x1", *command, wheels=wheel, options=options)
    last = json.loads((folder / "deploy4.json").read_text())["machines"]
    assert set(last) == {"h1", "h2", "control"}
    assert {name: (each["changed"], each["failed"]) for name, each in last.items()} == dict.fromkeys(
        last, (0, 0)
    )
    assert "Controller runs, as a process of its own" in (folder / "deploy3.txt").read_text()
    findings = json.loads((folder / "check.json").read_text())["findings"]
    assert {each["level"] for each in findings} == {"ok"}, findings
    assert {"address 10.0.1.1", "address fd00:a00:1::1"} <= {each["what"] for each in findings}
    found = json.loads((folder / "accept.json").read_text())
    assert found["passed"] and [part["name"] for part in found["parts"]] == [part.name for part in PARTS]
    clean, *lossy = found["parts"]
    assert clean["figures"]["lost"] == 0 and all(part["figures"]["lost"] > 0 for part in lossy)
    for part in found["parts"]:
        report = json.loads((folder / "accept" / part["name"] / "report.json").read_text())
        assert report["run"]["ipv6"] is True
        names = {check["name"] for check in report["checks"]}
        assert {"links sprayed over", "results bit-equal", "books: links"} <= names
    assert "iCRC of cut packets" in {
        c["name"] for c in json.loads((folder / "accept/trim/report.json").read_text())["checks"]
    }
    assert json.loads((folder / "policy.json").read_text())["spray"] == "flowlet"
    assert "0.001" in (folder / "faults.json").read_text()
    assert "accepted: leaf-spine-2x2x1" in told
    assert (folder / "accept/report.html").read_text().count("all ") >= len(PARTS)


@needs_rehearsal
@pytest.mark.thorough
@pytest.mark.timeout(1200)  # Ansible takes minutes where others work, too
@pytest.mark.root
@pytest.mark.bmv2
def test_a_lab_of_simple_switch_grpc_is_accepted(tmp_path: Path, wheel: Path) -> None:
    """The reference switch under the same controller, over mutual TLS."""
    words = "csaud lab deploy && csaud lab accept"
    told = rehearse(tmp_path, "leaf-spine-2x2x1", "sh", "-c", words, wheels=wheel, target="bmv2")
    assert "accepted: leaf-spine-2x2x1" in told


_SEEN = """
known="-i ssh/id_ed25519 -o UserKnownHostsFile=ssh/known_hosts"
for address in 192.0.2.101 192.0.2.102; do
    ssh $known root@$address 'hostname; rdma link; cat /sys/class/net/h?-eth0/address'
done
"""


@needs_rehearsal
@pytest.mark.nightly
@pytest.mark.timeout(1200)  # emulated processors, where others work, too
@pytest.mark.root
@pytest.mark.qemu
def test_hosts_of_verbs_are_guests_with_rdma_devices(tmp_path: Path) -> None:
    """To deploy to them and to accept them takes a quarter of an hour: a rehearsal of `make nightly`, too."""
    options = ("--device", "verbs", "--guests", str(rxe.CACHE))
    told = rehearse(tmp_path / "lab", "leaf-spine-2x2x1", "sh", "-ec", _SEEN, options=options)
    for host, mac in (("h1", "02:00:0a:00:01:01"), ("h2", "02:00:0a:00:02:01")):
        assert f"{host}\nlink rxe0/1 state ACTIVE physical_state LINK_UP netdev {host}-eth0 \n{mac}\n" in told
