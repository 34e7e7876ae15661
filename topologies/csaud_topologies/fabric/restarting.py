"""A service that is started again when it ends: what it is for goes on without it for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from csaud_runs.errors import RunError

from csaud_topologies.fabric.services import Service, tail

_PAUSES_S = (0.0, 0.5, 1.0, 2.0, 4.0)
_STEADY_S = 10.0
_LOOK_EVERY_S = 0.1


@dataclass
class Patience:
    """How often in a row, and after which pauses, a service is started again."""

    pauses_s: tuple[float, ...] = _PAUSES_S
    steady_s: float = _STEADY_S
    """One that has served for so long breaks the row."""
    in_a_row: int = 0

    def ended(self, served_s: float) -> float | None:
        """It has ended, having served for so long; the pause before its next start. None: no more of them."""
        if served_s >= self.steady_s:
            self.in_a_row = 0
        if self.in_a_row == len(self.pauses_s):
            return None
        self.in_a_row += 1
        return self.pauses_s[self.in_a_row - 1]


class RestartedService(Service):
    """Watched by a thread of its own, as whoever is at a prompt looks after nothing meanwhile.

    `start` starts its process once more, `serves` tells whether that is of use yet, and `say` is told what
    has become of it, a sentence each time.
    """

    def __init__(
        self,
        service: Service,
        start: Callable[[], Service],
        serves: Callable[[], bool],
        say: Callable[[str], None],
        patience: Patience | None = None,
    ) -> None:
        super().__init__(service.name, service.process, service.log)
        self._start, self._serves, self._say = start, serves, say
        self._patience = patience or Patience()
        self._stopping = threading.Event()
        self._given_up = threading.Event()
        self._starting = threading.Lock()
        self._watch = threading.Thread(target=self._keep, name=f"keeps {self.name}", daemon=True)
        self._watch.start()

    def check(self) -> None:
        """RunError, with the last lines of its log, when it has ended once too often."""
        if self._given_up.is_set():
            often = f"{self._patience.in_a_row} times in a row it was started again"
            raise RunError(f"{self.name} {self.ending()}; {often}{tail(self.log)}")

    def stop(self, patience_s: float = 5.0) -> None:
        """End it: asked first, then killed."""
        self._stopping.set()
        with self._starting:
            super().stop(patience_s)
        self._watch.join()

    def _keep(self) -> None:
        served_from: float | None = time.monotonic()
        while True:
            self.process.wait()
            if self._stopping.is_set():
                return
            pause_s = self._patience.ended(0.0 if served_from is None else time.monotonic() - served_from)
            if pause_s is None:
                self._given_up.set()
                return
            when = f" in {pause_s:g} s" if pause_s else ""
            self._say(f"{self.name} {self.ending()}; switches forward on, and it is started again{when}")
            served_from = self._served_from() if self._started_after(pause_s) else None
            if served_from is not None:
                self._say(f"{self.name} answers again")

    def _started_after(self, pause_s: float) -> bool:
        self._stopping.wait(pause_s)
        with self._starting:
            if self._stopping.is_set():
                return False
            try:
                self.process = self._start().process
            except OSError as error:
                self._say(f"{self.name} cannot be started again: {error}")
                return False
        return True

    def _served_from(self) -> float | None:
        """When it began to serve; None where it ended before."""
        while self.process.poll() is None and not self._stopping.is_set():
            if self._serves():
                return time.monotonic()
            self._stopping.wait(_LOOK_EVERY_S)
        return None
