"""libFuzzer on the host core's parsers, with the address and undefined-behaviour sanitizers.

Short runs from a given seed, without a corpus; `make fuzz` runs as long as is asked for, and keeps one.
"""

from pathlib import Path

import pytest

from tests.support import fuzzers

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.fuzz,
    pytest.mark.thorough,
    pytest.mark.xdist_group("fuzzers of hosts"),
    pytest.mark.timeout(1800),  # they are compiled first
]


@pytest.fixture(scope="module")
def built() -> Path:
    return fuzzers.build(ROOT / "hostlib" / "native" / "fuzz", ROOT / "build" / "fuzz")


@pytest.mark.parametrize(
    ("fuzzer", "runs", "longest"), [("fuzz_wire", 300_000, 4400), ("fuzz_endpoint", 4_000, 1024)]
)
def test_no_input_breaks_it(built: Path, tmp_path: Path, fuzzer: str, runs: int, longest: int) -> None:
    fuzzers.run(built / fuzzer, runs, f"-max_len={longest}", "-len_control=0", "-entropic=0", cwd=tmp_path)
