"""python -m csaud_sim.ns3: build the engine whose time ns-3 keeps, and say where it is."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from csaud_sim.ns3 import Unavailable, build, default_path


def main() -> int:
    """0: it is built; 1: it cannot be, with a line that says why."""
    parser = argparse.ArgumentParser(prog="python -m csaud_sim.ns3", description=__doc__)
    parser.add_argument("--out", type=Path, help=f"the library to write (default: {default_path()})")
    given = parser.parse_args()
    try:
        print(build(given.out))
    except (Unavailable, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
