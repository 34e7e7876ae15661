"""Messages from rank to rank."""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from csaud.collectives import direct
from csaud.flight.record import Call
from csaud.groups.calls import Array, Calls, Wanted, backs
from csaud.groups.operands import readable, writable


class Direct(Calls):
    """send, recv."""

    def send(self, array: Any, dst: int, *, wait: bool = True, timeout: float | None = None) -> Any:
        """Send `array` to rank `dst`, which calls `recv`; None once it has it, or a Handle."""
        operand = readable(array)
        flat = operand.flat
        build = partial(direct.send, dst, flat.size, self._longest(operand.element))
        call = Call("transfer", operand.element.name, flat.size)
        return self._run_direct(
            call, build, operand.element, dst, self._sent, flat[:0], None, Wanted(wait, timeout), source=flat
        )

    def recv(self, array: Any, src: int, *, wait: bool = True, timeout: float | None = None) -> Any:
        """Receive into `array` what rank `src` sends; of the same size and dtype. Returns it, or a Handle."""
        operand = writable(array)
        flat = operand.flat
        build = partial(direct.receive, src, flat.size, self._longest(operand.element))
        call = Call("transfer", operand.element.name, flat.size)
        return self._run_direct(
            call, build, operand.element, src, self._received, flat, array, Wanted(wait, timeout),
            epilogues=backs(operand),
        )  # fmt: skip

    def send_sized(self, array: Any, dst: int) -> None:
        """Send a one-dimensional array whose size rank `dst` does not know; it calls `recv_sized`."""
        flat = readable(array).flat
        self.send(np.array([flat.size], np.int64), dst)
        self.send(array, dst)

    def recv_sized(self, src: int, dtype: npt.DTypeLike) -> Array:
        """The array that rank `src` sends with `send_sized`, of this dtype."""
        size = self.recv(np.zeros(1, np.int64), src)
        array = np.empty(int(size[0]), dtype)
        self.recv(array, src)
        return array
