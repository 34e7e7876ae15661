"""Tensors of a GPU by way of the host's memory: the library sends from there, and receives into it.

The rules of streams are those of other backends. What is sent are the values that the stream of the call has
for the tensor; results are there once the work is waited for, whichever stream reads them.
"""

from collections.abc import Callable

import torch

from csaud.torch.views import plain


def room_for(tensor: torch.Tensor) -> torch.Tensor:
    """Pinned host memory for as much as is in a GPU's tensor."""
    return torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu", pin_memory=True)


def values_of(tensor: torch.Tensor) -> torch.Tensor:
    """A plain copy of a GPU's tensor in such memory; waits until its values have been computed."""
    host = room_for(tensor)
    # A sign that a view has would be given to the copy before that has come.
    host.copy_(plain(tensor.detach()), non_blocking=True)
    torch.cuda.current_stream(tensor.device).synchronize()
    return host


def way_back(tensor: torch.Tensor, host: torch.Tensor) -> Callable[[], None]:
    """What copies `host` into a GPU's tensor; the values are there when it returns.

    It may run in any thread, and not before what this thread's stream has had to do with the tensor's memory
    until now.
    """
    before = torch.cuda.current_stream(tensor.device).record_event()

    def copy() -> None:
        stream = torch.cuda.Stream(tensor.device)  # of torch's pool
        stream.wait_event(before)
        with torch.cuda.stream(stream):
            tensor.detach().copy_(host, non_blocking=True)
        stream.synchronize()

    return copy
