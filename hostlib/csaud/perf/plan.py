"""What is to be measured, as it goes from the command line to the ranks."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Literal

from csaud.errors import ConfigError

Test = Literal[
    "bandwidth", "latency", "allreduce", "reducescatter", "allgather", "alltoall", "broadcast", "incast",
    "permutation",
]  # fmt: skip
PAIRS: tuple[Test, ...] = ("bandwidth", "latency")

_SUFFIXES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
LARGEST = 1 << 32  # bytes
SECONDS = 0.5
MOST_ITERATIONS = 20_000


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """One test over several sizes.

    Attributes:
        test: which one.
        sizes: bytes, in the order of measuring.
        iterations: of each size; 0: by size.
        warmup: iterations before them that do not count.
        dtype, op: of the elements, and how all-reduce combines them.
        depth: messages under way at once (bandwidth).
        check: whether results are compared with what they must be.
    """

    test: Test
    sizes: tuple[int, ...]
    iterations: int = 0
    warmup: int = 5
    dtype: str = "float32"
    op: str = "sum"
    depth: int = 4
    check: bool = True

    def iterations_for(self, seconds: float) -> int:
        """How often a size is measured, of which one iteration takes `seconds`: as asked, or for about
        SECONDS, at least 10 times and no more often than the last percentile needs."""
        if self.iterations:
            return self.iterations
        return max(10, min(MOST_ITERATIONS, int(SECONDS / max(seconds, 1e-9))))

    def to_json(self) -> str:
        """As text, for another process."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The reverse of `to_json`."""
        fields: dict[str, Any] = json.loads(text)
        return cls(**{**fields, "sizes": tuple(fields["sizes"])})


def parse_size(text: str) -> int:
    """Bytes of "64", "4K", "1M", "1G" (powers of two).

    Raises:
        ConfigError: it is none of these.
    """
    word = text.strip().upper().removesuffix("B")
    factor = _SUFFIXES.get(word[-1:], 1)
    digits = word[:-1] if factor != 1 else word
    if not digits.isascii() or not digits.isdigit() or not 0 <= int(digits) * factor <= LARGEST:
        raise ConfigError(f"size {text!r}: expected bytes such as 64, 4K, 1M or 1G")
    return int(digits) * factor


def parse_sizes(text: str) -> tuple[int, ...]:
    """Sizes of "64,4K,1M", or of a range "64:1M" or "64:1M:2", where each is so many times the one before
    (4 without a number).

    Raises:
        ConfigError: it is neither.
    """
    if ":" not in text:
        return tuple(parse_size(part) for part in text.split(","))
    parts = text.split(":")
    if len(parts) > 3:
        raise ConfigError(f"sizes {text!r}: expected FIRST:LAST or FIRST:LAST:FACTOR")
    first, last = parse_size(parts[0]), parse_size(parts[1])
    factor = parts[2] if len(parts) == 3 else "4"
    if not factor.isdigit() or int(factor) < 2:
        raise ConfigError(f"sizes {text!r}: the factor is a whole number of at least 2")
    if not 0 < first <= last:
        raise ConfigError(f"sizes {text!r}: expected 0 < FIRST <= LAST")
    sizes = [first]
    while sizes[-1] * int(factor) <= last:
        sizes.append(sizes[-1] * int(factor))
    return tuple(sizes)
