"""Jobs over a wire between two hosts, and jobs of a user without privileges."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostlib.jobs import ROOT, Job, run
from tests.hostlib.test_device_jobs import balanced
from tests.hostlib.wire import Wire

SUMS = [[1, "float32", 2], [999, "float64", 1], [262_144, "float32", 2]]
SHAPE = ["tc", "qdisc", "add", "dev", "eth0", "root", "tbf"]
PORT = 29500  # the namespaces are this test's own


@pytest.mark.root
@pytest.mark.parametrize("mode", ["raw", "udp"])
def test_two_hosts(mode):
    with Wire(mtu=4200) as wire:
        settings = {"mode": mode}
        ends = run(
            2,
            "sums",
            {"sums": SUMS, "settings": settings},
            master=wire.addresses[0],
            port=PORT,
            spawn=wire.host_of,
        )
    balanced(ends)
    # 1 MB between two is 512 KB a message: 130 packets of 4064 bytes, there and back again
    assert ends[0]["stats"]["tx_data"] >= 2 * 2 * 130
    if mode == "raw":
        used = [packets > 0 for packets in ends[0]["stats"]["tx_path"]]
        assert all(used) and len(used) == 16


@pytest.mark.root
def test_several_ranks_on_each_of_two_hosts_share_its_address():
    with Wire(mtu=4200) as wire:
        ends = run(4, "sums", {"sums": SUMS}, master=wire.addresses[0], port=PORT, spawn=wire.host_of)
    balanced(ends)


def own_hosts(folder: Path, name: str) -> list[str]:
    """Command words that run what follows with hosts files as installers write them: the first host's own
    name is a loopback address there, and the second host knows its real one."""
    for rank in range(4):
        known = "127.0.1.1" if rank % 2 == 0 else Wire.addresses[0]
        (folder / f"hosts{rank}").write_text(f"127.0.0.1 localhost\n{known} {name}\n")
    bound = f'mount --bind {folder}/hosts$RANK /etc/hosts && exec "$0" "$@"'
    return ["unshare", "--mount", "sh", "-c", bound]


@pytest.mark.root
@pytest.mark.parametrize("settings", [{}, {"mode": "udp"}], ids=str)
def test_the_name_of_rank_0s_host_may_be_a_loopback_address_there(tmp_path, settings):
    with Wire(mtu=4200) as wire:
        ends = run(
            2,
            "sums",
            {"sums": SUMS, "settings": settings},
            master="node0",
            port=PORT,
            prefix=own_hosts(tmp_path, "node0"),
            spawn=wire.host_of,
            environ={"LOCAL_WORLD_SIZE": "1"},
        )
    balanced(ends)


@pytest.mark.root
def test_several_ranks_where_the_name_is_a_loopback_address_are_told_so(tmp_path):
    """They meet rank 0 by loopback and know no address of their host that others can reach."""
    with Wire(mtu=4200) as wire:
        options = {"prefix": own_hosts(tmp_path, "node0"), "spawn": wire.host_of, "port": PORT}
        environ = {"LOCAL_WORLD_SIZE": "2"}
        task = {"sums": [], "settings": {"store_timeout": 1}}
        with Job(4, "sums", task, master="node0", environ=environ, **options) as job:
            ends = job.ends([0, 2])
    assert [end["error"] for end in ends] == ["ConfigError"] * 2
    assert all("MASTER_ADDR='node0' is 127.0.1.1 on this host" in end["message"] for end in ends)


@pytest.mark.root
def test_the_path_mtu_follows_the_link_and_one_that_does_not_fit_is_named():
    with Wire(mtu=1500) as wire:
        options = {"master": wire.addresses[0], "port": PORT, "spawn": wire.host_of}
        ends = run(2, "sums", {"sums": [[1000, "float32", 1]]}, **options)
        # 4000 bytes of payload each way, in packets of 1440 - 32 bytes
        assert ends[0]["stats"]["tx_data"] == 3 + 1  # and one for the barrier
        with Job(2, "sums", {"sums": [], "settings": {"mtu": 4096}}, **options) as job:
            for end in job.ends():
                assert end["error"] == "ConfigError"
                assert "has an MTU of 1500 bytes, mtu=4096 needs 4148" in end["message"]


@pytest.mark.root
def test_a_full_interface_queue_delays_packets_and_loses_none():
    """A shaper at the sender's interface holds a few packets only: the kernel refuses the rest, which are
    kept."""
    with Wire(mtu=4200) as wire:
        for end in wire.ends:
            with end.entered():
                subprocess.run([*SHAPE, "rate", "400mbit", "burst", "9000", "limit", "20000"], check=True)
        ends = run(
            2,
            "sums",
            {"sums": [[200_000, "float32", 2]]},
            master=wire.addresses[0],
            port=PORT,
            spawn=wire.host_of,
        )
    balanced(ends)
    assert sum(end["stats"]["tx_blocked"] for end in ends) > 0


def drop_privileges() -> list[str]:
    """Command words that run what follows as an ordinary user, or a skip that says why there is no such
    user."""
    if os.geteuid() != 0:
        return []  # an ordinary user runs the tests
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not here, and the tests run as root")
    words = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--bounding-set=-all",
        "--inh-caps=-all",
    ]
    probe = [*words, sys.executable, "-c", "import csaud._core, tests.hostlib.workers"]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    tried = subprocess.run(probe, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"an ordinary user cannot run the checkout: {tried.stderr.strip().splitlines()[-1:]}")
    return words


def test_an_ordinary_user_gets_udp_mode_by_itself():
    with Job(3, "sums", {"sums": SUMS}, prefix=drop_privileges()) as job:
        joined = [worker.wait_for("joined") for worker in job.workers]
        ends = job.ends()
    assert [event["mode"] for event in joined] == ["udp"] * 3
    assert [end["error"] for end in ends] == [None] * 3
    balanced(ends)


def test_an_ordinary_user_who_asks_for_raw_mode_is_told_what_is_missing():
    settings = {"mode": "raw", "store_timeout": 1}
    with Job(2, "sums", {"sums": [], "settings": settings}, prefix=drop_privileges()) as job:
        end = job.workers[0].wait_for("end")
    assert end["error"] == "ConfigError"
    assert "mode=raw needs CAP_NET_RAW" in end["message"] and "mode=udp does without" in end["message"]


@pytest.mark.root
def test_trains_of_packets_between_two_hosts():
    """The kernel cuts and merges them; packets, paths and checks are the same as one by one."""
    settings = {"mode": "udp", "segmentation": "on"}
    with Wire(mtu=4200) as wire:
        options = {"master": wire.addresses[0], "port": PORT, "spawn": wire.host_of}
        ends = run(2, "sums", {"sums": SUMS, "settings": settings}, **options)
        balanced(ends)
        for end in ends:
            assert end["stats"]["rx_bad_icrc"] == end["stats"]["rx_bad_length"] == 0
            assert all(packets > 0 for packets in end["stats"]["tx_path"])
        # A raw socket would get a train as it is.
        with Job(
            2, "sums", {"sums": [], "settings": {"segmentation": "on", "mode": "raw"}}, **options
        ) as job:
            for end in job.ends():
                assert end["error"] == "ConfigError"
                assert "segmentation=on needs mode=udp at every rank; rank 0 uses raw" in end["message"]
