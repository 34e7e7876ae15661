"""The switch's core as a library: linked by a program of somebody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.softswitch import programs
from tests.support import cmake

HERE = Path(__file__).parent


@pytest.mark.thorough
@pytest.mark.timeout(1200)  # it is compiled first
def test_a_program_links_the_installed_core(tmp_path: Path) -> None:
    user = cmake.linked(HERE.parents[1] / "softswitch/native", HERE / "switch_user", tmp_path)
    assert {path.name for path in (tmp_path / "prefix/include").iterdir()} == {"csaud_switch"}
    assert cmake.run(user, programs.FOLDER / "truncates.json") == "s1 2 1012 64\ns2 2 1012 64\n"
