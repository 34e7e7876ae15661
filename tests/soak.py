"""A long run of real ranks, with memory that stays flat: `python -m tests.soak --packets 1e8`.

Two ranks on the loopback interface run collectives of many sizes; each tells its resident memory after every
tenth of the packets. Exit status 1 where a rank has grown by more than 8 MB after the first three tenths, in
which what is bounded (names of finished messages, flow times, flight records) may fill.
"""

import argparse
import sys

from tests.hostlib.jobs import Job

COUNTS = [1, 1000, 30_000, 300_000]
MEGABYTE = 1 << 20
ALLOWED = 8 * MEGABYTE


def soak(packets: int, world: int, timeout: float) -> list[list[int]]:
    """Resident bytes of each rank at the begin and after each tenth of `packets` DATA packets of its own."""
    arguments = {"packets": packets, "counts": COUNTS, "settings": {"mtu": 1024}}
    with Job(world, "soak", arguments) as job:
        ends = job.ends(timeout=timeout)
    for end in ends:
        assert end["error"] is None, end["message"]
    return [end["memory"] for end in ends]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packets", type=float, default=1e8, help="DATA packets of each rank, both ways")
    parser.add_argument("--world", type=int, default=2, help="ranks")
    parser.add_argument("--timeout", type=float, default=86_400.0, help="seconds")
    options = parser.parse_args()
    flat = True
    for rank, memory in enumerate(soak(int(options.packets), options.world, options.timeout)):
        grown = memory[-1] - memory[3]
        flat = flat and grown <= ALLOWED
        sizes = " ".join(f"{size / MEGABYTE:.1f}" for size in memory)
        print(f"rank {rank}: {sizes} MB, {grown / MEGABYTE:+.1f} MB")
    print("flat" if flat else "NOT FLAT")
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
