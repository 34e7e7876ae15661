"""Tensors that a rank sends to itself."""

import threading
from collections import deque

import torch

from csaud.errors import ConfigError


class _Matched:
    """Over when its counterpart has come."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self._over = threading.Event()
        self._error: ConfigError | None = None

    @property
    def ended_well(self) -> bool:
        return self._over.is_set() and self._error is None

    def wait(self, timeout: float | None = None) -> bool:
        over = self._over.wait(timeout)
        if self._error is not None:
            raise self._error
        return over

    def end(self, error: ConfigError | None) -> None:
        self._error = error
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
                error = _copy(awaited.tensor.detach(), sent.tensor.detach())
                sent.end(error)
                awaited.end(error)
        return one


def _copy(into: torch.Tensor, sent: torch.Tensor) -> ConfigError | None:
    """Why it cannot be; None: it is copied."""
    if into.numel() != sent.numel():
        return ConfigError(f"{sent.numel()} elements sent to itself, {into.numel()} received")
    into.copy_(sent.reshape(into.shape))
    return None
