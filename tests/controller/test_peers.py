"""Who may use the control socket, and how much reports may take."""

import grp
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from ipaddress import IPv4Network
from pathlib import Path

import pytest
from csaud_controller.control.client import ask, wait_served
from csaud_controller.control.peers import Peer, Reporters, peer_of
from csaud_controller.inventory import leaf_spine
from csaud_controller.paths import host_reports
from csaud_controller.paths.host_reports import MAX_PATHS, HostPaths, PathReport
from csaud_controller.run.directory import RunDir
from pydantic import ValidationError

from tests.controller.soft import PATIENCE_S, controller_process, run_directory

NOBODY, GROUP = 65534, "games"
ASK = """
import os, sys
from pathlib import Path
from csaud_controller.control.client import ask
groups, user = [int(each) for each in sys.argv[2].split(",") if each], int(sys.argv[3])
os.setgroups(groups); os.setgid(user); os.setuid(user)
print(ask(Path(sys.argv[1]), "intent")["ok"])
"""
LISTEN = """
import os, sys
from pathlib import Path
from csaud_controller.control.peers import listen_at
group, user = map(int, sys.argv[2:])
os.chdir(sys.argv[1])
os.setgroups([]); os.setgid(user); os.setuid(user)
try:
    listen_at(Path("a.sock"), group)
except PermissionError as error:
    print(f"{error.filename}: {error.strerror}")
"""


def asked_by(run: RunDir, *groups: int) -> str:
    """What a user who is nobody is told, as a member of these groups."""
    words = [sys.executable, "-c", ASK, str(run.control_socket), ",".join(map(str, groups)), str(NOBODY)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.root
@pytest.mark.usefixtures("open_umask")
def test_the_control_socket_is_its_users_and_the_groups() -> None:
    group = grp.getgrnam(GROUP).gr_gid
    with run_directory() as run:
        run.path.chmod(0o755)
        for options, mode in (((), 0o600), (("--group", GROUP), 0o660)):
            with controller_process(run, *options):
                wait_served(run.control_socket, PATIENCE_S)
                assert stat.S_IMODE(run.control_socket.stat().st_mode) == mode
                assert "Permission denied" in asked_by(run)
                assert ("Permission denied" in asked_by(run, group)) == (not options)
                # whatever becomes of the file's mode, the kernel says who asks
                run.control_socket.chmod(0o666)
                assert "may not ask this controller" in asked_by(run)
                assert (asked_by(run, group) == "True") == bool(options)
                assert (asked_by(run, group) == "True") == bool(options)
                assert ask(run.control_socket, "intent")["ok"]


def test_an_unknown_group_is_told_of() -> None:
    with run_directory() as run, controller_process(run, "--group", "no-such-group") as process:
        assert process.wait() == 2
        assert "csaud: --group: unknown group 'no-such-group'" in process.log


@pytest.mark.root
def test_a_group_of_which_its_user_is_no_member_is_told_of(tmp_path: Path) -> None:
    """As nobody, who may give files to no group of others."""
    tmp_path.chmod(0o777)
    words = [sys.executable, "-c", LISTEN, str(tmp_path), str(grp.getgrnam(GROUP).gr_gid), str(NOBODY)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert done.stdout == f"a.sock: cannot be given to group {GROUP}, of which user nobody is no member\n"
    assert not [*tmp_path.iterdir()], "nothing is left behind that nobody listens at"


def test_the_kernel_tells_who_asks() -> None:
    one, other = socket.socketpair()
    with one, other:
        peer = peer_of(one)
    assert (peer.pid, peer.user) == (os.getpid(), os.geteuid())
    assert peer.groups >= {os.getegid()}


def test_hosts_report_for_themselves() -> None:
    where = Reporters(leaf_spine(2, 2), (IPv4Network("192.168.1.0/24"),))
    assert where.may_connect("10.0.1.1")
    assert where.may_connect("192.168.1.7")
    assert not where.may_connect("192.168.2.7")
    assert not where.may_connect("10.0.9.1")
    assert where.may_report("10.0.1.1", "10.0.1.1")
    assert not where.may_report("10.0.1.1", "10.0.1.2")
    assert where.may_report("192.168.1.7", "10.0.1.2")
    assert not where.may_report("192.168.1.7", "192.168.1.7")


def test_reports_take_so_much_memory_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_reports, "MAX_COUNTS", 6 * MAX_PATHS)
    kept, counts = HostPaths(), [1] * MAX_PATHS

    def report(rank: int, counts: list[int]) -> None:
        kept.take(PathReport(host="10.0.1.1", rank=rank, tx=counts, lost=counts, ecn=counts))

    report(0, counts)
    report(1, counts)
    with pytest.raises(ValueError, match="counts are kept already"):
        report(2, counts)
    report(1, counts[1:])  # a rank that reports again takes what it had
    with pytest.raises(ValueError, match="counts are kept already"):
        report(2, [1, 1])
    report(2, [1])


def test_ranks_that_report_are_so_many_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_reports, "MAX_RANKS", 2)
    kept = HostPaths()
    for rank in (0, 1, 1):
        kept.take(PathReport(host="10.0.1.1", rank=rank, tx=[1], lost=[0], ecn=[0]))
    with pytest.raises(ValueError, match=r"^2 ranks have reported already$"):
        kept.take(PathReport(host="10.0.1.2", rank=0, tx=[1], lost=[0], ecn=[0]))


@pytest.mark.parametrize(
    ("key", "most", "beyond"),
    [
        ("rank", 65535, 65536),
        ("rank", 0, -1),
        ("host", "f" * 45, "f" * 46),  # the longest address: an IPv6 one that ends with an IPv4 one
        ("tx", [1] * 16384, [1] * 16385),
        ("lost", [(1 << 63) - 1], [1 << 63]),
        ("ecn", [0], [-1]),
    ],
)
def test_a_report_goes_up_to_what_a_rank_can_count(key: str, most: object, beyond: object) -> None:
    report = {"host": "10.0.1.1", "rank": 0, "tx": [1], "lost": [1], "ecn": [1]}
    assert PathReport.model_validate(report | {key: most}).model_dump()[key] == most
    with pytest.raises(ValidationError, match=f"^1 validation error for PathReport\n{key}"):
        PathReport.model_validate(report | {key: beyond})


def test_who_has_no_name_is_told_by_number() -> None:
    assert Peer(7, 0, frozenset()).name == "root"
    nobodys = Peer(7, 4_000_000_001, frozenset({5}))
    assert (nobodys.name, str(nobodys)) == ("4000000001", "process 7 of user 4000000001")
    assert (nobodys.is_allowed(5), nobodys.is_allowed(6), nobodys.is_allowed(None)) == (True, False, False)
