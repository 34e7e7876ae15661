"""`python -m tools.layers` names what is included against its table, and what is wrong in the table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = """
[native]
roots = ["."]
[native.folders]
"lib/low" = []
"lib/high" = ["lib/low"]
tool = ["lib"]
"""


def checked(*options: str | Path) -> tuple[int, str]:
    command = [sys.executable, "-m", "tools.layers", *map(str, options)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == ""
    return done.returncode, done.stderr


class Sources:
    def __init__(self, top: Path) -> None:
        self.top = top
        for name in ("lib/low/low.hpp", "lib/high/high.hpp", "tool/tool.hpp"):
            self.write(name, "#pragma once\n")

    def write(self, name: str, *lines: str) -> None:
        path = self.top / "native" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines))

    def check(self, table: str = TABLE) -> tuple[int, str]:
        given = self.top / "table.toml"
        given.write_text(table)
        return checked("--table", given, "--top", self.top)


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    return Sources(tmp_path)


def test_the_native_code_includes_what_the_table_allows() -> None:
    assert checked() == (0, "")


def test_what_the_table_allows(sources: Sources) -> None:
    sources.write("lib/high/a.cpp", '#include "lib/low/low.hpp"', '#include "high.hpp"', "#include <vector>")
    sources.write("tool/deeper/b.cpp", '#include "lib/high/high.hpp"', '#include "tool/tool.hpp"')
    assert sources.check() == (0, "")


@pytest.mark.parametrize(
    "include", ['"lib/high/high.hpp"', '"../high/high.hpp"', "<lib/high/high.hpp>", '  "lib/high/high.hpp"']
)
def test_what_it_does_not_is_named(sources: Sources, include: str) -> None:
    sources.write("lib/low/a.cpp", "// first", f"#include {include}")
    status, said = sources.check()
    assert status == 1
    assert said.startswith("native/lib/low/a.cpp:2: lib/low may not include lib/high (")
    assert said.count("\n") == 1


def test_an_include_that_is_nowhere_is_named(sources: Sources) -> None:
    """Else a wrong root would let everything pass."""
    sources.write("tool/a.cpp", '#include "gone.hpp"')
    assert sources.check() == (1, "native/tool/a.cpp:1: gone.hpp is in none of the roots\n")


def test_a_folder_that_nobody_thought_of_is_named(sources: Sources) -> None:
    sources.write("lib/new/a.cpp")
    assert sources.check() == (1, "native/lib/new/a.cpp: its folder is not in the table\n")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('"lib/low" = []', '"lib/low" = ["tool"]'), "native: these may include each other: "),
        (('"lib/low" = []', '"lib/low" = []\ngone = []'), "native: there is no folder gone"),
        (('["lib"]', '["lip"]'), "native: tool may include lip, which is not in the table"),
        (('roots = ["."]', ""), "native: no roots"),
        (("[native]", "[native"), "Expected"),
    ],
)
def test_a_table_that_is_wrong_is_refused(sources: Sources, change: tuple[str, str], says: str) -> None:
    status, said = sources.check(TABLE.replace(*change))
    assert status == 2
    assert said.startswith(f"{sources.top / 'table.toml'}: {says}")
