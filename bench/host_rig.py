"""Two network namespaces on one veth pair, and processes in them, each end on a processor of its own."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType

from csaud_runs.children import end_process

ADDRESSES = ("10.7.0.1", "10.7.0.2")
MTU = 4200
_FEATURES = ("rx", "tx", "sg", "tso", "gso", "gro")
_LIMIT_S = 60.0
_RANKS_LIMIT_S = 300.0
_GRACE_S = 5.0


class HostRigError(RuntimeError):
    """The namespaces cannot be made, or a program failed; the message has its words."""


class Pair:
    """A context manager. Needs root.

    Attributes:
        cores: processor of each end.
    """

    def __init__(self, cores: tuple[int, int], mtu: int = MTU) -> None:
        self.cores = cores
        self._mtu = str(mtu)
        self._names = tuple(f"csaud-bench{os.getpid()}-{end}" for end in (0, 1))

    def __enter__(self) -> Pair:
        try:
            for name in self._names:
                _run("ip", "netns", "add", name)
            _run("ip", "-n", self._names[0], "link", "add", "eth0", "mtu", self._mtu, "type", "veth",
                 "peer", "name", "eth0", "mtu", self._mtu, "netns", self._names[1])  # fmt: skip
            for name, address in zip(self._names, ADDRESSES, strict=True):
                _run("ip", "-n", name, "address", "add", f"{address}/24", "dev", "eth0")
                _run("ip", "-n", name, "link", "set", "lo", "up")
                _run("ip", "-n", name, "link", "set", "eth0", "up")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the namespaces."""
        for name in self._names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def offloads(self, on: bool) -> None:
        """Segmentation, checksums and scatter-gather at both ends, as a P4 switch would need them (off)."""
        for name in self._names:
            words = [word for feature in _FEATURES for word in (feature, "on" if on else "off")]
            _run("ip", "netns", "exec", name, "ethtool", "-K", "eth0", *words)

    def lose(self, probability: float) -> None:
        """Drop each frame that arrives, at either end, with this probability (a classic BPF program)."""
        for name in self._names:
            inside = ["ip", "netns", "exec", name, "tc"]
            subprocess.run(
                [*inside, "qdisc", "del", "dev", "eth0", "clsact"], capture_output=True, check=False
            )
            if probability == 0:
                continue
            _run(*inside, "qdisc", "add", "dev", "eth0", "clsact")
            _run(*inside, "filter", "add", "dev", "eth0", "ingress", "bpf", "da", "bytecode",
                 _lossy(probability))  # fmt: skip

    def command(self, end: int, argv: Sequence[str]) -> list[str]:
        """`argv` at an end: in its namespace, on its processor, before everything else on the machine."""
        prompt = ["chrt", "--rr", "1"] if os.geteuid() == 0 else []
        return [
            "ip",
            "netns",
            "exec",
            self._names[end],
            "taskset",
            "-c",
            str(self.cores[end]),
            *prompt,
            *argv,
        ]

    def start(
        self,
        end: int,
        argv: Sequence[str],
        environ: Mapping[str, str] | None = None,
        errors: int = subprocess.STDOUT,
    ) -> subprocess.Popen[str]:
        """A process at one end; the caller ends it. `errors`: where its second output goes."""
        return subprocess.Popen(
            self.command(end, argv), text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=errors, env={**os.environ, **(environ or {})},
        )  # fmt: skip

    def run(self, end: int, argv: Sequence[str], environ: Mapping[str, str] | None = None) -> str:
        """A process at one end, to its end; what it printed."""
        try:
            done = subprocess.run(
                self.command(end, argv), capture_output=True, text=True, check=False, timeout=_LIMIT_S,
                env={**os.environ, **(environ or {})},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise HostRigError(f"{' '.join(argv[:5])}: not done within {_LIMIT_S:g} s") from None
        if done.returncode != 0:
            raise HostRigError(f"{' '.join(argv[:3])}: {(done.stderr or done.stdout).strip()[-500:]}")
        return done.stdout


def end(process: subprocess.Popen[str]) -> None:
    """End a process that may have ended by itself."""
    end_process(process, _GRACE_S)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def first_output(name: str, processes: Iterable[subprocess.Popen[str]]) -> str:
    """What the first of a job's processes printed; all have ended.

    Args:
        processes: whose two outputs are pipes; those started so far end, too, where one cannot be started.

    Raises:
        HostRigError: one failed, or took too long; it names `name`.
    """
    ranks: list[subprocess.Popen[str]] = []
    try:
        ranks.extend(processes)
        deadline = time.monotonic() + _RANKS_LIMIT_S
        told = [process.communicate(timeout=max(1.0, deadline - time.monotonic())) for process in ranks]
    except subprocess.TimeoutExpired:
        raise HostRigError(f"{name}: not done within {_RANKS_LIMIT_S:g} s") from None
    finally:
        for process in ranks:
            end(process)
    for process, (_, errors) in zip(ranks, told, strict=True):
        if process.returncode != 0:
            raise HostRigError(f"{name}: {errors.strip()[-300:]}")
    return told[0][0]


def _lossy(probability: float) -> str:
    """A random number against the probability: dropped (TC_ACT_SHOT, 2) below it, passed (0) otherwise.

    Each instruction is "code if-true if-false k" (linux/filter.h): load the random word, compare, return.
    """
    load_random = "32 0 0 4294963256"  # BPF_LD|BPF_W|BPF_ABS at SKF_AD_OFF + SKF_AD_RANDOM
    above = f"37 1 0 {min(round(probability * 2**32), 2**32 - 1)}"  # BPF_JMP|BPF_JGT
    return f"4,{load_random},{above},6 0 0 2,6 0 0 0"


def _run(*argv: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HostRigError(f"{' '.join(argv[:6])}: {done.stderr.strip()}")
