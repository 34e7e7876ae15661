"""The signature of what a rank asked for, which goes into the names of the collective's messages.

Ranks that ask for different things under one number must not take each other's messages for their own: of
another operation or element type they have the right length and are wrong all the same. So the bits of step
and chunk that a schedule leaves free hold a signature: messages of unlike calls have unlike names and never
meet. What is left is a wait, of which csaud.groups.watchdog finds the cause.
"""

import zlib
from functools import lru_cache

from csaud.collectives.elements import DTYPES
from csaud.collectives.reductions import REDUCTIONS
from csaud.collectives.schedule import Schedule
from csaud.errors import ConfigError
from csaud.flight.record import Call

_FIELD = 16  # bits of step, and of chunk
_CODE = 10  # bits that tell collective, operation and element type apart, exactly
_CODES = 1 << _CODE


_REDUCING = (
    "all_reduce.ring", "all_reduce.halving_doubling", "all_reduce.hierarchical", "reduce.ring", "reduce.tree",
    "reduce_scatter", "reduce_scatter_v", "sparse_all_reduce", "sparse_reduce_scatter",
)  # fmt: skip
_MOVING = (
    "all_gather", "all_gather_v", "all_to_all", "all_to_all_v", "broadcast", "gather", "gather_v", "scatter",
    "scatter_v", "sparse_all_gather", "all_gather_mask", "transfer",
)  # fmt: skip
_KNOWN = [
    *((name, op, dtype) for name in _REDUCING for op, how in REDUCTIONS.items() for dtype in how.dtypes),
    *((name, "", dtype) for name in _MOVING for dtype in DTYPES),
    ("barrier", "", ""),
]
_CODE_OF = {known: code for code, known in enumerate(_KNOWN)}
assert len(_CODE_OF) < _CODES


@lru_cache(maxsize=1024)
def signature(call: Call) -> int:
    """26 bits: the lower 10 differ between any two of this library's collectives, operations and element
    types; the upper 16 are a hash of the other arguments. Algorithms that were registered have a hash for
    both."""
    code = _CODE_OF.get((call.name, call.op, call.dtype))
    if code is None:
        own = _CODES - len(_KNOWN)
        code = len(_KNOWN) + zlib.crc32(f"{call.name} {call.op} {call.dtype}".encode()) % own
    rest = zlib.crc32(f"{call.count} {call.root} {call.detail}".encode()) & ((1 << _FIELD) - 1)
    return rest << _CODE | code


def marks(call: Call, schedule: Schedule, longest: int) -> tuple[int, int]:
    """What is added to each message's step and chunk: the signature above the bits that they need.

    How many bits those are follows from what all ranks have in common; a rank's own schedule may be short.

    Args:
        longest: elements of a message, at most.

    Raises:
        ConfigError: steps or chunks are more than their fields hold.
    """
    full = (1 << _FIELD) - 1
    if schedule.steps - 1 > full or schedule.chunks - 1 > full:
        raise ConfigError(
            f"{call}: {schedule.steps} steps of up to {schedule.chunks} messages, of which {full + 1} each "
            "can be numbered"
        )
    counted = call.count >= 0 and (call.name, call.op, call.dtype) in _CODE_OF
    # messages of the whole array; schedules of one's own number theirs as they like
    most = -(-call.count // longest) if counted else full
    chunk_bits = min(_FIELD, max(0, most - 1).bit_length())
    step_bits = (schedule.steps - 1).bit_length() if schedule.steps else 0
    code = signature(call)
    # Its exact part first; what finds no room above the chunk goes on above the step.
    return code >> (_FIELD - chunk_bits) << step_bits & full, code << chunk_bits & full
