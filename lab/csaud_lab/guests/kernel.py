"""The kernel as a virtual machine boots it fastest, and its modules in the order they are loaded."""

from __future__ import annotations

import lzma
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

from csaud_lab.guests.errors import GuestError

# Offsets in the x86 boot header, from the kernel's Documentation/arch/x86/boot.rst.
BOOT_MAGIC = (0x202, b"HdrS")
SETUP_SECTORS = 0x1F1
PAYLOAD_OFFSET = 0x248
PAYLOAD_LENGTH = 0x24C
SECTOR_BYTES = 512


def uncompressed(bzimage: bytes) -> bytes | None:
    """The ELF kernel inside a bzImage, or None where it is packed in a way that is not known here.

    An emulated processor spends seconds on unpacking the kernel; this one does it once, and qemu boots the
    ELF file by its PVH entry point.
    """
    at, magic = BOOT_MAGIC
    if bzimage[at : at + len(magic)] != magic:
        return None
    start = (bzimage[SETUP_SECTORS] + 1) * SECTOR_BYTES + struct.unpack_from("<I", bzimage, PAYLOAD_OFFSET)[0]
    payload = bzimage[start : start + struct.unpack_from("<I", bzimage, PAYLOAD_LENGTH)[0]]
    try:
        if payload.startswith(b"\xfd7zXZ\x00"):
            # The payload ends with the unpacked size, which is not part of the stream.
            image = lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(payload)
        elif payload.startswith(b"\x1f\x8b"):
            image = zlib.decompressobj(wbits=31).decompress(payload)
        else:
            return None
    except (lzma.LZMAError, zlib.error) as error:
        raise GuestError(f"the kernel image is damaged: {error}") from error
    return image if image.startswith(b"\x7fELF") else None


def load_order(modules: Path, wanted: Iterable[str]) -> list[Path]:
    """The module files for `wanted` and what they depend on, dependencies first.

    Dependencies are read from the modules themselves, because modules.dep is written only when a kernel
    package is installed. Raises GuestError for a name that is neither a file nor built in.
    """
    files = {module_name(path): path for path in modules.rglob("*.ko*")}
    built_in = {module_name(Path(line)) for line in (modules / "modules.builtin").read_text().split()}
    order: dict[str, Path] = {}

    def visit(name: str) -> None:
        if name in order or name in built_in:
            return
        if name not in files:
            raise GuestError(f"{modules.name} has no module {name}")
        for dependency in dependencies(files[name]):
            visit(dependency)
        order[name] = files[name]

    for name in wanted:
        visit(name)
    return list(order.values())


def module_name(path: Path) -> str:
    """The name that modules use for one another: the file `crc32-pclmul.ko` is `crc32_pclmul`."""
    return path.name.partition(".ko")[0].replace("-", "_")


def dependencies(module: Path) -> list[str]:
    """The names that `module` lists in its `depends=` note."""
    if module.suffix != ".ko":
        raise GuestError(f"{module.name} is compressed; only plain .ko modules can be read")
    for note in module.read_bytes().split(b"\0"):
        if note.startswith(b"depends=") and note != b"depends=":
            return [name.replace("-", "_") for name in note.removeprefix(b"depends=").decode().split(",")]
    return []
