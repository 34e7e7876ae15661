"""Starts a guest, says its process id, and waits for the end; test_guest.py kills this process.

Usage: python orphan.py RESULTS
"""

import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


def main() -> None:
    from csaud_lab.guests import debs, initramfs
    from csaud_lab.guests.guest import Guest, Settings

    from tests.support import rxe
    from tests.support.guest_wires import TapNetwork

    packages = debs.fetch(rxe.CACHE)
    network = TapNetwork(rxe.HOST, rxe.GUEST)
    guest = Guest(packages, initramfs.build(packages), [network.nic], Settings(rxe.AGENT, Path(sys.argv[1])))
    guest.start()
    print(guest.process.pid, flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
