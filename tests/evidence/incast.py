"""An 8:1 incast whose every frame is accounted for.

Eight senders write frames of all kinds to one receiver, faster than its port sends, through one switch. Each
frame has a number of its own; what leaves the ports is captured, and what is missing must be in the counters
of the P4 program, exactly. Frames that vanish anywhere else (a full queue behind the program, an input that
drops) make the books wrong.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.softswitch.inputs import clones, csa, limits, member, path, return_limits, route, signal

SENDERS = tuple(range(1, 9))
RECEIVER = 9
PORTS = (*SENDERS, RECEIVER)

TRIM_AT, NO_TRIM_AT, DROP_AT, ALARM_AT, QUEUE = 40, 60, 80, 81, 100
"""Packets: nothing is admitted above drop_at, so an alarm, or a drop of a queue, must never be."""

OTHER, DATA, CONTROL = range(3)
WHOLE, TO_RECEIVER, TO_SENDER = 1, 2, 4
"""What became of a frame: it arrived, or a LOSS of it arrived at one end; bits, because BOTH makes two."""

NUMBER_AT, TYPE_AT, MAGIC_AT = 90, 64, 62
"""Bytes of a frame: its number is where CSA has tx_ts."""


@dataclass(frozen=True)
class Mode:
    """One entry of loss_signal.signal."""

    name: str
    action: str
    icrc: int = 0


MODES = (
    Mode("trim", "trim"),
    Mode("trim-icrc", "trim", icrc=1),
    Mode("bounce", "bounce"),
    Mode("both", "both"),
    Mode("drop", "drop"),
)


def programming(mode: Mode, *, alarm_at: int = ALARM_AT) -> list[dict[str, Any]]:
    """Entries of the switch: routes, limits of all ports, the signal of the receiver's."""
    updates: list[dict[str, Any]] = [clones()]
    for port in PORTS:
        updates += [member(port, port), path(port, member=port)]
        host = "10.0.2.1" if port == RECEIVER else f"10.0.1.{port}"
        updates.append(route(f"{host}/32", port))
        room = (TRIM_AT, DROP_AT, NO_TRIM_AT) if port == RECEIVER else (DROP_AT, DROP_AT, DROP_AT)
        updates += [limits(port, *room, alarm_at=alarm_at), return_limits(port, DROP_AT, alarm_at)]
    updates.append(signal(mode.action, RECEIVER, icrc=mode.icrc))
    return updates


class Traffic:
    """Frames of the senders in bursts that follow from a seed; each begins where the last one ended."""

    def __init__(self, seed: int, payload: int = 70) -> None:
        self.chance = random.Random(seed)
        self.kinds = bytearray()
        """Of the frame of this number."""
        self.data = 0
        """How much DATA there was so far."""
        self._data = {port: self._frame(port, payload) for port in SENDERS}
        self._no_trim = {port: self._frame(port, payload, flags=8) for port in SENDERS}
        self._control = {port: self._frame(port, 24, kind=4) for port in SENDERS}
        self._other = {port: self._other_frame(port) for port in SENDERS}

    @staticmethod
    def _frame(port: int, payload: int, **header: int) -> bytes:
        return csa(payload, src=f"10.0.1.{port}", src_rank=port, path_id=port, **header)

    def _other_frame(self, port: int) -> bytes:
        frame = bytearray(self._frame(port, 70))
        frame[36:38] = (5000).to_bytes(2, "big")  # UDP port: not RoCE
        return bytes(frame)

    def burst(self, port: int, count: int) -> list[bytes]:
        """The next `count` frames of a sender: mostly DATA, one in ten asks not to be trimmed."""
        frames = []
        for _ in range(count):
            what = self.chance.random()
            kind = DATA if what < 0.9 else CONTROL if what < 0.96 else OTHER
            if kind == DATA:
                frame = self._no_trim[port] if what < 0.09 else self._data[port]
            else:
                frame = self._control[port] if kind == CONTROL else self._other[port]
            number = len(self.kinds)
            self.kinds.append(kind)
            self.data += kind == DATA
            frames.append(frame[:NUMBER_AT] + number.to_bytes(4, "big") + frame[NUMBER_AT + 4 :])
        return frames

    def rounds(self, mean: int) -> Iterator[dict[int, int]]:
        """For ever: frames that each sender writes in a round, `mean` of all; now and then nobody does."""
        while True:
            busy = self.chance.random() < 0.7
            yield {
                port: self.chance.randint(0, 2 * round(mean / len(SENDERS) / 0.7)) if busy else 0
                for port in SENDERS
            }


@dataclass
class Captured:
    """What came out, by the frames' numbers."""

    kinds: bytearray
    outcomes: bytearray = field(default_factory=bytearray)
    twice: int = 0
    heard_of: int = 0
    """DATA that arrived, or of which the sender was told."""
    astray: int = 0
    """Came out where it should not, or was never written."""

    def frame(self, port: int, frame: bytes) -> None:
        """A frame that left by this port."""
        number = int.from_bytes(frame[NUMBER_AT : NUMBER_AT + 4], "big")
        if len(self.outcomes) < len(self.kinds):
            self.outcomes.extend(bytes(len(self.kinds) - len(self.outcomes)))
        if number >= len(self.kinds):
            self.astray += 1
            return
        is_loss = frame[TYPE_AT] == 3 and self.kinds[number] == DATA
        outcome = WHOLE if not is_loss else TO_RECEIVER if port == RECEIVER else TO_SENDER
        if not is_loss and port != RECEIVER:
            self.astray += 1
        if self.outcomes[number] & outcome:
            self.twice += 1
        self.outcomes[number] |= outcome
        self.heard_of += self.kinds[number] == DATA and outcome != TO_RECEIVER

    def summary(self) -> Counter[tuple[int, int]]:
        """(kind, outcome) -> frames."""
        self.outcomes.extend(bytes(len(self.kinds) - len(self.outcomes)))
        return Counter(zip(self.kinds, self.outcomes, strict=True))


Counts = Mapping[str, Mapping[str, list[int]]]
"""All counters of the program that are not zero: name -> index -> [packets, bytes]."""


@dataclass(frozen=True)
class Books:
    """Both sides of every equation, in frames."""

    mode: str
    written: dict[str, int]
    captured: dict[str, int]
    counted: dict[str, int]
    hidden: dict[str, int]
    """What the target says it dropped behind the program's back, as far as it can."""
    unexplained: dict[str, int]
    """Left side less right side of each equation; all zero."""

    @property
    def balanced(self) -> bool:
        return not any(self.unexplained.values()) and not any(self.hidden.values())

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "balanced": self.balanced}


def balance(mode: Mode, captured: Captured, counters: Counts, hidden: dict[str, int]) -> Books:
    """The books of a run after which everything is quiet."""
    found = captured.summary()

    def frames(kind: int | None, bit: int) -> int:
        return sum(n for (k, outcome), n in found.items() if kind in (None, k) and outcome & bit)

    def counted(name: str, kind: int | None = None) -> int:
        cells = counters.get(name, {})
        return sum(count[0] for index, count in cells.items() if kind is None or int(index) % 4 == kind)

    signal_ = "CsaudIngress.loss_signal."
    dropped = {kind: counted(f"{signal_}congestion_dropped", kind) for kind in (OTHER, DATA, CONTROL)}
    names = ("trimmed", "bounced", "both", "trim_sent", "trim_dropped", "bounce_sent", "bounce_dropped")
    c = {name: counted(signal_ + name) for name in names}
    alarm = counted("CsaudIngress.congestion.overflow") + counted("CsaudEgress.departure.overflow_egress")
    elsewhere = sum(
        counted(name)
        for name in (
            "CsaudIngress.fault.injected",
            "CsaudIngress.spray.no_path",
            "CsaudIngress.route.discarded",
        )
    )
    written = {kind: sum(n for (k, _), n in found.items() if k == kind) for kind in (OTHER, DATA, CONTROL)}
    to_receiver, to_sender = frames(DATA, TO_RECEIVER), frames(DATA, TO_SENDER)
    came = {kind: frames(kind, WHOLE) for kind in (OTHER, DATA, CONTROL)}
    all_captured = sum(came.values()) + to_receiver + to_sender
    drops = sum(dropped.values()) + c["trim_dropped"] + c["bounce_dropped"] + elsewhere
    nothing = sum(n for (kind, outcome), n in found.items() if kind == DATA and outcome == 0)
    unexplained = {
        "written + second LOSS of both - captured - counted drops": sum(written.values())
        + c["both"]
        - all_captured
        - drops,
        "DATA written - arrived - trimmed - bounced + both - dropped": written[DATA]
        - came[DATA]
        - c["trimmed"]
        - c["bounced"]
        + c["both"]
        - dropped[DATA],
        "control written - arrived - dropped": written[CONTROL] - came[CONTROL] - dropped[CONTROL],
        "other written - arrived - dropped": written[OTHER] - came[OTHER] - dropped[OTHER],
        "trimmed - LOSS at the receiver - trim dropped": c["trimmed"] - to_receiver - c["trim_dropped"],
        "bounced - LOSS at senders - bounce dropped": c["bounced"] - to_sender - c["bounce_dropped"],
        "trim sent - LOSS at the receiver": c["trim_sent"] - to_receiver,
        "bounce sent - LOSS at senders": c["bounce_sent"] - to_sender,
        "DATA of which nothing arrived beyond the drops": _beyond(mode, nothing, dropped[DATA], c),
        "overflow alarm": alarm,
        "frames that arrived twice or astray": captured.twice + captured.astray,
        "DATA that arrived and was lost, too": sum(
            n for (kind, outcome), n in found.items() if kind == DATA and outcome & WHOLE and outcome != WHOLE
        ),
    }
    return Books(
        mode=mode.name,
        written={"data": written[DATA], "control": written[CONTROL], "other": written[OTHER]},
        captured={
            "data": came[DATA],
            "control": came[CONTROL],
            "other": came[OTHER],
            "loss_at_receiver": to_receiver,
            "loss_at_senders": to_sender,
        },
        counted={
            **c,
            "congestion_dropped": sum(dropped.values()),
            "dropped_elsewhere": elsewhere,
            "overflow_alarm": alarm,
        },
        hidden=hidden,
        unexplained=unexplained,
    )


def _beyond(mode: Mode, nothing: int, dropped: int, c: Mapping[str, int]) -> int:
    """Of how much DATA nothing was heard that no counter explains. With BOTH, a packet is unheard of when
    both its LOSS were dropped, and how often that was no counter says: only a bound follows.
    """
    if mode.action == "both":
        return max(0, nothing - dropped - min(c["trim_dropped"], c["bounce_dropped"]))
    return nothing - dropped - c["trim_dropped"] - c["bounce_dropped"]
