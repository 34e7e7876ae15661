"""The cores of the transports for trimming fabrics: windows, path policies, pulls, each by itself."""

import subprocess
from pathlib import Path

import pytest

from tests.support.compiled import compiled

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NATIVE = ROOT / "sim" / "native"
CORES = ("dcp_sender", "ndp_sender", "nscc", "packet_ledger", "path_policy", "uec_receiver", "uec_sender")


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = [NATIVE / "csaud_sim" / "baselines" / f"{core}.cpp" for core in CORES]
    includes = [NATIVE, ROOT / "hostlib" / "native"]
    return compiled(tmp_path_factory, "trimming-probe", [*sources, HERE / "trimming_probe.cpp"], includes)


@pytest.mark.parametrize(
    "core", ["oblivious", "bitmap", "reps", "mixed", "nscc", "uec", "ndp", "dcp", "pacer"]
)
@pytest.mark.parametrize("seed", range(4))
def test_core(probe: Path, core: str, seed: int) -> None:
    done = subprocess.run([probe, core, str(seed)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "OK", "")
