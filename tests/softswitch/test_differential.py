"""Random programming and random packets through the embedded switch and simple_switch_grpc, byte for byte.

docs/evidence/differential.json has many more, as recorded by tests.evidence.differential.
"""

from __future__ import annotations

import random

import pytest
from csaud_softswitch.exchange.names import Names
from csaud_softswitch.exchange.soft import SoftTarget
from csaud_softswitch.p4runtime.errors import Code
from csaud_softswitch.p4runtime.proto import p4r

from tests.evidence import differential
from tests.softswitch.inputs import PORTS
from tests.softswitch.p4runtime_support import CONFIG, INDEX
from tests.softswitch.random_programming import MODES, SIGNALS, packet, programming


@pytest.mark.bmv2
@pytest.mark.root
def test_random_entries_and_packets() -> None:
    tally = differential.run(range(100, 102), packets=400)
    assert tally.differences == []
    assert tally.packets == 800
    assert tally.frames_out > 100


@pytest.mark.bmv2
@pytest.mark.root
def test_another_program_is_noticed() -> None:
    """The embedded switch gets one number of the program wrong: the UDP port of trimmed packets."""
    config = p4r.ForwardingPipelineConfig()
    config.CopyFrom(CONFIG)
    assert b"0xc27f" in config.p4_device_config
    config.p4_device_config = config.p4_device_config.replace(b"0xc27f", b"0xc280")
    tally = differential.run(range(105, 106), packets=200, config=config)
    assert any("only soft" in difference for difference in tally.differences)


def test_what_is_drawn_is_accepted_and_reaches_every_action() -> None:
    """A comparison in which most entries are refused, or most packets dropped, would say little."""
    names, used, sent, left = Names(INDEX), set(), 0, 0
    refused: list[Code] = []
    for seed in range(12):
        chance = random.Random(seed)
        soft = SoftTarget(CONFIG, PORTS)
        updates = programming(chance)
        used |= {update["insert"].get("action") for update in updates}
        refused += [code for code in soft.write([names.update(u) for u in updates]) if code != Code.OK]
        for _ in range(100):
            soft.send(chance.choice(PORTS), packet(chance))
            sent += 1
        left += len(soft.departures())
    wanted = {f"spray.{mode}" for mode in MODES} | {f"loss_signal.{action}" for action in SIGNALS}
    assert {f"CsaudIngress.{action}" for action in wanted} <= used
    assert set(refused) <= {Code.ALREADY_EXISTS}
    assert left > 0.4 * sent
