"""The fabric's controller: inventory, paths, policies, and the P4Runtime programming of every switch."""

import os

# Read when gRPC is imported, which else adds lines of its own to logs, one a handshake that fails.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
