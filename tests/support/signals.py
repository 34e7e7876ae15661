"""Signals of processes that tests start."""

import signal


def heeds_signals() -> None:
    """A `preexec_fn`: SIGHUP and SIGINT mean something to the new process, though the tests themselves may
    run under nohup or in a shell's background."""
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
