"""How many packets have come in at ports, read within a session."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import finsy as fy

from csaud_controller.program.packets import KINDS

_COUNTER = "ingress_kind"
"""Indexed port * 4 + kind."""


async def packets_in(switch: fy.Switch, ports: Sequence[int]) -> dict[int, int]:
    """Packets of any kind by port, since the program was loaded; link probes are not among them."""
    if not ports:
        return {}
    width = len(KINDS)
    cells = [
        fy.P4CounterEntry(_COUNTER, index=port * width + kind) for port in ports for kind in range(width)
    ]
    # finsy declares read() as a coroutine, but it is an asynchronous generator
    found: Counter[int] = Counter()
    async for entry in cast(AsyncIterator[Any], switch.read(cells)):
        found[entry.index // width] += entry.packet_count
    return {port: found[port] for port in ports}
