"""Messages and faults as data: drawn by hypothesis, which makes a schedule that fails as small as it can, and
played in the virtual network."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import csaud_testnet
from csaud import _core
from hypothesis import strategies as st

from tests.hostlib.core_support import DATA, MS, US, content, network

Status = _core.Status

PAYLOAD = 64
"""bytes of a packet, as the virtual network has them"""
DEAD_AFTER = 3_500 * MS


@dataclass(frozen=True)
class Message:
    """Sent `gap_us` after the one before it; its receive is posted `lag_us` after that, or before."""

    src: int
    hop: int
    """to rank src + 1 + hop, counted among the others"""
    packets: int
    odd: int
    """bytes short of full packets"""
    gap_us: int
    lag_us: int

    @property
    def size(self) -> int:
        return max(0, self.packets * PAYLOAD - self.odd)

    def dst(self, world: int) -> int:
        return (self.src + 1 + self.hop % (world - 1)) % world


@dataclass(frozen=True)
class Strike:
    """What befalls `count` packets that `src` sends, from its `first` on; of DATA or of control."""

    src: int
    first: int
    count: int
    data: bool
    fate: str
    delay_us: int = 0

    @property
    def verdict(self) -> Any:
        return (self.fate, self.delay_us * US) if self.fate in ("delay", "duplicate") else self.fate


@dataclass(frozen=True)
class Partition:
    """No packet passes between the ranks of `side` (bits) and the others, for a time."""

    at_us: int
    for_us: int
    side: int


@dataclass(frozen=True)
class Pause:
    """The rank's process does not run for a time; what comes meanwhile waits."""

    rank: int
    at_us: int
    for_us: int


@dataclass(frozen=True)
class Kill:
    """The rank is silent from then on."""

    rank: int
    at_us: int


@dataclass(frozen=True)
class Schedule:
    """One run. Times are from its begin."""

    world: int
    settings: dict[str, Any]
    link: dict[str, Any]
    chance: dict[str, float]
    seed: int
    messages: tuple[Message, ...]
    faults: tuple[Strike | Partition | Pause | Kill, ...] = ()


@dataclass
class Outcome:
    """What became of every post."""

    net: Any
    world: int
    posts: list[tuple[int, int, int, bool]] = field(default_factory=list)
    """Rank, id, number of the message, whether it is the receive."""
    dead: set[int] = field(default_factory=set)
    results: dict[tuple[int, int], Any] = field(default_factory=dict)
    """By rank and id; only what has completed."""

    def collect(self) -> None:
        """Takes completions; each post has one."""
        for rank in range(self.world):
            for completion in self.net.completions(rank):
                assert (rank, completion.id) not in self.results, "completed twice"
                self.results[rank, completion.id] = completion


def messages(world: int) -> st.SearchStrategy[tuple[Message, ...]]:
    one = st.builds(
        Message,
        src=st.integers(0, world - 1),
        hop=st.integers(0, world - 2),
        packets=st.integers(0, 40),
        odd=st.integers(0, PAYLOAD - 1),
        gap_us=st.integers(0, 3_000),
        lag_us=st.integers(-2_000, 5_000),
    )
    return st.lists(one, min_size=1, max_size=8).map(tuple)


def faults(world: int, *, kills: bool) -> st.SearchStrategy[tuple[Any, ...]]:
    """Without kills, faults that heal soon enough for nobody to be taken for dead."""
    rank, begin = st.integers(0, world - 1), st.integers(0, 20_000)
    while_us = st.integers(0, 700_000)
    strikes = st.lists(
        st.one_of(
            st.builds(
                Strike,
                src=rank,
                first=st.integers(0, 200),
                count=st.integers(1, 30),
                data=st.just(True),
                fate=st.sampled_from(["drop", "trim", "corrupt", "mark", "delay", "duplicate"]),
                delay_us=st.integers(0, 5_000),
            ),
            st.builds(
                Strike,
                src=rank,
                first=st.integers(0, 100),
                count=st.integers(1, 2),
                data=st.just(False),
                fate=st.sampled_from(["drop", "corrupt", "delay", "duplicate"]),
                delay_us=st.integers(0, 5_000),
            ),
        ),
        max_size=3,
    )
    apart = st.lists(
        st.builds(Partition, at_us=begin, for_us=while_us, side=st.integers(1, (1 << world) - 2)), max_size=2
    )
    held = st.lists(st.builds(Pause, rank=rank, at_us=begin, for_us=while_us), max_size=2)
    dead = st.lists(st.builds(Kill, rank=rank, at_us=begin), min_size=1, max_size=2)
    parts = [strikes, apart, held, *([dead] if kills else [])]
    return st.tuples(*parts).map(lambda found: tuple(one for part in found for one in part))


@st.composite
def schedules(draw: st.DrawFn, *, kills: bool = False) -> Schedule:
    world = draw(st.integers(2, 5))
    rate = st.sampled_from([0.0, 0.0, 0.01, 0.1])
    return Schedule(
        world=world,
        settings={
            "paths": draw(st.integers(1, 8)),
            "window": draw(st.sampled_from([32, 1, 2, 7, 48])),
            "path_policy": draw(st.sampled_from(list(_core.PathPolicy))),
        },
        link={
            "latency": draw(st.sampled_from([50, 5, 500])) * US,
            "jitter": draw(st.sampled_from([0, 20, 100])) * US,
            "rate_bps": draw(st.sampled_from([0, 200_000_000])),
            "signal": draw(st.sampled_from(["trim", "bounce", "both"])),
        },
        chance={
            "drop_data": draw(rate),
            "drop_control": draw(rate),
            "trim": draw(rate),
            "duplicate": draw(rate),
        },
        seed=draw(st.integers(0, 1 << 32)),
        messages=draw(messages(world)),
        faults=draw(faults(world, kills=kills)),
    )


class _Fates:
    """The hook that carries out strikes and partitions."""

    def __init__(self, schedule: Schedule) -> None:
        self._strikes = [fault for fault in schedule.faults if isinstance(fault, Strike)]
        self._partitions = [fault for fault in schedule.faults if isinstance(fault, Partition)]
        self._sent: dict[tuple[int, bool], int] = {}

    def __bool__(self) -> bool:
        return bool(self._strikes or self._partitions)

    def __call__(self, packet: Any) -> Any:
        for apart in self._partitions:
            now = 0 <= packet.now - apart.at_us * US < apart.for_us * US
            if now and (apart.side >> packet.src & 1) != (apart.side >> packet.dst & 1):
                return "drop"
        data = packet.type == DATA
        number = self._sent.get((packet.src, data), 0)
        self._sent[packet.src, data] = number + 1
        for strike in self._strikes:
            if (strike.src, strike.data) == (packet.src, data) and 0 <= number - strike.first < strike.count:
                return strike.verdict
        return None


def play(schedule: Schedule) -> Outcome:
    """Post everything and let every fault happen; what is unfinished then is the caller's to wait for."""
    fates = _Fates(schedule)
    net = network(schedule.world, link=schedule.link, hook=fates if fates else None, **schedule.settings)
    chance = csaud_testnet.Chance()
    for name, value in schedule.chance.items():
        setattr(chance, name, value)
    chance.seed = schedule.seed
    net.set_chance(chance)
    outcome = Outcome(net, schedule.world)
    for at_us, _, (what, subject) in sorted(_events(schedule)):
        net.run_until(max(net.now, at_us * US))
        if what in ("send", "receive"):
            message = schedule.messages[subject]
            rank = message.src if what == "send" else message.dst(schedule.world)
            if rank not in outcome.dead:
                _post(outcome, subject, message, what == "receive")
        elif what == "kill":
            net.kill(subject)
            outcome.dead.add(subject)
        elif subject not in outcome.dead:
            (net.stop if what == "stop" else net.resume)(subject)
    return outcome


def _events(schedule: Schedule) -> list[tuple[int, int, tuple[str, Any]]]:
    """(time in us, order, what happens)."""
    found: list[tuple[int, tuple[str, Any]]] = []
    at_us = 2_000  # a receive may come before its send
    for index, message in enumerate(schedule.messages):
        at_us += message.gap_us
        found += [(at_us, ("send", index)), (at_us + message.lag_us, ("receive", index))]
    for fault in schedule.faults:
        if isinstance(fault, Pause):
            found += [
                (fault.at_us, ("stop", fault.rank)),
                (fault.at_us + fault.for_us, ("resume", fault.rank)),
            ]
        elif isinstance(fault, Kill):
            found.append((fault.at_us, ("kill", fault.rank)))
    return [(at_us, order, event) for order, (at_us, event) in enumerate(found)]


def body(index: int, message: Message) -> bytes:
    """What is sent as the message of this number."""
    return content(message.size, index)


def _post(outcome: Outcome, index: int, message: Message, receive: bool) -> None:
    src, dst = message.src, message.dst(outcome.world)
    if receive:
        rank, id_ = dst, outcome.net.post_recv(dst, src, message.size, coll_seq=1 + index)
    else:
        rank, id_ = src, outcome.net.post_send(src, dst, body(index, message), coll_seq=1 + index)
    outcome.posts.append((rank, id_, index, receive))
