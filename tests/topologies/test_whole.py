"""Files that are there whole or as they were."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from csaud_runs.whole import write_whole


@pytest.mark.parametrize("synced", [False, True])
def test_a_file_is_replaced_in_one_step(tmp_path: Path, synced: bool) -> None:
    path = tmp_path / "kept.json"
    path.write_text("old")
    with path.open() as reader:
        write_whole(path, "new\n", synced=synced)
        assert reader.read() == "old", "who has it open reads what it was"
    assert path.read_text() == "new\n"
    assert [*tmp_path.iterdir()] == [path]


def test_what_cannot_be_written_leaves_the_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "half of it \udc80")
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, "text")
    assert path.read_text() == "old"
    assert [*tmp_path.iterdir()] == [path]


def test_who_may_read_it_is_said_before_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    write_whole(path, "token", mode=0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = os.umask(0o027)
    try:
        write_whole(path, "token")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_in_the_place_of_the_draft_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("not mine")
    thread = threading.get_native_id()
    (tmp_path / f".kept.{os.getpid()}.{thread}").symlink_to(other)
    with pytest.raises(OSError, match="ymbolic link"):
        write_whole(tmp_path / "kept", "text")
    assert other.read_text() == "not mine"
