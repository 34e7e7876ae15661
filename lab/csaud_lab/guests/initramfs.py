"""The first root of the guest: busybox, the kernel modules, and the script that mounts the real root.

Written in the kernel's own "newc" cpio format (Documentation/driver-api/early-userspace/buffer-format.rst).
"""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from csaud_lab.guests import debs, kernel

# crc32_generic is what rdma_rxe asks the crypto layer for by name, so nothing else depends on it.
MODULES = (
    "virtio_pci",
    "virtio_net",
    "9p",
    "9pnet_virtio",
    "overlay",
    "crc32_generic",
    "rdma_rxe",
    "ib_uverbs",
    "rdma_ucm",
    "veth",
    "sch_netem",
)

INIT = Path(__file__).with_name("init.sh")


@dataclass(frozen=True)
class Boot:
    """What qemu boots: both files lie in the cache beside the packages they come from."""

    image: Path
    initramfs: Path


def build(packages: debs.Packages, modules: Sequence[str] = MODULES) -> Boot:
    """Write the boot files for `packages`, where they are not yet what these modules make of them."""
    boot = Boot(packages.folder / "vmlinux", packages.folder / "initramfs.cpio")
    with debs.locked(packages.folder / "lock"):
        if not boot.image.exists():
            shipped = packages.image.read_bytes()
            _replace(boot.image, kernel.uncompressed(shipped) or shipped)
        _replace(boot.initramfs, _archive(packages, modules))
    return boot


def _archive(packages: debs.Packages, modules: Sequence[str]) -> bytes:
    files = kernel.load_order(packages.modules, modules)
    archive = CpioWriter()
    for folder in (
        "bin",
        "dev",
        "lower",
        "lower/host",
        "lower/packages",
        "modules",
        "proc",
        "root",
        "sys",
        "upper",
    ):
        archive.folder(folder)
    archive.device("dev/console", 5, 1)
    archive.file("bin/busybox", packages.busybox.read_bytes(), 0o755)
    archive.file("init", INIT.read_bytes(), 0o755)
    archive.file("modules/order", "".join(f"{file.name}\n" for file in files).encode())
    for file in files:
        archive.file(f"modules/{file.name}", file.read_bytes())
    return archive.finish()


def _replace(path: Path, content: bytes) -> None:
    if path.exists() and path.read_bytes() == content:
        return
    partial = path.with_suffix(".partial")
    partial.write_bytes(content)
    partial.rename(path)


class CpioWriter:
    """A newc archive in memory."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._inode = 0

    def folder(self, name: str) -> None:
        self._entry(name, stat.S_IFDIR | 0o755, b"")

    def file(self, name: str, content: bytes, permissions: int = 0o644) -> None:
        self._entry(name, stat.S_IFREG | permissions, content)

    def device(self, name: str, major: int, minor: int) -> None:
        """A character device."""
        self._entry(name, stat.S_IFCHR | 0o600, b"", major, minor)

    def finish(self) -> bytes:
        self._entry("TRAILER!!!", 0, b"")
        return bytes(self._data)

    def _entry(self, name: str, mode: int, content: bytes, major: int = 0, minor: int = 0) -> None:
        self._inode += 1
        links = 2 if stat.S_ISDIR(mode) else 1
        fields = (self._inode, mode, 0, 0, links, 0, len(content), 0, 0, major, minor, len(name) + 1, 0)
        self._data += b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
        self._pad()
        self._data += content
        self._pad()

    def _pad(self) -> None:
        self._data += bytes(-len(self._data) % 4)
