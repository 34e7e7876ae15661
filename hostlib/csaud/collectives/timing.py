"""What earlier runs of a collective took, step by step, and so when each message of the next one is expected.

The transport needs it for two things: how long to wait for a message's first packet before asking for it, and
which of several lost packets to send again first. Being wrong costs a control packet, never a result.
"""

from csaud._core import Expected, StepTimes

__all__ = ["UNKNOWN", "Expected", "StepTimes"]

UNKNOWN = Expected()
