"""libFuzzer programs of the native cores: built with clang, run for a number of inputs from a seed."""

import subprocess
from pathlib import Path

SEED = 1


def build(source: Path, folder: Path) -> Path:
    """The fuzzers of a CMake project; the folder where they lie."""
    for command in (
        ["cmake", "-S", source, "-B", folder, "-G", "Ninja", "-DCMAKE_CXX_COMPILER=clang++"],
        ["ninja", "-C", folder],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return folder


def run(fuzzer: Path, runs: int, *options: str, cwd: Path) -> None:
    """AssertionError with the fuzzer's last words where an input breaks it, or not all were tried."""
    print("seed", SEED)
    command = [fuzzer, f"-seed={SEED}", f"-runs={runs}", *options, "-print_final_stats=1"]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    assert f"stat::number_of_executed_units: {runs}" in done.stderr
