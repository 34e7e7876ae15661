"""How throughput falls when tables grow, with packets whose keys are drawn from all over the tables.

Exact: buckets of weighted spraying (group, bucket), and with them a path and a /24 route for each 64 buckets.
LPM: routes of /16 to /32. Ternary: policies under random priorities, with 32 different masks.

Twice: through veth ports, which is what the targets are about, and in process, where nothing but the program
takes time, so that a cache miss more weighs more; there ternary entries also come with 1,000 masks.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from statistics import median
from typing import Any

from bench import native
from bench.results import Result, result
from bench.rig import Rig, rig, soft

SMALL = 10
_FRAME = 1100
_FRAMES = 16384
_KINDS: dict[str, tuple[str, str, int, int, float | None]] = {
    # kind: (option, spray mode, masks, large size, most that may be lost)
    "exact": ("buckets", "weighted", 1, 100_000, 0.10),
    "LPM": ("routes", "ecmp", 1, 100_000, 0.20),
    "ternary": ("policies", "ecmp", 32, 10_000, 0.50),
    "ternary, 1000 masks": ("policies", "ecmp", 1000, 10_000, None),
}


def through_ports(
    cores: tuple[int, int], *, seconds: float, rounds: int, largest: int | None = None
) -> list[Result]:
    """The fall of throughput from 10 entries to the largest size, through veth ports. With `largest` for LPM
    alone: the others are programmed in the same way.
    """
    rows = []
    for kind, (option, spray, masks, large, most_lost) in _KINDS.items():
        if most_lost is None or (largest is not None and kind != "LPM"):
            continue
        large = min(large, largest or large)
        rates = {}
        for size in (SMALL, large):  # a switch each, as the entries of one are not among the other's
            fill = [f"--{option}", str(size), "--masks", str(masks)]
            with rig(soft(), cores, table_size=2 * large) as running:
                _install(running, spray, fill)
                found = [
                    running.blast(seconds=seconds, size=_FRAME, fill=[*fill, "--frames", str(_FRAMES)])
                    for _ in range(2 * rounds)
                ]
            rates[size] = median(one.forwarded for one in found)
        rows.append(
            result(
                f"veth, {kind} table of {large:,}", rates[large], "packets/s", peer=f"{SMALL} entries",
                peer_value=rates[SMALL], bound="at least", limit=1 - most_lost,
            )
        )  # fmt: skip
    return rows


def in_process(core: int, *, packets: int, rounds: int, largest: int | None = None) -> list[Result]:
    """For each kind of table a curve, and its fall from 10 entries to the largest size."""
    rows = []
    for kind, (option, spray, masks, large, _) in _KINDS.items():
        large = min(large, largest or large)
        sizes = [size for size in (SMALL, 100, 1000, 10_000, 100_000) if size < large] + [large]
        rates: dict[int, list[float]] = {size: [] for size in sizes}
        for _ in range(rounds):
            for size in sizes:
                options: dict[str, int | str] = {"spray": spray, "masks": masks, option: size}
                found = native.hop(core, hops=1, bytes=_FRAME, packets=packets, different=_FRAMES, **options)
                rates[size].append(found["hops_per_second"])
        for size in sizes:
            small = size == SMALL
            rows.append(
                result(
                    f"in process, {kind}, {size:,} entries", median(rates[size]), "packets/s",
                    peer=None if small else f"{SMALL} entries",
                    peer_value=None if small else median(rates[SMALL]),
                    at={"curve": f"table {kind}", "x": size},
                )
            )  # fmt: skip
    return rows


def _install(running: Rig, spray: str, fill: Sequence[str]) -> None:
    """The entries that the generator's packets are for, beside those that are there."""
    argv = [str(native.path("csaud_switch_traffic")), *fill, "--print-entries", "1"]
    told = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    running.write(list(_entries(told, spray)))


def _entries(told: dict[str, Any], spray: str) -> list[dict[str, Any]]:
    def insert(table: str, match: dict[str, Any], action: str, **body: Any) -> dict[str, Any]:
        return {"insert": {"table": f"CsaudIngress.{table}", "match": match,
                           "action": f"CsaudIngress.{action}", **body}}  # fmt: skip

    first = 1000  # groups, out of the way of those that are there
    params = {"seed": 7} if spray == "ecmp" else {}
    items: list[dict[str, Any]] = [
        {"insert": {"table": "CsaudIngress.spray.paths", "match": {"group": first + n}, "group": 7}}
        for n in range(1, told["groups"] + 1)
    ]
    items += [
        insert("spray.buckets", {"group": first + 1 + n // told["buckets_of_a_group"],
                                 "bucket": n % told["buckets_of_a_group"]},
               "spray.set_index", params={"index": n % 4})
        for n in range(told["buckets"])
    ]  # fmt: skip
    items += [
        insert("spray.policy", _ternary(policy), f"spray.{spray}", priority=100 + policy[6], params=params)
        for policy in told["policies"]
    ]  # fmt: skip
    items += [
        insert("route.ipv4_lpm", {"dst": f"{prefix}/{length}"}, "route.set_group",
               params={"group": first + group})
        for prefix, length, group in told["routes"]
    ]  # fmt: skip
    return items


def _ternary(policy: Sequence[int]) -> dict[str, str]:
    """Fields that are looked at at all, from [asked, its mask, cls, its mask, comm, its mask, ...]."""
    fields = zip(("asked", "cls", "comm"), policy[0:6:2], policy[1:6:2], strict=True)
    return {name: f"{value}&&&{mask}" for name, value, mask in fields if mask}
