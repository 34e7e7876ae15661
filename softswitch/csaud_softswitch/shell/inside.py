"""Runs inside the virtual environment of p4runtime-shell, and imports nothing of this project.

p4runtime-shell always has an election id, so it would be the primary controller of a switch that has none
yet, and two of them cannot have the same. Here it introduces itself without one: by the specification it is
then a backup for ever. It reads everything; what it writes is refused with PERMISSION_DENIED.
"""

from __future__ import annotations

import functools
import logging
import os
import signal
import sys
from typing import Any

import grpc
from p4.v1 import p4runtime_pb2
from p4runtime_sh import p4runtime, shell  # type: ignore[import-not-found]

HANDSHAKE_S = 10


class BackupClient(p4runtime.P4RuntimeClient):  # type: ignore[misc]
    def handshake(self) -> None:
        hello = p4runtime_pb2.StreamMessageRequest()
        hello.arbitration.device_id = self.device_id
        logging.disable()  # what is refused here is told in one line
        self.stream_out_q.put(hello)
        if self.get_stream_packet("arbitration", timeout=HANDSHAKE_S) is None:
            silent = self.stream.is_active()
            reason = "the switch does not answer" if silent else self.stream.details()
            sys.exit(f"csaud switch shell: {reason}")
        logging.disable(logging.NOTSET)


def main() -> None:
    shell.P4RuntimeClient = BackupClient
    if name := os.environ.get("CSAUD_SHELL_TLS_NAME"):
        open_channel: Any = grpc.secure_channel
        options = [("grpc.ssl_target_name_override", name)]
        grpc.secure_channel = functools.partial(open_channel, options=options)
    if code := os.environ.get("CSAUD_SHELL_EXECUTE"):
        start: Any = shell.start_ipython
        plain = ["--colors=NoColor", "--no-term-title", "-c", code]
        shell.start_ipython = lambda **options: start(**{**options, "argv": plain})
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough ends it, as any filter
    try:
        shell.main()
    except BaseException:
        # It leaves its stream open then, whose thread would keep the process from ending.
        if shell.client is not None:
            shell.client.tear_down()
        raise


if __name__ == "__main__":
    main()
