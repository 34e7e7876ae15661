"""The guest's own machinery: what it makes, what it says when it fails, and that it leaves nothing behind."""

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest
from csaud_lab.guests import debs, initramfs, kernel
from csaud_lab.guests.errors import GuestError
from csaud_lab.guests.guest import Guest, Settings

from tests.support import rxe
from tests.support.guest_wires import TapNetwork

HERE = Path(__file__).parent


def module_file(folder: Path, name: str, needs: str) -> None:
    (folder / f"{name}.ko").write_bytes(b"\x7fELF\0license=GPL\0depends=" + needs.encode() + b"\0name=x\0")


def test_modules_come_after_what_they_depend_on(tmp_path: Path) -> None:
    (tmp_path / "modules.builtin").write_text("kernel/lib/zlib.ko\n")
    module_file(tmp_path, "top", "left-half,right,zlib")
    module_file(tmp_path, "left-half", "bottom")
    module_file(tmp_path, "right", "bottom")
    module_file(tmp_path, "bottom", "")
    order = [kernel.module_name(path) for path in kernel.load_order(tmp_path, ["top", "right"])]
    assert order == ["bottom", "left_half", "right", "top"]


def test_unknown_module_is_named(tmp_path: Path) -> None:
    (tmp_path / "modules.builtin").write_text("")
    module_file(tmp_path, "top", "absent")
    with pytest.raises(GuestError, match="no module absent"):
        kernel.load_order(tmp_path, ["top"])


@pytest.mark.qemu
def test_archive_is_what_cpio_reads(tmp_path: Path) -> None:
    cpio = [os.fspath(debs.fetch(rxe.CACHE).busybox), "cpio", "-i"]
    archive = initramfs.CpioWriter()
    archive.folder("bin")
    archive.file("bin/odd", b"12345", 0o755)
    archive.file("empty", b"")
    subprocess.run(cpio, input=archive.finish(), cwd=tmp_path, check=True)
    assert (tmp_path / "bin" / "odd").read_bytes() == b"12345"
    assert (tmp_path / "bin" / "odd").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "empty").read_bytes() == b""


def test_not_a_kernel_image_is_left_alone() -> None:
    assert kernel.uncompressed(bytes(4096)) is None


def test_half_made_cache_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process killed while it unpacked leaves a folder that the next one does not take for a whole one."""
    builds: list[str] = []

    def build(folder: Path, *_: object) -> None:
        builds.append(folder.name)
        (folder / "userland").mkdir()
        if len(builds) == 1:
            raise KeyboardInterrupt
        (folder / "versions.json").write_text("{}")

    monkeypatch.setattr(debs, "_build", build)
    with pytest.raises(KeyboardInterrupt):
        debs.fetch(tmp_path)
    assert debs.fetch(tmp_path).versions == {}
    assert debs.fetch(tmp_path).userland.is_dir()
    assert len(builds) == 2
    assert list(tmp_path.glob("*.partial")) == []


def test_package_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(GuestError, match="no-such-package-csaud"):
        debs._run([*debs.APT, "download", "no-such-package-csaud"], tmp_path)


@pytest.mark.root
def test_namespace_is_this_process_alone() -> None:
    before = Path("/proc/thread-self/ns/net").readlink()
    network = TapNetwork(rxe.HOST, rxe.GUEST)
    try:
        with network.entered():
            assert Path("/proc/thread-self/ns/net").readlink() != before
            addresses = subprocess.run(["ip", "-br", "address"], capture_output=True, text=True, check=True)
        assert f"{rxe.HOST.ipv4}/24" in addresses.stdout
        assert Path("/proc/thread-self/ns/net").readlink() == before
    finally:
        network.close()


@pytest.mark.thorough
@pytest.mark.qemu
@pytest.mark.root
def test_guest_that_cannot_run_its_program_says_so(tmp_path: Path) -> None:
    packages = debs.fetch(rxe.CACHE)
    network = TapNetwork(rxe.HOST, rxe.GUEST)
    settings = Settings(tmp_path / "absent.py", tmp_path)
    try:
        with (
            pytest.raises(GuestError, match=r"the guest ended(.|\n)*absent\.py"),
            Guest(packages, initramfs.build(packages), [network.nic], settings),
        ):
            pass
    finally:
        network.close()


@pytest.mark.qemu
@pytest.mark.root
def test_killed_process_takes_its_guest_along(tmp_path: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, os.fspath(HERE / "orphan.py"), os.fspath(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    with owner.stdout:
        guest = os.pidfd_open(int(owner.stdout.readline()))
        try:
            owner.kill()
            owner.wait()
            ended, _, _ = select.select([guest], [], [], 30)
        finally:
            os.close(guest)
    assert ended, "qemu outlived the process that started it"
