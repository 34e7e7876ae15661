"""`python -m csaud_controller run ...`: the controller process without the csaud command."""

import signal

# As in the background of a script: then Ctrl-C is for others.
IGNORED = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
if not IGNORED:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until all is imported, Ctrl-C ends it without a traceback

from csaud_controller.cli.controller import app  # noqa: E402

if not IGNORED:
    signal.signal(signal.SIGINT, signal.default_int_handler)
app(prog_name="csaud controller")
