"""The host's core as a library: linked by a program of somebody else, who owns the clock and the network."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import cmake

HERE = Path(__file__).parent


@pytest.mark.thorough
@pytest.mark.timeout(1200)  # it is compiled first
def test_a_program_links_the_installed_core(tmp_path: Path) -> None:
    user = cmake.linked(HERE.parents[1] / "hostlib/native", HERE / "host_user", tmp_path)
    assert {path.name for path in (tmp_path / "prefix/include").iterdir()} == {"csaud_host"}
    assert cmake.run(user) == "10000 bytes, whole, DATA 3\n"
