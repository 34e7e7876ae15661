"""Jobs whose ranks share memory: which of them do, and what becomes of a job that cannot, or loses a rank."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.hostlib.jobs import Job
from tests.hostlib.test_device_jobs import balanced
from tests.hostlib.wire import Wire
from tests.support.netns import NetworkNamespace

SUMS = [[1, "float32", 3], [1023, "float64", 2], [262_144, "float32", 2]]
ADDRESS, PORT = "127.0.0.1", 29500  # the namespaces are a test's own


def told(job: Job, name: str) -> list:
    return [worker.wait_for("joined")[name] for worker in job.workers]


def of_all(ends: list, counter: str) -> int:
    return sum(end["stats"][counter] for end in ends)


def datagrams_sent() -> int:
    """By UDP sockets of this network namespace."""
    lines = Path("/proc/thread-self/net/snmp").read_text().splitlines()
    names, values = (line.split() for line in lines if line.startswith("Udp:"))
    return int(dict(zip(names, values, strict=True))["OutDatagrams"])


@contextmanager
def lo_up(host: NetworkNamespace) -> Iterator[None]:
    """In a namespace, with its loopback interface."""
    host.ip("link set lo up")
    with host.entered():
        yield


@pytest.mark.root
def test_ranks_of_one_host_send_hardly_anything_through_its_interfaces():
    """What goes before the rings are taken: the first packets."""
    with NetworkNamespace() as host:
        with Job(3, "sums", {"sums": SUMS}, master=ADDRESS, port=PORT, spawn=lambda _: lo_up(host)) as job:
            ends = job.ends()
            balanced(ends)
            assert told(job, "local_ranks") == [[1, 2], [0, 2], [0, 1]]
        with host.entered():
            packets = sum(end["stats"]["tx_data"] + end["stats"]["tx_control"] for end in ends)
            assert datagrams_sent() < packets / 20


@pytest.mark.root
def test_a_forked_process_that_ends_takes_no_memory_with_it():
    """The rings are its parent's, who goes on."""
    with NetworkNamespace() as host:
        arguments = {"sums": SUMS}
        with Job(
            2, "after_a_child", arguments, master=ADDRESS, port=PORT, spawn=lambda _: lo_up(host)
        ) as job:
            ends = job.ends()
            balanced(ends)
        with host.entered():
            packets = sum(end["stats"]["tx_data"] + end["stats"]["tx_control"] for end in ends)
            assert datagrams_sent() < packets / 20


@pytest.mark.root
def test_hosts_share_no_memory_with_each_other_though_one_kernel_has_them():
    with Wire(mtu=4200) as wire:
        options = {"master": wire.addresses[0], "port": PORT, "spawn": wire.host_of}
        with Job(4, "sums", {"sums": SUMS}, **options) as job:
            balanced(ends := job.ends())
            assert told(job, "local_ranks") == [[2], [3], [0], [1]]
            for kind in ("data", "control"):  # to one of three others
                assert of_all(ends, f"tx_inside_{kind}") == of_all(ends, f"rx_inside_{kind}")
                assert 0 < of_all(ends, f"tx_inside_{kind}") < of_all(ends, f"tx_{kind}")


@pytest.mark.parametrize(
    ("settings", "shared"),
    [
        ({"mode": "udp"}, False),
        ({"mode": "udp", "shared_memory": "on"}, True),
        ({"shared_memory": "off"}, False),
    ],
)
def test_what_is_asked_for_is_done(settings, shared):
    with Job(2, "sums", {"sums": SUMS[:1], "settings": settings}) as job:
        assert [end["error"] for end in job.ends()] == [None] * 2
        assert [bool(ranks) for ranks in told(job, "local_ranks")] == [shared] * 2


def test_one_rank_may_do_without():
    arguments = {"sums": SUMS, "settings_of": {"1": {"shared_memory": "off"}}}
    with Job(3, "sums", arguments) as job:
        balanced(job.ends())
        assert told(job, "local_ranks") == [[2], [], [0]]


def test_where_there_is_no_memory_packets_go_through_sockets():
    """The kernel gives these processes no file, in memory or elsewhere, that is as long as a ring."""
    with Job(2, "sums", {"sums": SUMS}, prefix=["prlimit", "--fsize=65536"]) as job:
        balanced(job.ends())
        assert told(job, "local_ranks") == [[1], [0]]


@pytest.mark.root
@pytest.mark.parametrize("address", [ADDRESS, "::1"])
def test_a_killed_rank_is_named_and_the_others_go_on(address):
    arguments = {"count": 10_000, "failures": 1, "settings": {"dead_after": 1.0}}
    with (
        NetworkNamespace() as host,
        Job(4, "reformed", arguments, master=address, port=PORT, spawn=lambda _: lo_up(host)) as job,
    ):
        job.wait_for("running")
        assert told(job, "local_ranks")[0] == [1, 2, 3]
        job.workers[1].kill()
        ends = job.ends([0, 2, 3])
        assert [(end["error"], end["members"]) for end in ends] == [
            (None, [[place, 3]]) for place in range(3)
        ]
