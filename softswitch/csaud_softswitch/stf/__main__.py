"""python -m csaud_softswitch.stf TRACE.stf PROGRAM.json"""

from __future__ import annotations

import sys
from pathlib import Path

from csaud_softswitch import _core
from csaud_softswitch.stf.runner import Runner
from csaud_softswitch.stf.trace import TraceError, parse


def main(arguments: list[str]) -> int:
    """0: all frames are as the trace says; 1: they are not, or the trace or program cannot be run."""
    if len(arguments) != 2:
        print("usage: python -m csaud_softswitch.stf TRACE.stf PROGRAM.json", file=sys.stderr)
        return 2
    trace, program = (Path(argument) for argument in arguments)
    try:
        wrong = Runner(program.read_text(), parse(trace.read_text())).run()
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except _core.ProgramError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 1
    except TraceError as error:
        print(f"{trace}: {error}", file=sys.stderr)
        return 1
    for line in wrong:
        print(f"{trace}: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
