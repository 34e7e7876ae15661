"""Tensors that a rank sends to itself."""

import threading
from collections import deque

import torch


class _Matched:
    """Over when its counterpart has come."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self._over = threading.Event()

    @property
    def done(self) -> bool:
        return self._over.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        return self._over.wait(timeout)

    def end(self) -> None:
        self._over.set()


class Mailbox:
    """Sends and receives of one tag, matched in their order."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: deque[_Matched] = deque()
        self._awaited: deque[_Matched] = deque()

    def send(self, tensor: torch.Tensor) -> _Matched:
        """Over when it has been received."""
        return self._match(_Matched(tensor), self._sent)

    def receive(self, tensor: torch.Tensor) -> _Matched:
        """Over when something was sent, which then is in `tensor`."""
        return self._match(_Matched(tensor), self._awaited)

    def _match(self, one: _Matched, queue: deque[_Matched]) -> _Matched:
        with self._lock:
            queue.append(one)
            if self._sent and self._awaited:
                sent, awaited = self._sent.popleft(), self._awaited.popleft()
                awaited.tensor.detach().copy_(sent.tensor.detach())
                sent.end()
                awaited.end()
        return one
