"""Who is primary: a controller whose intent may be older than another's does not take switches from it.

Election ids grow: each start of a controller has one above the last of its run directory. A switch remembers
the highest that it has seen. finsy's own arbitration bids that one as soon as nobody is primary, which a
controller that comes back after another has taken over would, too.
"""

from __future__ import annotations

from typing import Any

import finsy as fy
from finsy.p4arbitrator import Arbitrator

TAKEN_OVER = 1 << 30
"""Election ids from here on are those of controllers that were told to take over: seconds since the epoch."""


class OutbidError(RuntimeError):
    """The switch has seen a higher election id."""


class Arbitration(Arbitrator):
    """Bids more than its own election id only where it was primary before, and nobody took over since."""

    was_primary = False

    async def _send(self, switch: fy.Switch) -> None:
        own = self.initial_election_id
        if self.election_id > own and (self.election_id >= TAKEN_OVER or not self.was_primary):
            raise OutbidError(
                f"another controller had election id {self.election_id}, above this one's {own}: what was"
                " asked of it may be newer; `csaud controller run --take-over` takes the switch"
            )
        await super()._send(switch)


def use(switch: fy.Switch, was_primary: bool) -> Arbitration:
    """Have a switch that is not open yet arbitrate like this; finsy (0.30) has no option for it."""
    untyped: Any = switch
    made = Arbitration(switch.options.initial_election_id)
    made.was_primary = was_primary
    untyped._arbitrator = made
    return made
