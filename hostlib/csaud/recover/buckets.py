"""Gradients in buckets: one-dimensional arrays of one element type, which are reduced one by one."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from csaud.collectives.elements import element_of
from csaud.errors import ConfigError

Array = npt.NDArray[Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where a parameter's gradient is: its elements from `start` on in a bucket."""

    bucket: int
    start: int
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Elements."""
        return int(np.prod(self.shape, dtype=np.int64))


class Buckets:
    """How the gradients of parameters lie in buckets.

    The last parameter comes first, since the backward pass has its gradient first.

    Attributes:
        places: by parameter.
        sizes, dtypes: elements and element type by bucket.
        bucket_bytes: as given.
    """

    def __init__(
        self, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[npt.DTypeLike], bucket_bytes: int
    ) -> None:
        """
        Args:
            bucket_bytes: of a bucket, at least; a bucket ends with the parameter that makes it as large.
        """
        if not shapes:
            raise ConfigError("recover: there are no parameters to train")
        self.bucket_bytes = bucket_bytes
        self.sizes: list[int] = []
        self.dtypes: list[np.dtype[Any]] = []
        found: dict[int, Place] = {}
        for index in reversed(range(len(shapes))):
            dtype = np.dtype(dtypes[index])
            check_mean(index, dtype)
            full = not self.sizes or self.sizes[-1] * self.dtypes[-1].itemsize >= bucket_bytes
            if full or self.dtypes[-1] != dtype:
                self.sizes.append(0)
                self.dtypes.append(dtype)
            place = Place(len(self.sizes) - 1, self.sizes[-1], tuple(shapes[index]))
            self.sizes[-1] += place.size
            found[index] = place
        self.places = [found[index] for index in range(len(shapes))]

    @property
    def terms(self) -> dict[str, object]:
        """What of them must be the same at all workers."""
        forms = [f"{self.dtypes[place.bucket]} {place.shape}" for place in self.places]
        return {
            "bucket_bytes": self.bucket_bytes,
            "parameters": len(forms),
            **{f"parameter {index}": form for index, form in enumerate(forms)},
        }

    def make(self) -> list[Array]:
        """New buckets, of no particular content."""
        return [np.empty(size, dtype) for size, dtype in zip(self.sizes, self.dtypes, strict=True)]

    def view(self, buckets: Sequence[Array], parameter: int) -> Array:
        """A parameter's part, of its shape."""
        place = self.places[parameter]
        return buckets[place.bucket][place.start : place.start + place.size].reshape(place.shape)

    def views(self, buckets: Sequence[Array]) -> list[Array]:
        """All parameters' parts."""
        return [self.view(buckets, parameter) for parameter in range(len(self.places))]


def check_mean(parameter: int, dtype: np.dtype[Any], in_order: bool = True) -> None:
    """ConfigError where there is no mean of gradients of this type; of complex numbers there is one in order
    alone, where no collective adds them up."""
    element = element_of(dtype)
    if element is None or not (element.kind == "float" or (in_order and dtype.kind == "c")):
        how = "" if in_order else " with in_order=False"
        raise ConfigError(f"recover: parameter {parameter}: gradients of {dtype} cannot be averaged{how}")
