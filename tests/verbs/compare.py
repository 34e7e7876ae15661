"""`python -m tests.verbs.compare [--pairs 5] [--loss 1%]`: a stream over the verbs device and RC by perftest,
in turn, on the same two Soft-RoCE devices and the same lossy link of a guest. A row each, and their ratio."""

import argparse
import re
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.support import rxe
from tests.support.ranks import InGuest, Rank, run_job

SETUP = Path(__file__).parent / "guest" / "veths.sh"
SENDER, RECEIVER = ("rv0", "10.9.0.1"), ("rv1", "10.9.0.2")
MESSAGE, COUNT = 819_200, 8  # bytes, 200 packets; messages
SEED = 41


def dropped(guest: rxe.RxeGuest) -> int:
    """Packets that the link has lost."""
    shown = rxe.shell(guest.guest, "tc -s qdisc show dev v0; tc -s qdisc show dev v1")
    return sum(int(count) for count in re.findall(r"dropped (\d+)", shown))


def ours(guest: rxe.RxeGuest) -> dict[str, Any]:
    """What the ranks of the stream return, and `goodput_MBps`."""
    place = InGuest(guest.guest)
    ranks = [
        Rank(place, address, {"device": "verbs", "verbs_device": name})
        for name, address in (SENDER, RECEIVER)
    ]
    results = run_job(ranks, "127.0.0.1", "stream", {"seed": SEED, "length": MESSAGE // 4, "count": COUNT})
    goodput = MESSAGE * COUNT / results[0]["seconds"] / 1e6
    return {"results": results, "goodput_MBps": goodput}


def reliable(guest: rxe.RxeGuest) -> float:
    """Goodput of perftest's own two processes, the kernel's RC between them, as many bytes; MB/s."""
    words = f"ib_send_bw -x 1 -c RC -s {MESSAGE} -n {COUNT} -m 4096 -F"
    shown = rxe.shell(
        guest.guest,
        f"{words} -d {RECEIVER[0]} >/tmp/server.log 2>&1 & "
        f"until ss -ltn | grep -q :18515; do :; done; "
        f"{words} -d {SENDER[0]} 127.0.0.1; wait $!",
        timeout_s=120,
    )
    [(_, average)] = re.findall(rf"^ {MESSAGE} +{COUNT} +([\d.]+) +([\d.]+)", shown, re.MULTILINE)
    return float(average) * 2**20 / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.verbs.compare", description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--loss", default="1%")
    given = parser.parse_args()
    reason = rxe.missing()
    if reason is not None:
        print(reason, file=sys.stderr)
        return 1
    ratios = []
    print("| pair | verbs MB/s | RC MB/s | ratio | data packets | sent again | control packets |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, rxe.booted(Path(folder)) as guest:
        rxe.shell(guest.guest, f"sh {SETUP} up {given.loss}")
        for pair in range(1, given.pairs + 1):
            stream = ours(guest)
            peer = reliable(guest)
            sender, receiver = (result["stats"] for result in stream["results"])
            again = sum(sender[f"rtx_{name}"] for name in ("loss", "gap", "interval", "probe"))
            control = sender["tx_control"] + receiver["tx_control"]
            ratios.append(stream["goodput_MBps"] / peer)
            print(
                f"| {pair} | {stream['goodput_MBps']:.2f} | {peer:.2f} | {ratios[-1]:.2f} | "
                f"{sender['tx_data']} | {again} | {control} |",
                flush=True,
            )
    print(f"| median | | | {statistics.median(ratios):.2f} | | | |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
