"""finsy tells of a failed task by its log alone: this passes on which switch it was and why."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

_TASK = re.compile(r"fy:([^|]+)\|")


class FailedTasks(logging.Handler):
    """Calls `on_failure(switch name, exception)` for every task of finsy's that fails."""

    def __init__(self, on_failure: Callable[[str, BaseException], None]) -> None:
        super().__init__(logging.ERROR)
        self._on_failure = on_failure

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        task = _TASK.match(str(record.args[0])) if isinstance(record.args, tuple) and record.args else None
        if error is not None and task is not None:
            self._on_failure(task[1], error)


def attach(on_failure: Callable[[str, BaseException], None]) -> FailedTasks:
    """Start passing failures on; finsy's own lines go no further. Undo with `detach`."""
    handler = FailedTasks(on_failure)
    logger = logging.getLogger("finsy")
    logger.addHandler(handler)
    logger.propagate = False
    return handler


def detach(handler: FailedTasks) -> None:
    """Stop passing failures on."""
    logger = logging.getLogger("finsy")
    logger.removeHandler(handler)
    logger.propagate = True
