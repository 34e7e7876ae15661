"""One guest: started, spoken to over a serial line, and ended by the process id it was started with.

The program in the guest answers requests, one JSON object a line: `{"id", "do", "with"}` in, `{"id",
"result"}` or `{"id", "error"}` out; it first sends `{"id": 0, "result": {...}}` when it is ready. The line
does not depend on the network under test.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from csaud_runs.children import ends_with_this_process

from csaud_lab.guests.debs import Packages
from csaud_lab.guests.errors import GuestError, GuestTimeoutError
from csaud_lab.guests.initramfs import Boot
from csaud_lab.guests.taps import Nic

QEMU = "qemu-system-x86_64"


@dataclass(frozen=True)
class Settings:
    """What a guest is made of."""

    program: Path  # what runs in the guest, by its path on this machine
    results: Path  # the guest's /run/results: a folder here that it can write
    memory_mb: int = 512
    boot_timeout_s: float = 240.0
    call_timeout_s: float = 120.0


class Guest:
    """A guest; as a context manager it is booted, its program ready, for the length of the block."""

    def __init__(self, packages: Packages, boot: Boot, nics: Sequence[Nic], settings: Settings) -> None:
        self.settings = settings
        self.ready: dict[str, Any] = {}
        self._nics = nics
        self._packages = packages
        self._boot = boot
        self._console = settings.results / "console.log"
        self._buffer = b""
        self._calls = 0
        self._line: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Guest:
        self.start()
        try:
            self.ready = self._answer(0, self.settings.boot_timeout_s)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start qemu, without waiting for what it boots."""
        self._line, far_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with far_end:
            command = self._command(far_end.fileno())
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                # A sanitizer that this process runs under (tests/sanitize.py) has no business in qemu.
                env={name: value for name, value in os.environ.items() if name != "LD_PRELOAD"},
                preexec_fn=ends_with_this_process(),
                pass_fds=(far_end.fileno(), *(nic.tap for nic in self._nics)),
            )

    def call(self, do: str, *, wait_s: float | None = None, **arguments: Any) -> Any:
        """Have the guest's program do one thing; returns its result, raises GuestError with its message."""
        self.send(do, **arguments)
        return self.receive(wait_s)

    def send(self, do: str, **arguments: Any) -> None:
        """Ask for something without waiting for the answer; `receive` takes it."""
        if self._line is None:
            raise GuestError("the guest is not running")
        self._calls += 1
        request = {"id": self._calls, "do": do, "with": arguments}
        try:
            self._line.sendall(json.dumps(request).encode() + b"\n")
        except OSError as error:
            raise self._ended(f"cannot send {do!r}: {error.strerror}") from error

    def receive(self, wait_s: float | None = None) -> Any:
        """The answer to the last request."""
        return self._answer(self._calls, self.settings.call_timeout_s if wait_s is None else wait_s)

    def stop(self) -> None:
        """End the guest; what it wrote to its results folder stays."""
        if self._line is not None:
            self._line.close()
            self._line = None
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """qemu."""
        if self._process is None:
            raise GuestError("the guest is not running")
        return self._process

    def console(self) -> str:
        """What the guest's kernel and programs have written so far."""
        return self._console.read_text(errors="replace") if self._console.exists() else ""

    def _command(self, line: int) -> list[str]:
        settings = self.settings
        command = [QEMU, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-vga", "none"]
        # tcg: a nested machine may offer a kvm device that does not work.
        command += ["-accel", "tcg,thread=multi", "-smp", "1", "-m", str(settings.memory_mb)]
        # The default model is of 2006; numpy needs more.
        command += ["-cpu", "max"]
        command += ["-kernel", os.fspath(self._boot.image), "-initrd", os.fspath(self._boot.initramfs)]
        # An emulated timer on a busy machine fails the kernel's check of it, and that would be a panic.
        parameters = "console=ttyS0 loglevel=5 panic=-1 mitigations=off no_timer_check rdinit=/init"
        # Nothing else feeds the random numbers of a machine without devices.
        parameters += f" random.trust_cpu=on csaud.run={settings.program}"
        command += ["-append", parameters]
        command += ["-serial", f"file:{_escaped(self._console)}"]
        command += ["-chardev", f"socket,id=line,fd={line}", "-serial", "chardev:line"]
        command += _share("host", Path("/"), writable=False)
        command += _share("packages", self._packages.userland, writable=False)
        command += _share("results", settings.results, writable=True)
        for number, nic in enumerate(self._nics):
            command += ["-netdev", f"tap,id=wire{number},fd={nic.tap}"]
            device = f"virtio-net-pci,netdev=wire{number},romfile=,mac={nic.mac},host_mtu={nic.mtu}"
            command += ["-device", device]
        return command

    def _answer(self, number: int, timeout_s: float) -> Any:
        deadline = time.monotonic() + timeout_s
        while True:
            text = self._read_line(deadline)
            try:
                answer = json.loads(text)
            except ValueError as error:
                raise GuestError(f"the guest sent {text!r}, which is not JSON{self._tail()}") from error
            if answer["id"] != number:
                continue  # the late answer to a call that was given up
            if "error" in answer:
                raise GuestError(f"in the guest: {answer['error']}")
            return answer["result"]

    def _read_line(self, deadline: float) -> bytes:
        assert self._line is not None
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._line], [], [], left)[0]:
                raise GuestTimeoutError(f"the guest did not answer in time{self._tail()}")
            try:
                received = self._line.recv(65536)
            except ConnectionResetError:
                received = b""
            if not received:
                raise self._ended("the guest ended")
            self._buffer += received
        text, _, self._buffer = self._buffer.partition(b"\n")
        return text

    def _ended(self, what: str) -> GuestError:
        output = ""
        if self._process is not None and self._process.stdout is not None:
            try:
                output = self._process.communicate(timeout=5)[0].decode(errors="replace")
            except subprocess.TimeoutExpired:
                output = ""
        return GuestError(f"{what}; {QEMU}: {output.strip() or 'no output'}{self._tail()}")

    def _tail(self) -> str:
        lines = self.console().splitlines()[-20:]
        return "\nits console:\n" + "\n".join(lines) if lines else "; its console is empty"


def _share(tag: str, folder: Path, *, writable: bool) -> list[str]:
    # remap: the folder may reach over several file systems whose inode numbers clash.
    access = "" if writable else ",readonly=on"
    options = f"local,id={tag},path={_escaped(folder)},security_model=none,multidevs=remap{access}"
    return ["-fsdev", options, "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]


def _escaped(path: Path) -> str:
    """A comma in an option of qemu is written twice."""
    return os.fspath(path.resolve()).replace(",", ",,")
