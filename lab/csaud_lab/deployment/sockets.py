"""The folder of Ansible's sockets and temporary files, which no deployment leaves behind."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from csaud_lab.site import Site

_PREFIX = "csaud-"


@contextmanager
def folder_of_sockets(site: Site) -> Iterator[str]:
    """A new one, whose path is as short as sockets need it. The lab's directory has a link to it, by which
    the next deployment removes that of one that was killed."""
    link = site.directory / "sockets"
    _remove(link)
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
        link.symlink_to(folder)
        try:
            yield folder
        finally:
            link.unlink(missing_ok=True)


def _remove(link: Path) -> None:
    if not link.is_symlink():
        return
    folder = link.readlink()
    if folder.is_dir() and folder.name.startswith(_PREFIX) and folder.stat().st_uid == os.geteuid():
        shutil.rmtree(folder, ignore_errors=True)
    link.unlink()
