"""The named checks that decide a run's exit status: each with the value found and the value expected."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from csaud_topologies.record.books import KINDS, Books, HostCounts


@dataclass(frozen=True)
class Check:
    """One verdict of the report."""

    name: str
    value: Any
    expected: str
    passed: bool
    about: str


def equal_results(ranks: Sequence[dict[str, Any]], reference: dict[str, Any]) -> Check:
    """Every rank's result (weights, or all sums) has the reference's bits."""
    wrong = [rank for rank, result in enumerate(ranks) if result.get("digest") != reference.get("digest")]
    value = "equal" if not wrong else f"ranks {', '.join(map(str, wrong))} differ"
    about = "SHA-256 of weights and of every sum, against one process that sums all shards in ring order"
    return Check("results bit-equal", value, "equal", not wrong and bool(ranks), about)


def ranks_ended(ended: Mapping[int, str], deaths: int) -> Check:
    """Every process of a user's own program ended with status 0, but for as many as may fail; `ended` has how
    those did that failed, by rank."""
    found = ", ".join(f"rank {rank}: {how}" for rank, how in ended.items()) or "all with status 0"
    expected = f"all but {deaths} with status 0" if deaths else "all with status 0"
    return Check("ranks ended", found, expected, len(ended) <= deaths, "processes of the program")


def counters_left(missing: Sequence[int], excused: Collection[int]) -> Check:
    """Who used the fabric has said what it counted; of those that might die nobody expects it."""
    found = "all" if not missing else f"not rank {', '.join(map(str, missing))}"
    expected = f"all but rank {', '.join(map(str, sorted(excused)))}" if excused else "all"
    about = "ranks that left their counters; lines of the books that need others are left out"
    return Check("counters left", found, expected, set(missing) <= set(excused), about)


def all_steps(done: Sequence[int], steps: int) -> Check:
    """Every rank finished all steps."""
    fewest = min(done, default=0)
    return Check("steps finished", fewest, str(steps), fewest == steps, "by the slowest rank")


def learned(accuracy: float | None, least: float) -> Check:
    """The model learned something; a guess against absurd results, not a benchmark."""
    value = round(accuracy or 0.0, 4)
    return Check("test accuracy", value, f">= {least}", value >= least, "on the held-out samples, at the end")


def of_books(books: Books) -> list[Check]:
    """One check for each line of the job's books, one for all switches and one for all links."""
    checks = [
        Check(f"books: {line.name}", line.left, str(line.right), line.balanced, line.about)
        for line in books.lines
    ]
    wrong = [line.name for line in books.switches if not line.balanced]
    about = "packets of each CSA kind into each switch = packets out of it and what it took"
    checks.append(Check("books: switches", _names(wrong), "all balanced", not wrong, about))
    lost = [
        f"{c.source}>{c.target} {KINDS[c.kind]} {c.missing:+d}" for c in books.crossings if not c.balanced
    ]
    about = "a link that was never down delivered every CSA packet that left its end"
    checks.append(Check("books: links", _names(lost), "all balanced", not lost, about))
    return checks


def no_hidden_drops(hosts: Sequence[HostCounts], switches: dict[str, int]) -> Check:
    """Nothing was dropped where no book counts it: receive queues of hosts, rings and queues of switches."""
    found = {f"host queue {index}": host.rx_queue_drops for index, host in enumerate(hosts)} | switches
    total = sum(found.values())
    worst = ", ".join(f"{place}: {packets}" for place, packets in found.items() if packets)
    about = "packets dropped outside the P4 program" + (f" ({worst})" if worst else "")
    return Check("hidden drops", total, "0", total == 0, about)


def nothing_rejected(stats: Sequence[dict[str, Any]], epochs: bool = False) -> Check:
    """No host found a malformed, foreign or impossible packet. `epochs`: one may follow another, and what was
    under way in the last one comes late."""
    names = {key for host in stats for key in host if key.startswith("rx_bad_")}
    if not epochs:
        names.add("rx_stale_epoch")
    bad = {name: sum(int(host.get(name, 0)) for host in stats) for name in sorted(names)}
    found = ", ".join(f"{name} {packets}" for name, packets in bad.items() if packets)
    about = "packets that hosts refused: wrong lengths, iCRC, keys, epochs or indices"
    return Check("packets refused", found or "none", "none", not found, about)


def as_planned(name: str, value: int, about: str) -> Check:
    """Something that the scenario asks for did happen (or else the run shows less than it claims)."""
    return Check(name, value, "> 0", value > 0, about)


def marks(seen: int, made: int) -> Check:
    """Hosts see no ECN mark that no switch made; a marked copy can still be lost."""
    about = "DATA with an ECN mark that hosts received, against those that switches marked"
    return Check("ECN marks", seen, f"<= {made}", seen <= made, about)


def _names(wrong: list[str]) -> str:
    shown = ", ".join(wrong[:4])
    return "all balanced" if not wrong else shown + (f" and {len(wrong) - 4} more" if len(wrong) > 4 else "")
