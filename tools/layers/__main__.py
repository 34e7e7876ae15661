"""python -m tools.layers: whether native code includes only what tools/layers/layers.toml allows."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.layers.check import TABLE, read_table, violations

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """0: it does; 1: it does not, one line each; 2: the table itself is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.layers", description=__doc__)
    parser.add_argument("--table", type=Path, default=TABLE, help="another table than %(default)s")
    parser.add_argument("--top", type=Path, default=ROOT, help="what its trees are relative to")
    given = parser.parse_args()
    try:
        trees = read_table(given.table.read_text(encoding="utf-8"), given.top)
    except (OSError, ValueError, KeyError) as error:
        print(f"{given.table}: {error}", file=sys.stderr)
        return 2
    found = [line for tree in trees for line in violations(tree)]
    print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
