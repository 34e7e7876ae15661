"""Sums of sparse tensors, as those of embeddings' gradients."""

from collections.abc import Callable

import numpy as np
import torch

from csaud.torch.views import Array, array_of, movable


def sum_sparse(tensor: torch.Tensor, size: int, all_gather: Callable[[Array], Array]) -> None:
    """Replace a sparse tensor (COO) by the sum of all ranks', in rank order: the same bits everywhere.

    Blocks: how many elements the others have has to be known first.

    Args:
        size: how many ranks there are.
        all_gather: gives the arrays of all.
    """
    mine = tensor.detach().coalesce()
    count = mine._nnz()
    counts = all_gather(np.array([count], np.int64)).reshape(-1)
    longest = int(counts.max())
    shape = mine.values().shape[1:]
    indices = torch.zeros(longest, mine.sparse_dim(), dtype=torch.int64, device="cpu")
    values = torch.zeros(longest, *shape, dtype=mine.dtype, device="cpu")
    indices[:count] = mine.indices().t()
    values[:count] = mine.values()
    everyones_indices = torch.from_numpy(all_gather(array_of(indices)))
    everyones_values = torch.empty(size, longest, *shape, dtype=mine.dtype, device="cpu")
    np.copyto(movable(array_of(everyones_values)), all_gather(movable(array_of(values))).reshape(-1))
    total = torch.sparse_coo_tensor(size=tensor.shape, dtype=tensor.dtype, device="cpu")
    for rank in range(size):
        own = int(counts[rank])
        places = everyones_indices[rank].reshape(longest, mine.sparse_dim())[:own].t()
        total = total + torch.sparse_coo_tensor(places, everyones_values[rank, :own], tensor.shape)
    with torch.no_grad():
        tensor.copy_(total.coalesce().to(tensor.device))
