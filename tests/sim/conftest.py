"""The experiment that tests of sweeps run: two settings, three seeds."""

from pathlib import Path

import pytest

TEXT = """\
name: two-sprays
fabric: leaf-spine-2x2
link_rate: 100Gbit
link_delay: 500ns
pipeline: 400ns
traffic: {sizes: AliStorage2019, load: 0.6, flows: 60}
sweep:
  seeds: 3
  settings: {ecmp: {policy.spray: ecmp}, random: {policy.spray: random}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "two-sprays.yaml"
    path.write_text(TEXT)
    return path
