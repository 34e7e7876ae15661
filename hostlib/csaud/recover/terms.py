"""What must be the same at all workers of a job, by the names of arguments, and what of it is not."""

import hashlib
import json
from collections.abc import Mapping, Sequence

from csaud.config.settings import differing

BITS = 64  # of a digest


class Differs(Exception):
    """Workers have other terms than the job.

    Attributes:
        leaves: this rank is one that cannot go on; otherwise others are, and leave.
    """

    def __init__(self, words: str, leaves: bool) -> None:
        super().__init__(words)
        self.leaves = leaves


class Terms:
    """One worker's.

    Args:
        of: value by name; the first that differs is told.
    """

    def __init__(self, of: Mapping[str, object]) -> None:
        self.text = json.dumps({name: str(value) for name, value in of.items()})
        digest = hashlib.blake2b(self.text.encode(), digest_size=BITS // 8).digest()
        self.digest = int.from_bytes(digest, "little")


def difference(texts: Sequence[str], members: Sequence[int], rank: int) -> Differs:
    """What becomes of ranks whose terms differ.

    Args:
        texts: of all ranks' terms.
        members: ranks whose terms are those of the job, where they agree; the others are newcomers, of which
            those that have other terms leave.
        rank: this one.
    """
    job = texts[members[0]]
    if all(texts[member] == job for member in members):
        owners, leaves = {"this job": job, "the newcomer": texts[rank]}, texts[rank] != job
    else:
        owners, leaves = {f"rank {other}": text for other, text in enumerate(texts)}, True
    return Differs(_first({owner: json.loads(text) for owner, text in owners.items()}), leaves)


def _first(told: Mapping[str, Mapping[str, str]]) -> str:
    for name in dict.fromkeys(name for terms in told.values() for name in terms):
        if words := differing({owner: {name: terms.get(name, "none")} for owner, terms in told.items()}):
            return words
    return "a newcomer has other arguments than this job"
