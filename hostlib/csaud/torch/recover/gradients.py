"""Gradients from the backward pass into buckets, each as soon as all of its parameters have theirs."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.weak import WeakTensorKeyDictionary

from csaud.errors import ConfigError
from csaud.recover.buckets import Buckets
from csaud.torch.views import array_of

Array = npt.NDArray[Any]
Put = Callable[[int, Array], object]

_hooks = WeakTensorKeyDictionary()  # by parameter: of the loop that was begun last


class Gradients:
    """Those of one worker's microbatches, and the mean of all workers'.

    Args:
        parameters: that are trained.
        bucket_bytes: as for `csaud.recover.start`.
        overlap: buckets are handed on in the backward pass, of which each microbatch has one; otherwise
            after it.

    Attributes:
        buckets: how gradients lie in them.
        mean: memory of the buckets' means.
    """

    def __init__(self, parameters: Sequence[torch.nn.Parameter], bucket_bytes: int, overlap: bool) -> None:
        self._parameters = list(parameters)
        shapes = [tuple(parameter.shape) for parameter in parameters]
        self.buckets = Buckets(shapes, [array_of(parameter).dtype for parameter in parameters], bucket_bytes)
        self._members: list[list[int]] = [[] for _ in self.buckets.sizes]
        for index, place in enumerate(self.buckets.places):
            self._members[place.bucket].append(index)
        self._means = self._make()
        self.mean = [array_of(bucket) for bucket in self._means]
        self._overlap = overlap
        self._shown: list[torch.Tensor | None] = [None] * len(self._parameters)
        self._put: Put | None = None
        self._missing: list[set[int]] = []  # by bucket, parameters whose gradient has not come yet

    @contextlib.contextmanager
    def hooked(self) -> Iterator[None]:
        """A loop over steps, of whose backward passes this hears."""
        mine = []
        for index, parameter in enumerate(self._parameters):
            earlier = _hooks.pop(parameter, None)  # an iterator of its loop may be kept
            if earlier is not None:
                earlier.remove()
            if self._overlap:
                mine.append(self._hook(index, parameter))
                _hooks[parameter] = mine[-1]
        try:
            yield
        finally:
            for hook in mine:
                hook.remove()

    @contextlib.contextmanager
    def replaced(self) -> Iterator[None]:
        """A loop over a step's microbatches. Left before its end, `.grad` is what it was; None where that
        was a mean, whose memory is written meanwhile."""
        before = [parameter.grad for parameter in self._parameters]
        try:
            yield
        except BaseException:
            for parameter, gradient, mean in zip(self._parameters, before, self._shown, strict=True):
                parameter.grad = None if gradient is mean else gradient
            raise
        finally:
            self._put = None

    def begin(self, put: Put) -> None:
        """A microbatch begins, with no gradients.

        Args:
            put: called with each bucket, when that is complete.
        """
        for parameter in self._parameters:
            parameter.grad = None
        self._put = put
        self._missing = [set(members) for members in self._members]

    def end(self) -> None:
        """It has ended; parameters that have no gradient count as ones of zeros."""
        put = self._put
        assert put is not None
        for bucket, missing in enumerate(self._missing):
            if missing:
                self._hand_on(bucket, put)
        self._put = None

    def show(self) -> None:
        """Have the mean over all microbatches in `.grad`."""
        for index, (parameter, place) in enumerate(zip(self._parameters, self.buckets.places, strict=True)):
            mean = self._means[place.bucket][place.start : place.start + place.size]
            self._shown[index] = parameter.grad = mean.view(place.shape)

    def _hook(self, index: int, parameter: torch.Tensor) -> Any:
        return parameter.register_post_accumulate_grad_hook(lambda _: self._came(index))

    def _came(self, index: int) -> None:
        put = self._put
        if put is None:  # a backward pass outside of a microbatch
            return
        bucket = self.buckets.places[index].bucket
        missing = self._missing[bucket]
        if not missing:
            raise ConfigError(
                "recover: a microbatch has a second backward pass, and its gradients are on their way: "
                "start(..., overlap=False)"
            )
        missing.discard(index)
        if not missing:
            self._hand_on(bucket, put)

    def _hand_on(self, bucket: int, put: Put) -> None:
        kept = torch.empty_like(self._means[bucket])
        for index in self._members[bucket]:
            place, gradient = self.buckets.places[index], self._parameters[index].grad
            view = kept[place.start : place.start + place.size].view(place.shape)
            if gradient is None:
                view.zero_()
            else:
                view.copy_(gradient if gradient.layout is torch.strided else gradient.to_dense())
        put(bucket, array_of(kept))

    def _make(self) -> list[torch.Tensor]:
        dtypes = [self._parameters[members[0]].dtype for members in self._members]
        return [
            torch.zeros(size, dtype=dtype) for size, dtype in zip(self.buckets.sizes, dtypes, strict=True)
        ]


def check_reducible(parameter: torch.Tensor) -> bool:
    """Whether gradients of its type can be summed."""
    return array_of(parameter).dtype != np.uint8
