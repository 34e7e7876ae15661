"""The base of all PTF tests: a P4Runtime controller, a dataplane, and a leaf switch of the two.

Parameters (--test-params "name=value;..."):
    grpcaddr   P4Runtime address of the switch, default '127.0.0.1:9559'
    device_id  default 1
    p4info     the P4Info in text form, default p4src/artifacts/csaud.p4info.txtpb
    config     the device configuration, what the target's compiler made; default p4src/artifacts/csaud.json
    quiet_s    how long to wait for frames that ought not to come, default 0.2
    link_s     by when the switch knows that a link went down or up, default 1.0
"""

from __future__ import annotations

import functools
from pathlib import Path

import ptf
from csaud_softswitch.program_file import read_config
from ptf import testutils
from ptf.base_tests import BaseTest
from ptf_switch import PtfSwitch

from tests.p4.rig.client import Client

ARTIFACTS = Path(__file__).resolve().parents[2] / "p4src" / "artifacts"


@functools.cache
def controller() -> Client:
    """One for all tests: a second one would have to outbid the first."""
    parameters = testutils.test_params_get()
    config = read_config(
        Path(parameters.get("config", ARTIFACTS / "csaud.json")),
        Path(parameters.get("p4info", ARTIFACTS / "csaud.p4info.txtpb")),
    )
    address = parameters.get("grpcaddr", "127.0.0.1:9559")
    return Client(address, int(parameters.get("device_id", 1)), config)


class CsaudTest(BaseTest):
    """`self.switch` has ports 1 to 5, which PTF knows by the same numbers."""

    def setUp(self) -> None:
        super().setUp()
        parameters = testutils.test_params_get()
        self.switch = PtfSwitch(
            controller(),
            ptf.dataplane_instance,
            quiet_s=float(parameters.get("quiet_s", 0.2)),
            link_s=float(parameters.get("link_s", 1.0)),
        )

    def tearDown(self) -> None:
        self.switch.bring_links_up()
        super().tearDown()
