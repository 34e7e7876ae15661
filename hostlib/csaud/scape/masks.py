"""Masks of a given density, part by part."""

import numpy as np
import numpy.typing as npt

from csaud.collectives.schedule import split
from csaud.errors import ConfigError

Array = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]


class Parts:
    """Places of a vector, dealt out to the ranks as numpy.array_split does, as a sharded optimizer's states;
    each rank chooses its own.

    Args:
        count: places.
        density: share of each part that a mask has, 0 < density <= 1; one place at least.
    """

    def __init__(self, count: int, rank: int, size: int, density: float) -> None:
        if not 0 < density <= 1:
            raise ConfigError(f"scape: density={density}: expected above 0 and at most 1")
        if count < size:
            raise ConfigError(f"scape: {count} weights for {size} ranks: expected one for each at least")
        self._parts = [slice(start, start + length) for start, length in split(count, size)]
        self._counts = [max(1, round(density * (part.stop - part.start))) for part in self._parts]
        self._count, self._rank = count, rank

    @property
    def own(self) -> slice:
        """This rank's part."""
        return self._parts[self._rank]

    def highest(self, score: Array) -> Mask:
        """A mask with the places of this rank's part where `score`, one number a place of it, is highest."""
        mask = np.zeros(self._count, np.bool_)
        chosen = self._counts[self._rank]
        mask[self.own.start + np.argpartition(score, score.size - chosen)[score.size - chosen :]] = True
        return mask

    def drawn(self, random: np.random.Generator) -> Mask:
        """A mask by chance: the same at all ranks whose generators are in the same state."""
        mask = np.zeros(self._count, np.bool_)
        for part, chosen in zip(self._parts, self._counts, strict=True):
            mask[part.start + random.choice(part.stop - part.start, chosen, replace=False)] = True
        return mask
