"""Sums of sparse tensors, as those of embeddings' gradients."""

import numpy as np
import torch

from csaud.groups.group import Group
from csaud.torch.views import array_of, movable


def sum_sparse(group: Group, tensor: torch.Tensor) -> None:
    """Replace a sparse tensor (COO) by the sum of all ranks', in rank order: the same bits everywhere.

    Blocks: how many elements the others have has to be known first.
    """
    mine = tensor.detach().coalesce()
    count = mine._nnz()
    counts = group.all_gather(np.array([count], np.int64)).reshape(-1)
    longest = int(counts.max())
    shape = mine.values().shape[1:]
    indices = torch.zeros(longest, mine.sparse_dim(), dtype=torch.int64)
    values = torch.zeros(longest, *shape, dtype=mine.dtype)
    indices[:count] = mine.indices().t()
    values[:count] = mine.values()
    everyones_indices = torch.from_numpy(group.all_gather(array_of(indices)))
    everyones_values = torch.empty(group.size, longest, *shape, dtype=mine.dtype)
    np.copyto(movable(array_of(everyones_values)), group.all_gather(movable(array_of(values))).reshape(-1))
    total = torch.sparse_coo_tensor(size=tensor.shape, dtype=tensor.dtype)
    for rank in range(group.size):
        own = int(counts[rank])
        places = everyones_indices[rank].reshape(longest, mine.sparse_dim())[:own].t()
        total = total + torch.sparse_coo_tensor(places, everyones_values[rank, :own], tensor.shape)
    with torch.no_grad():
        tensor.copy_(total.coalesce())
