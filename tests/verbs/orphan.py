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
    from tests.support.qemu import debs, initramfs
    from tests.support.qemu.guest import Guest, Settings
    from tests.support.qemu.network import TapNetwork

    packages = debs.fetch(rxe.CACHE)
    network = TapNetwork(rxe.HOST, rxe.GUEST)
    guest = Guest(packages, initramfs.build(packages), network, Settings(rxe.AGENT, Path(sys.argv[1])))
    guest.start()
    print(guest.pid, flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
