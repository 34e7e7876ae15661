"""`python -m csaud_controller run ...`: the controller process without the csaud command."""

import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)  # until all is imported, Ctrl-C ends it without a traceback

from csaud_controller.cli.controller import app  # noqa: E402

signal.signal(signal.SIGINT, signal.default_int_handler)
app(prog_name="csaud controller")
