"""The wheels that hosts get: named by what is in them, so that the same ones are never installed twice."""

from __future__ import annotations

import hashlib
import os
import tarfile
from pathlib import Path

from csaud_lab.site import Site

_CHUNK = 1 << 20


def release_of(site: Site) -> str:
    """Twelve digits of what the wheels are, and of the Python and the place they are for; empty: none."""
    files = sorted(site.wheels.glob("*.whl"))
    digest = hashlib.sha256(f"{site.lab.python} {site.lab.prefix}".encode())
    for file in files:
        digest.update(file.name.encode())
        with file.open("rb") as content:
            while chunk := content.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()[:12] if files else ""


def archive_of(site: Site, release: str) -> Path:
    """Where `archive` puts them."""
    return site.directory / f"wheels-{release}.tar"


def archive(site: Site, release: str) -> Path:
    """All wheels in one file: one is copied sooner than thirty."""
    path = archive_of(site, release)
    if not path.exists():
        partial = path.with_suffix(f".{os.getpid()}")
        with tarfile.open(partial, "w") as made:
            for file in sorted(site.wheels.glob("*.whl")):
                made.add(file, file.name)
        partial.rename(path)
    for old in site.directory.glob("wheels-*"):
        if old != path:
            old.unlink()
    return path
