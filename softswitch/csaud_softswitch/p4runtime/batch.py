"""The updates of one Write, applied in order (P4Runtime specification 1.4, section 12.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from csaud_softswitch._core import Switch
from csaud_softswitch.p4runtime.errors import BatchError, Code, P4RuntimeError
from csaud_softswitch.p4runtime.proto import p4r

Apply = Callable[[p4r.Update], None]
Undo = Callable[[p4r.Update], list[p4r.Update]]


class Batch:
    """Without `undo`, an update that fails does not keep the others (CONTINUE_ON_ERROR); with it, the first
    that fails takes back those before it, and those after it are not tried (ROLLBACK_ON_ERROR).

    A long one can be run in pieces, so that whoever serves others meanwhile need not wait for its end; not so
    with `still`, a switch whose packets wait until all is done (DATAPLANE_ATOMIC).
    """

    def __init__(
        self,
        apply: Apply,
        updates: Iterable[p4r.Update],
        undo: Undo | None = None,
        still: Switch | None = None,
    ) -> None:
        self._apply = apply
        self._undo = undo
        self._still = still
        self._updates = list(updates)
        self._results: list[P4RuntimeError | None] = []
        self._undone: list[list[p4r.Update]] = []
        self._failed = False

    def __len__(self) -> int:
        return len(self._updates)

    def step(self, count: int) -> bool:
        """Apply up to `count` updates; False when none is left."""
        if self._still is None:
            return self._step(count)
        self._still.hold()
        try:
            return self._step(len(self))
        finally:
            self._still.release()

    def _step(self, count: int) -> bool:
        at = len(self._results)
        for update in self._updates[at : at + count]:
            try:
                if self._undo is not None:
                    self._undone.append(self._undo(update))
                self._apply(update)
                self._results.append(None)
            except P4RuntimeError as error:
                self._results.append(error)
                self._failed = True
                if self._undo is not None:
                    self._roll_back()
                    break
        return len(self._results) < len(self._updates)

    def give_up(self) -> None:
        """Nobody waits for the rest: what is all or none takes back what was applied of it."""
        if self._undo is not None and not self._failed:
            self._take_back(len(self._results))

    def finish(self) -> None:
        """Apply what is left; BatchError if any update of the batch failed."""
        while self.step(1024):
            pass
        if self._failed:
            raise BatchError(self._results)

    def _roll_back(self) -> None:
        failed = len(self._results) - 1
        kept = self._take_back(failed)
        aborted = P4RuntimeError(Code.ABORTED, f"taken back or not tried: update {failed} failed")
        left = len(self._updates) - failed - 1
        taken_back = [kept.get(at, aborted) for at in range(failed)]
        self._results[:] = [*taken_back, self._results[failed], *[aborted] * left]

    def _take_back(self, count: int) -> dict[int, P4RuntimeError]:
        """Undo the first `count` updates, the last first; those that it fails for, and why."""
        kept = {}
        for at in reversed(range(count)):
            for update in self._undone[at]:
                try:
                    self._apply(update)
                except P4RuntimeError as error:
                    kept[at] = P4RuntimeError(Code.INTERNAL, f"not taken back: {error.message}")
        return kept
