"""Debian packages unpacked into a cache folder, without installing them.

The cache holds one folder per recipe (package names and layout), made complete or not at all: it is built
beside its final name under a lock and renamed into place, so a process that is killed half-way leaves only a
folder that the next one removes. A cached recipe needs neither the network nor apt.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from csaud_runs.children import ends_with_this_process

from csaud_lab.guests.errors import GuestError

# Raised when the layout of the cache folder changes, so that folders of an older layout are not taken for it.
LAYOUT = 1

# The metapackage whose first dependency is the distribution's current kernel; its cloud flavour has no
# rdma_rxe.
KERNEL_METAPACKAGE = "linux-image-amd64"

USERLAND = (
    "busybox-static",
    "ibverbs-providers",
    "ibverbs-utils",
    "libibumad3",
    "libibverbs1",
    "libnl-3-200",
    "libnl-route-3-200",
    "libpci3",
    "librdmacm1",
    "perftest",
    "python3-pyverbs",
)

# Of the kernel package (350 MB unpacked) only the image and the drivers that a virtual machine can use.
KERNEL_PATTERNS = (
    "./boot/vmlinuz-*",
    "./lib/modules/*/modules.builtin",
    "./lib/modules/*/kernel/crypto/*",
    "./lib/modules/*/kernel/arch/x86/crypto/*",
    "./lib/modules/*/kernel/drivers/infiniband/core/*",
    "./lib/modules/*/kernel/drivers/infiniband/sw/*",
    "./lib/modules/*/kernel/drivers/net/*.ko*",
    "./lib/modules/*/kernel/drivers/virtio/*",
    "./lib/modules/*/kernel/fs/9p/*",
    "./lib/modules/*/kernel/fs/configfs/*",
    "./lib/modules/*/kernel/fs/fscache/*",
    "./lib/modules/*/kernel/fs/netfs/*",
    "./lib/modules/*/kernel/fs/overlayfs/*",
    "./lib/modules/*/kernel/lib/*",
    "./lib/modules/*/kernel/net/*",
)

# Folders that are links into /usr on a merged system; a package that still ships the old path would otherwise
# hide the link of the root below it.
MERGED_FOLDERS = ("bin", "lib", "lib64", "sbin")

APT = ("apt-get", "-q", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=3")


@dataclass(frozen=True)
class Packages:
    """One recipe, unpacked: `userland` is laid over a root, `kernel` holds the image and the modules."""

    folder: Path
    versions: dict[str, str]

    @property
    def userland(self) -> Path:
        return self.folder / "userland"

    @property
    def image(self) -> Path:
        """The kernel as Debian ships it (bzImage)."""
        return _only(self.folder / "kernel" / "boot", "vmlinuz-*")

    @property
    def modules(self) -> Path:
        """The folder of this kernel's modules, `lib/modules/<release>`."""
        return _only(self.folder / "kernel" / "lib" / "modules", "*")

    @property
    def busybox(self) -> Path:
        return self.userland / "usr" / "bin" / "busybox"


def fetch(cache: Path, userland: Sequence[str] = USERLAND, kernel: str = KERNEL_METAPACKAGE) -> Packages:
    """The packages of this recipe, from `cache` or, the first time, from the Debian mirror that apt is set up
    for.

    Raises GuestError when a package cannot be had.
    """
    recipe = json.dumps([LAYOUT, sorted(userland), kernel, KERNEL_PATTERNS])
    final = cache / hashlib.sha256(recipe.encode()).hexdigest()[:16]
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache / "lock"):
        if not final.is_dir():
            partial = final.with_suffix(".partial")
            for left_behind in cache.glob("*.partial"):
                shutil.rmtree(left_behind)
            partial.mkdir()
            _build(partial, userland, kernel)
            partial.rename(final)
    versions: dict[str, str] = json.loads((final / "versions.json").read_text())
    return Packages(final, versions)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path`; the kernel releases it however this process ends."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _build(folder: Path, userland: Sequence[str], kernel_metapackage: str) -> None:
    archives = folder / "archives"
    archives.mkdir()
    kernel = _download(archives, userland, kernel_metapackage)
    versions = {}
    for archive in sorted(archives.glob("*.deb")):
        package, version, *_ = archive.name.split("_")
        versions[package] = version.replace("%3a", ":")
        if package == kernel:
            _unpack(archive, folder / "kernel", KERNEL_PATTERNS)
        else:
            _unpack(archive, folder / "userland")
    _merge_usr(folder / "userland")
    shutil.rmtree(archives)
    (folder / "versions.json").write_text(json.dumps(versions, indent=1, sort_keys=True) + "\n")


def _download(archives: Path, userland: Sequence[str], kernel_metapackage: str) -> str:
    """Download every package into `archives`; returns the name of the kernel's package.

    The index on this machine can be missing, or older than the mirror, which then no longer has the files it
    names: either way the index is brought up to date once and the download tried again.
    """
    try:
        kernel = _kernel_package(kernel_metapackage)
        _run([*APT, "download", kernel, *userland], archives)
    except GuestError:
        _run([*APT, "update"], archives)
        kernel = _kernel_package(kernel_metapackage)
        _run([*APT, "download", kernel, *userland], archives)
    return kernel


def _kernel_package(metapackage: str) -> str:
    listing = _run(["apt-cache", "--no-recommends", "depends", metapackage], Path("/"))
    for line in listing.splitlines():
        relation, _, package = line.strip().partition(": ")
        if relation == "Depends" and package.startswith("linux-image-"):
            return package
    raise GuestError(f"{metapackage} names no linux-image package to depend on:\n{listing}")


def _unpack(archive: Path, target: Path, patterns: Sequence[str] = ()) -> None:
    """Unpack the files of `archive` that match one of `patterns` (all, where there are none)."""
    target.mkdir(parents=True, exist_ok=True)
    selection = ["--wildcards", *patterns] if patterns else []
    reader = subprocess.Popen(
        ["dpkg-deb", "--fsys-tarfile", os.fspath(archive)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert reader.stdout is not None
    assert reader.stderr is not None
    # GNU tar complains about a pattern that nothing matches: a kernel may have a driver built in.
    writer = subprocess.run(
        ["tar", "-x", "--no-same-owner", "-C", os.fspath(target), *selection],
        stdin=reader.stdout,
        capture_output=True,
        text=True,
        check=False,
    )
    reader.stdout.close()
    complaint = reader.stderr.read().decode(errors="replace")
    reader.stderr.close()
    unmatched = bool(patterns) and "Not found in archive" in writer.stderr
    if reader.wait() != 0 or (writer.returncode != 0 and not unmatched):
        raise GuestError(f"cannot unpack {archive.name}: {complaint}{writer.stderr}")


def _merge_usr(root: Path) -> None:
    for name in MERGED_FOLDERS:
        folder = root / name
        if folder.is_dir() and not folder.is_symlink():
            shutil.copytree(folder, root / "usr" / name, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(folder)


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        # A program whose caller was killed must not go on writing where the next caller builds.
        preexec_fn=ends_with_this_process(),
        env={**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
    )
    if done.returncode != 0:
        raise GuestError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise GuestError(f"expected one {pattern} in {folder}, found {[path.name for path in found]}")
    return found[0]
