"""The init of a run's namespaces: `python -m csaud_topologies.run.init RUN_DIR`.

`isolation.supervisor` starts it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from pathlib import Path

from csaud_runs.directory import RunDir
from csaud_runs.whole import write_whole

from csaud_topologies.base.interrupt import Interrupted, end_on_signals, interruption
from csaud_topologies.base.say import drop_unsaid
from csaud_topologies.isolation.rootdir import make_root_of_namespace


def main() -> int:
    """Run what RUN_DIR/options.json asks for; the exit status, also written to RUN_DIR/ended."""
    if os.getpid() != 1:
        print("csaud_topologies.run.init is started by `csaud net run`, not by hand", file=sys.stderr)
        return 2
    path = Path(sys.argv[1])
    try:
        make_root_of_namespace()
        from csaud_topologies.run.runner import run_session  # heavy, and while it is imported signals wait

        end_on_signals()
        status = run_session(path)
    except (Interrupted, Exception):
        interrupted = interruption()
        status = 1 if interrupted is None else interrupted.status
        with contextlib.suppress(OSError):
            if interrupted is None:
                traceback.print_exc()
            else:
                print("\ninterrupted; the fabric is gone", flush=True)
    drop_unsaid()
    write_whole(RunDir(path).ended, f"{status}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
