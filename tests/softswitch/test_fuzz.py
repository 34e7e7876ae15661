"""libFuzzer on the embedded switch: its loader and packet path, with two sanitizers (address, undefined).

Short runs from a given seed, without a corpus; `make fuzz` runs as long as is asked for, and keeps one.
"""

import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "softswitch" / "native" / "fuzz"
BUILD = Path(__file__).parents[2] / "build" / "fuzz-switch"
SEED = 1

pytestmark = pytest.mark.fuzz


@pytest.fixture(scope="module")
def built() -> Path:
    for command in (
        ["cmake", "-S", SOURCE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_CXX_COMPILER=clang++"],
        ["ninja", "-C", BUILD],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return BUILD


@pytest.mark.parametrize(("fuzzer", "runs"), [("fuzz_packets", 10_000), ("fuzz_program", 400)])
def test_no_input_breaks_it(built: Path, tmp_path: Path, fuzzer: str, runs: int) -> None:
    print("seed", SEED)
    command = [built / fuzzer, f"-seed={SEED}", f"-runs={runs}", "-max_len=1500", "-len_control=0"]
    done = subprocess.run([*command, "-print_final_stats=1"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    assert f"stat::number_of_executed_units: {runs}" in done.stderr
