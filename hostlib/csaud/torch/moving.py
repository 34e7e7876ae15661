"""broadcast, all_gather, gather, scatter, all_to_all and barrier."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from csaud.torch.calls import Calls, fill, inward, kept, only, options, outward, root_of, through
from csaud.torch.views import Array, movable
from csaud.torch.work import Together


class Moving(Calls):
    """What brings tensors to other ranks as they are."""

    def broadcast(self, tensors: Any, opts: Any = None, *others: Any) -> Any:
        """Replace the tensor on every rank by that of the root."""
        del others
        tensor = only(tensors)
        array, finish = through(tensor)
        array = movable(array)

        def start(**how: Any) -> Any:
            return self._group.broadcast(array, root_of(opts), **how)

        return self._call("broadcast", start, [tensor], finish, options(opts))

    def all_gather_single(self, output: torch.Tensor, input: torch.Tensor, opts: Any = None) -> Any:
        """`output` becomes the tensors of all ranks, one after the other."""
        if output.numel() != input.numel() * self.size():
            raise ValueError(
                f"csaud: all_gather: room for {output.numel()} elements, {self.size()} ranks have "
                f"{input.numel()} each"
            )
        into, finish = outward(output)
        into, source = movable(into), movable(inward(input))
        own = into[self.rank() * source.size :][: source.size]
        source = kept(source, into, (own, source))

        def start(**how: Any) -> Any:
            return self._group.all_gather(source, out=into, **how)

        return self._call("all_gather", start, [output], finish, opts)

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None, *others: Any) -> Any:
        """`outputs[0][r]` becomes the tensor of rank r."""
        del others
        input = only(inputs)
        parts = _list(outputs)
        _check_parts("all_gather", parts, input, self.size())
        rooms = [outward(part) for part in parts]
        return self._gather_all(inward(input), lambda result: fill(rooms, result), parts, opts)

    def all_gather_single_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """`all_gather_single` of each."""
        pairs = zip(outputs, inputs, strict=True)
        return Together([self.all_gather_single(output, input, opts) for output, input in pairs])

    def allgather_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """`allgather` of each input: `outputs[r][i]` becomes input i of rank r."""
        by_input = zip(*outputs, strict=True)
        return Together(
            [
                self.allgather([list(parts)], [input], opts)
                for parts, input in zip(by_input, inputs, strict=True)
            ]
        )

    # names that they had before torch 2.13
    _allgather_base = all_gather_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def gather(self, outputs: Any, inputs: Any, opts: Any = None, *others: Any) -> Any:
        """At the root `outputs[0][r]` becomes the tensor of rank r."""
        del others
        input = only(inputs)
        source = movable(inward(input))
        parts = _list(outputs) if self.rank() == root_of(opts) else []
        if self.rank() == root_of(opts):
            _check_parts("gather", parts, input, self.size())
        rooms = [outward(part) for part in parts]
        results: list[Array] = []

        def start(**how: Any) -> Any:
            started = self._group.gather(source, root_of(opts), **how)
            results.append(started if how["wait"] else started[0])
            return None if how["wait"] else started[1]

        def place() -> None:
            fill(rooms, results[0] if parts else ())

        return self._call("gather", start, parts, place, options(opts))

    def scatter(self, outputs: Any, inputs: Any, opts: Any = None, *others: Any) -> Any:
        """The tensor of every rank becomes the one that the root has for it."""
        del others
        output = only(outputs)
        into, finish = outward(output)
        into = movable(into)
        blocks = None
        if self.rank() == root_of(opts):
            given = _list(inputs)
            _check_parts("scatter", given, output, self.size())
            blocks = np.stack([movable(inward(part)) for part in given])

        def start(**how: Any) -> Any:
            return self._group.scatter(blocks, root_of(opts), out=into, **how)

        return self._call("scatter", start, [output], finish, options(opts))

    def all_to_all_single(
        self, output: torch.Tensor, input: torch.Tensor, output_split_sizes: Sequence[int],
        input_split_sizes: Sequence[int], opts: Any = None, *others: Any,
    ) -> Any:  # fmt: skip
        """Rows of `input` go to the ranks in turn, as many as the split sizes say, and those that come into
        `output`; without sizes each rank gets the same number."""
        del others
        into, finish = outward(output)
        into = movable(into)
        source = kept(movable(inward(input)), into)
        sent = _counts("input", input, input_split_sizes, source.size, self.size())
        received = _counts("output", output, output_split_sizes, into.size, self.size())

        def start(**how: Any) -> Any:
            # Also without sizes: others may have given some.
            return self._group.all_to_all_v(source, sent, received, out=into, **how)

        return self._call("all_to_all", start, [output], finish, opts)

    alltoall_base = all_to_all_single  # its name before torch 2.13

    def alltoall(self, outputs: Any, inputs: Any, opts: Any = None, *others: Any) -> Any:
        """`inputs[r]` goes to rank r, and `outputs[r]` becomes what rank r had for this one."""
        del others
        if len(outputs) != self.size() or len(inputs) != self.size():
            raise ValueError(
                f"csaud: all_to_all: {len(inputs)} tensors out, {len(outputs)} in, {self.size()} ranks"
            )
        sources = [movable(inward(part)) for part in inputs]
        source = np.concatenate(sources)
        sent = [part.size for part in sources]
        rooms = [outward(part) for part in outputs]
        received = [movable(into).size for into, _ in rooms]
        into = np.empty(sum(received), source.dtype)

        def start(**how: Any) -> Any:
            return self._group.all_to_all_v(source, sent, received, out=into, **how)

        def place() -> None:
            fill(rooms, np.split(into, np.cumsum(received)[:-1]))

        return self._call("all_to_all", start, list(outputs), place, opts)

    def barrier(self, opts: Any = None, *others: Any) -> Any:
        """Over once every rank has called it."""
        del others

        def start(**how: Any) -> Any:
            return self._group.barrier(**how)

        return self._call("barrier", start, [], None, options(opts))

    def _gather_all(self, source: Array, place: Any, tensors: list[torch.Tensor], opts: Any) -> Any:
        source = movable(source)
        results: list[Array] = []

        def start(**how: Any) -> Any:
            started = self._group.all_gather(source, **how)
            results.append(started if how["wait"] else started[0])
            return None if how["wait"] else started[1]

        return self._call("all_gather", start, tensors, lambda: place(results[0]), opts)


def _list(tensors: Any) -> list[torch.Tensor]:
    """One list of tensors, which torch hands over in a list."""
    return list(tensors[0]) if isinstance(tensors[0], list | tuple) else list(tensors)


def _check_parts(what: str, parts: Sequence[torch.Tensor], one: torch.Tensor, size: int) -> None:
    if len(parts) != size:
        raise ValueError(f"csaud: {what}: {len(parts)} tensors for {size} ranks")
    for rank, part in enumerate(parts):
        if part.numel() != one.numel() or part.dtype != one.dtype:
            raise ValueError(
                f"csaud: {what}: the tensor for rank {rank} has {part.numel()} elements of {part.dtype}, "
                f"expected {one.numel()} of {one.dtype}"
            )


def _counts(what: str, tensor: torch.Tensor, splits: Sequence[int], elements: int, size: int) -> list[int]:
    """Elements by rank of rows by rank."""
    if not splits:
        if tensor.dim() and tensor.shape[0] % size:
            raise ValueError(
                f"csaud: all_to_all: the {what} has {tensor.shape[0]} rows, which {size} ranks cannot share"
            )
        return [elements // size] * size
    if len(splits) != size or sum(splits) != tensor.shape[0]:
        raise ValueError(
            f"csaud: all_to_all: {what} split sizes {list(splits)} for {size} ranks and "
            f"{tensor.shape[0]} rows"
        )
    row = elements // tensor.shape[0] if tensor.shape[0] else 0
    return [count * row for count in splits]
