"""Fixtures of the P4 program's tests: a leaf on the embedded switch, and on simple_switch_grpc if present."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from csaud_softswitch.bmv2.command import PROGRAM
from csaud_softswitch.p4runtime.proto import p4r
from csaud_softswitch.program_file import read_config

from tests.p4.rig.bmv2 import Bmv2Switch
from tests.p4.rig.leaf import Leaf
from tests.p4.rig.soft import SoftSwitch
from tests.p4.rig.switch import Switch

COMMITTED = Path(__file__).resolve().parents[2] / "p4src" / "artifacts" / "csaud.json"
ARTIFACT = Path(os.environ.get("CSAUD_P4_PROGRAM", COMMITTED))
"""Another build of the program can be tested before it is committed."""
BMV2 = pytest.param("bmv2", marks=[pytest.mark.bmv2, pytest.mark.root])


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(*abilities): of the target, see tests/p4/rig/switch.py")


@pytest.fixture(scope="session")
def config() -> p4r.ForwardingPipelineConfig:
    return read_config(ARTIFACT, ARTIFACT.with_suffix(".p4info.txtpb"))


@pytest.fixture(scope="session")
def bmv2(config: p4r.ForwardingPipelineConfig) -> Iterator[Bmv2Switch | None]:
    """One process for all tests, each of which loads the program anew."""
    if shutil.which(PROGRAM) is None or os.geteuid() != 0:
        yield None  # its tests are skipped
        return
    with contextlib.closing(Bmv2Switch(config)) as switch:
        yield switch


@pytest.fixture(params=["soft", BMV2])
def switch(request: pytest.FixtureRequest, config: p4r.ForwardingPipelineConfig) -> Switch:
    """The target of a test, which may need abilities: @pytest.mark.needs("rates")."""
    target = SoftSwitch(config) if request.param == "soft" else request.getfixturevalue("bmv2")
    assert target is not None
    for marker in request.node.iter_markers("needs"):
        if missing := set(marker.args) - target.abilities:
            pytest.skip(f"{request.param} has no {', '.join(sorted(missing))}")
    return target


@pytest.fixture
def leaf(switch: Switch) -> Leaf:
    """Four uplinks."""
    return Leaf(switch)


@pytest.fixture
def one(switch: Switch) -> Leaf:
    """A single uplink, port 1."""
    return Leaf(switch, uplinks=(1,))
