"""What a user gives to make goes to the command as it was given, as one word."""

import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def words(target: str, **variables: str) -> list[str]:
    """Of the last command that make would run for this."""
    done = subprocess.run(
        ["make", "--dry-run", "--no-print-directory",
         *(word for made in ("build/.installed", "build/.developed", "lab-wheels") for word in ("-o", made)),
         target, *(f"{name}={value}" for name, value in variables.items())],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return shlex.split(done.stdout.strip().splitlines()[-1])


@pytest.mark.parametrize("value", ["a b", "it's", '$HOME "x"', "a;b"])
@pytest.mark.parametrize(
    ("target", "variable", "option"),
    [
        ("mininet", "OUT", "--out"),
        ("mininet", "TOPO", "--topo"),
        ("mininet", "SCENARIO", "--scenario"),
        ("mininet", "TARGET", "--target"),
        ("mininet", "SPRAY", "--spray"),
        ("mininet", "SIGNAL", "--signal"),
        ("mininet", "LOSS", "--loss"),
        ("mininet", "SEED", "--seed"),
        ("lab-rehearsal", "TOPO", "--topo"),
        ("lab-rehearsal", "TARGET", "--target"),
        ("lab-rehearsal", "DEVICE", "--device"),
        ("mutants", "SAMPLE", "--sample"),
        ("mutants", "SEED", "--seed"),
        ("reproduce", "JOBS", "--jobs"),
    ],
)
def test_a_value_is_one_word(target: str, variable: str, option: str, value: str) -> None:
    said = words(target, **{variable: value.replace("$", "$$")})
    assert said[said.index(option) + 1] == value


def test_without_a_value_nothing_is_said() -> None:
    assert words("mininet")[1:] == ["net", "run", "--out", "build/mininet"]
