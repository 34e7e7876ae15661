"""What a test needs of the machine, said once: a test that cannot run here says why instead of failing."""

import importlib.util
import os
import platform
import re
import shutil
import signal
import socket
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("any machine", deadline=None)  # a busy one fails no test by being slow
settings.load_profile("any machine")

_AF_XDP = 44  # linux/socket.h


def _has_xdp() -> bool:
    """Programs at TCX came with Linux 6.6; AF_XDP is a choice of who builds a kernel."""
    version = re.match(r"(\d+)\.(\d+)", platform.release())
    if version is None or tuple(map(int, version.groups())) < (6, 6) or os.geteuid() != 0:
        return False
    try:
        socket.socket(_AF_XDP, socket.SOCK_RAW).close()
    except OSError:
        return False
    return True


def _has_ns3() -> bool:
    """CSAUD_NS3 that is wrong is for the test to tell."""
    return "CSAUD_NS3" in os.environ or importlib.util.find_spec("ns3") is not None


NEEDS = {
    "root": (lambda: os.geteuid() == 0, "needs root: it makes network namespaces or raw sockets"),
    "bmv2": (lambda: shutil.which("simple_switch_grpc") is not None, "simple_switch_grpc is not on PATH"),
    "p4c": (lambda: shutil.which("p4c-bm2-ss") is not None, "p4c-bm2-ss is not on PATH"),
    "fuzz": (
        lambda: shutil.which("clang++") is not None,
        "clang++, which libFuzzer comes with, is not on PATH",
    ),
    "qemu": (
        lambda: os.geteuid() == 0 and shutil.which("qemu-system-x86_64") is not None,
        "needs root and qemu-system-x86_64",
    ),
    "etcd": (lambda: shutil.which("etcd") is not None, "etcd is not on PATH"),
    "torch": (
        lambda: importlib.util.find_spec("torch") is not None,
        "PyTorch is not installed here (make torch installs it into build/venv)",
    ),
    "gpu": (lambda: any(Path("/dev").glob("nvidia[0-9]*")), "there is no GPU of NVIDIA's"),
    "xdp": (_has_xdp, "needs root and Linux 6.6 or newer with CONFIG_XDP_SOCKETS"),
    "browser": (
        lambda: shutil.which("chromium") is not None and importlib.util.find_spec("playwright") is not None,
        "there is no chromium, or no playwright (pip install 'csaud[browser]')",
    ),
    "ns3": (
        _has_ns3,
        "ns-3 is not installed (pip install --no-deps ns3), nor does CSAUD_NS3 say where it is",
    ),
}

if importlib.util.find_spec("csaud_testnet") is None:
    raise pytest.UsageError("csaud_testnet, the native module of the tests, is missing: `make dev` builds it")

# Without this gRPC starts threads in a forked child before that becomes another program; one of them crashed.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

# NumPy's BLAS starts a thread for each processor in every process, a third of what its import takes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A shell's background job ignores Ctrl-C, and so would every process that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# `make test` runs tests side by side, in several processes; those that share one of these share a process.
SHARED = {
    "rxe_guest": "the guest",
    "shell_venv": "the environment of p4runtime-shell",
    "wheel": "build/wheel",
    "bmv2": "simple_switch_grpc",  # processes of it with the same device id share a socket
}
"""Fixture or marker -> what its tests share."""


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for marker, (is_met, reason) in NEEDS.items():
            if item.get_closest_marker(marker) and not is_met():
                item.add_marker(pytest.mark.skip(reason=reason))
        for name, group in SHARED.items():
            is_made = name in getattr(item, "fixturenames", ())
            if is_made or item.get_closest_marker(name):
                item.add_marker(pytest.mark.xdist_group(group))
            if is_made and not item.get_closest_marker("timeout"):
                # what the first test makes for all takes minutes, of which no test has a part
                item.add_marker(pytest.mark.timeout(func_only=True))
    if "PYTEST_XDIST_WORKER" in os.environ:  # what only one process can run starts first
        items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)
