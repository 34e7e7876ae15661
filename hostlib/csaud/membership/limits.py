"""What a caller may ask of a membership: what is none of it is named before anybody is asked."""

import numbers
import operator
from typing import Any

from csaud.errors import ConfigError

MOST_BITS = 8192  # of a value that ranks agree on; JSON's reader takes 4,300 digits
_LONGEST = 1e9  # s; threads wait for no longer


def seconds(timeout: Any, call: str) -> float:
    """A time to wait.

    Raises:
        ConfigError: it is none.
    """
    if not isinstance(timeout, numbers.Real) or not 0 <= float(timeout) <= _LONGEST:
        raise ConfigError(f"{call}: timeout={timeout!r}: expected seconds, from 0 to {_LONGEST:g}")
    return float(timeout)


def whole(value: Any, call: str) -> int:
    """A value to agree on.

    Raises:
        ConfigError: it is none.
    """
    try:
        number = int(operator.index(value))
    except TypeError:
        raise ConfigError(f"{call}: value={value!r}: expected a whole number") from None
    if number.bit_length() > MOST_BITS:
        raise ConfigError(f"{call}: a value of {number.bit_length()} bits: expected {MOST_BITS} at most")
    return number
