"""all_reduce, reduce and reduce_scatter."""

from typing import Any

import numpy as np
import torch

from csaud.errors import CsaudError
from csaud.torch.calls import Calls, inward, kept, only, options, outward, root_of, through
from csaud.torch.operations import name_of
from csaud.torch.sparse import sum_sparse
from csaud.torch.views import Array, check_reducible
from csaud.torch.work import Finished, Together

_SUM = torch.distributed.ReduceOp.SUM


class Reducing(Calls):
    """What combines the tensors of all ranks."""

    def allreduce(self, tensors: Any, opts: Any = None, timeout: Any = None) -> Any:
        """Replace the tensor on every rank by the reduction of all; the same bits everywhere."""
        del timeout
        tensor = only(tensors)
        op = _op(opts)
        if tensor.layout is torch.sparse_coo:
            return self._allreduce_sparse(tensor, op, options(opts))
        array, finish = through(tensor)
        check_reducible(tensor, array)
        name = name_of(op, array.dtype)

        def start(**how: Any) -> Any:
            return self._group.all_reduce(array, name, **how)

        return self._call("all_reduce", start, [tensor], finish, options(opts))

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Any:
        """`allreduce` of each."""
        return Together([self.allreduce([tensor], opts) for tensor in tensors])

    def reduce(self, tensors: Any, opts: Any = None, *others: Any) -> Any:
        """Replace the tensor at the root by the reduction of all."""
        tensor = only(tensors)
        array, finish = through(tensor)
        check_reducible(tensor, array)
        if self.rank() != root_of(opts):
            finish = None
        name = name_of(others[0] if others else _op(options(opts)), array.dtype)

        def start(**how: Any) -> Any:
            return self._group.reduce(array, name, root_of(opts), out=array, **how)

        return self._call("reduce", start, [tensor], finish, options(opts))

    def reduce_scatter_single(self, output: torch.Tensor, input: torch.Tensor, opts: Any = None) -> Any:
        """`output` becomes this rank's part of the reduction of all ranks' `input`, of parts of one size."""
        if input.numel() != output.numel() * self.size():
            raise ValueError(
                f"csaud: reduce_scatter: {input.numel()} elements for {self.size()} ranks with "
                f"{output.numel()} each"
            )
        return self._reduce_scatter(output, inward(input), opts)

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any = None, *others: Any) -> Any:
        """The same of a list of tensors, one a rank."""
        del others
        output = only(outputs)
        parts = inputs[0] if isinstance(inputs[0], list | tuple) else inputs
        if len(parts) != self.size() or parts[self.rank()].numel() != output.numel():
            expected = f"{self.size()} tensors, one a rank, and this rank's as large as the output"
            raise ValueError(f"csaud: reduce_scatter: expected {expected}")
        arrays = [inward(part) for part in parts]
        if any(array.size != arrays[0].size for array in arrays):
            return self._reduce_scatter_uneven(output, arrays, opts)
        return self._reduce_scatter(output, np.concatenate(arrays), opts)

    def reduce_scatter_single_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """`reduce_scatter_single` of each."""
        pairs = zip(outputs, inputs, strict=True)
        return Together([self.reduce_scatter_single(output, input, opts) for output, input in pairs])

    # names that they had before torch 2.13
    _reduce_scatter_base = reduce_scatter_single
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def _allreduce_sparse(self, tensor: torch.Tensor, op: Any, opts: Any) -> Finished:
        if op != _SUM:
            raise RuntimeError(f"csaud: sparse tensors can be summed only, not reduced by {op}")
        what = "all_reduce of a sparse tensor"

        def all_gather(array: Array) -> Array:
            limit = self._longest(self._limit_of(opts))
            result: Array
            try:
                result, handle = self._group.all_gather(array, wait=False, timeout=limit)
            except CsaudError as error:
                raise self._error(what, error) from error
            self._work(what, [handle], [tensor], None, opts).wait()
            return result

        sum_sparse(tensor, self.size(), all_gather)
        return Finished([tensor])

    def _reduce_scatter(self, output: torch.Tensor, source: Array, opts: Any) -> Any:
        into, finish = outward(output)
        check_reducible(output, into)
        name = name_of(_op(opts), source.dtype)
        own = source[self.rank() * into.size :][: into.size]
        source = kept(source, into, (into, own))

        def start(**how: Any) -> Any:
            return self._group.reduce_scatter(source, name, out=into, **how)

        return self._call("reduce_scatter", start, [output], finish, options(opts))

    def _reduce_scatter_uneven(self, output: torch.Tensor, sources: list[Array], opts: Any) -> Any:
        """The same of parts of several sizes, one after the other."""
        what, limit = "reduce_scatter", self._longest(self._limit_of(options(opts)))
        into, finish = outward(output)
        check_reducible(output, into)
        name = name_of(_op(opts), into.dtype)
        try:
            handles = [
                self._group.reduce(source, name, root, out=into, wait=False, timeout=limit)
                for root, source in enumerate(sources)
            ]
        except CsaudError as error:
            raise self._error(what, error) from error
        return self._work(what, handles, [output], finish, options(opts))


def _op(opts: Any) -> Any:
    """The operation in options, or given in place of them."""
    return _SUM if opts is None else getattr(opts, "reduceOp", opts)
