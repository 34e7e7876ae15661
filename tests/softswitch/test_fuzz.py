"""libFuzzer on the embedded switch: its loader and packet path, with two sanitizers (address, undefined).

Short runs from a given seed, without a corpus; `make fuzz` runs as long as is asked for, and keeps one.
"""

from pathlib import Path

import pytest

from tests.support import fuzzers

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.fuzz,
    pytest.mark.thorough,
    pytest.mark.xdist_group("fuzzers of switches"),
    pytest.mark.timeout(1800),  # they are compiled first
]


@pytest.fixture(scope="module")
def built() -> Path:
    return fuzzers.build(ROOT / "softswitch" / "native" / "fuzz", ROOT / "build" / "fuzz-switch")


@pytest.mark.parametrize(("fuzzer", "runs"), [("fuzz_packets", 750), ("fuzz_program", 400)])
def test_no_input_breaks_it(built: Path, tmp_path: Path, fuzzer: str, runs: int) -> None:
    fuzzers.run(built / fuzzer, runs, "-max_len=1500", "-len_control=0", cwd=tmp_path)
