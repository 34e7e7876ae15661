"""What a call's arguments are called in records and in errors."""

import zlib
from collections.abc import Sequence

_LONGEST = 40  # characters; what ranks tell each other has little room


def counts_in_words(counts: Sequence[int]) -> str:
    """Numbers of elements by rank; long lists are cut and end with a checksum of all of them."""
    text = ",".join(map(str, counts))
    if len(text) > _LONGEST:
        end = f"... #{zlib.crc32(text.encode()):08x}"
        text = text[: _LONGEST - len(end)] + end
    return f"counts {text}"
