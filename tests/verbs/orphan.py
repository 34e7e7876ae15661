"""Starts a guest, says its process id, and waits for the end; test_guest.py kills this process.

Usage: python orphan.py RESULTS
"""

import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


def main() -> None:
    from tests.support import rxe

    with rxe.booted(Path(sys.argv[1])) as guest:
        print(guest.guest.pid, flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
