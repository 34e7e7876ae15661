"""P4Runtime's binary strings: big-endian unsigned numbers, canonical when shortest (zero is one byte 0x00).

Source: P4Runtime specification 1.4, section 8.3. What is received may have leading zeros; what is sent
never has.
"""

from csaud_softswitch.p4runtime.errors import out_of_range

PORT_BITS = 9
"""Width of v1model's port numbers."""


def canonical(value: bytes) -> bytes:
    """The shortest form of a binary string; b"" counts as zero."""
    return value.lstrip(b"\x00") or b"\x00"


def from_int(value: int) -> bytes:
    """A number, not negative, as a canonical binary string."""
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


def to_int(value: bytes, width: int, what: str) -> int:
    """The number in `value`; it must fit into `width` bits. `what` names it in the error."""
    if not value:
        raise out_of_range(f"{what}: an empty binary string; expected a number of {width} bits")
    number = int.from_bytes(value, "big")
    if number.bit_length() > width:
        raise out_of_range(f"{what}: {number:#x} does not fit into {width} bits")
    return number


def padded(value: bytes, width: int, what: str, size: int | None = None) -> bytes:
    """The number in `value`, of at most `width` bits, as the native core has its keys: in ceil(width / 8) or
    in `size` bytes.
    """
    return to_int(value, width, what).to_bytes((width + 7) // 8 if size is None else size, "big")
