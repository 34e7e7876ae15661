"""`python -m bench host` from end to end, on tiny sizes: that it runs, and what it leaves. No figure is
judged: they say nothing at such sizes, and little on a busy machine.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from bench import host_collectives, host_rig, host_state

ROOT = Path(__file__).resolve().parents[2]


# What the benchmark itself needs; who it is compared with is not among them.
PROGRAMS = [
    "taskset",
    "chrt",
    "ip",
    "tc",
    "nsenter",
    "ethtool",
    "sysctl",
    "git",
    "cmake",
    "ninja",
    "c++",
    "cc",
]


def run(out: Path, *parts: str, path: Path | None = None) -> tuple[list[dict[str, object]], str]:
    """The rows, and what was printed; with the programs in `path` alone, where it is given."""
    argv = [sys.executable, "-m", "bench", "host", "--quick", "--out", str(out)]
    for part in parts:
        argv += ["--only", part]
    env = {"PATH": str(path)} if path else None
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=280, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    rows: list[dict[str, object]] = json.loads((out / "host.json").read_text())
    assert rows and all(float(str(row["value"])) > 0 for row in rows if row["unit"] != "%")
    return rows, done.stdout


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """A folder of programs where no peer is installed."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for program in PROGRAMS:
        if (found := shutil.which(program)) is not None:
            (folder / program).symlink_to(found)
    return folder


def with_programs(test: Callable[[Path], None]) -> Callable[[Path], None]:
    """They are compiled in one folder, so by one process at a time."""
    return pytest.mark.thorough(pytest.mark.xdist_group("native programs of benchmarks")(test))


@with_programs
def test_core_and_memory(tmp_path: Path) -> None:
    rows, _ = run(tmp_path, "core", "peers", "memory")
    assert (tmp_path / "host.svg").read_text().startswith("<?xml")
    by_name = {row["name"]: row for row in rows}
    assert by_name["core alone, DATA of 64 B"]["unit"] == "packets/s"
    assert by_name["memory of an idle peer"]["holds"] is True
    assert by_name["memory of an active receive"]["holds"] is True


@with_programs
@pytest.mark.root
def test_a_pair_of_hosts_and_loss(tmp_path: Path) -> None:
    rows, _ = run(tmp_path, "round-trip")
    libfabric = {"libfabric udp;ofi_rxd", "libfabric tcp"} if shutil.which("fi_pingpong") else {None}
    assert {row["peer"] for row in rows} == libfabric
    with host_rig.Pair((0, 0)) as pair:
        pair.offloads(False)
        pair.lose(1.0)
        with pytest.raises(host_rig.HostRigError):
            pair.run(1, ["ping", "-c", "1", "-W", "0.2", host_rig.ADDRESSES[0]])
        pair.lose(0.0)
        assert "1 received" in pair.run(1, ["ping", "-c", "1", host_rig.ADDRESSES[0]])


@with_programs
@pytest.mark.root
def test_a_pair_without_peers(tmp_path: Path, alone: Path) -> None:
    """Who is not installed is left out, and said to be; that is no failure."""
    rows, said = run(tmp_path, "goodput", "loss", path=alone)
    assert "libfabric tcp (Debian: libfabric-bin), iperf3 (Debian: iperf3)" in said
    assert {row["peer"] for row in rows} == {None, "without loss"}
    assert len({row["name"] for row in rows}) == len(rows) == 6


@with_programs
def test_collectives_without_peers(tmp_path: Path, alone: Path) -> None:
    torch = host_collectives.torch_python(install=False)
    rows, said = run(tmp_path, "collectives", path=alone)
    assert "Open MPI (Debian: openmpi-bin" in said
    assert any(row["name"] == "all-reduce, 4 B, 2 ranks, loopback" for row in rows)
    assert {row["peer"] for row in rows} <= {None, *([host_collectives.GLOO] if torch else [])}


def test_pytorch_of_this_environment_serves_as_well(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What `make torch` installs is what gloo is measured with; else an environment of its own, if any."""
    monkeypatch.setattr(host_collectives.native, "ROOT", tmp_path)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert host_collectives.torch_python(install=False) is None
    there = ModuleType("torch")
    there.__spec__ = ModuleSpec("torch", None)
    monkeypatch.setitem(sys.modules, "torch", there)
    assert host_collectives.torch_python(install=False) == Path(sys.executable)


def test_queue_pairs_do_not_grow_with_peers() -> None:
    rows = host_state.rows(56.0)
    pairs = [row for row in rows if row.at["curve"] == "QPs"]
    assert [row.at["x"] for row in pairs][0::7] == [8, 65_536]
    assert {row.value for row in pairs} == {1}
    assert [row.peer_value for row in pairs] == [row.at["x"] for row in pairs]
    state = [row for row in rows if row.at["curve"] == "bytes"]
    assert len({row.value for row in state}) == 1
    assert state[-1].peer_value == 65_536 * host_state.CONTEXT
