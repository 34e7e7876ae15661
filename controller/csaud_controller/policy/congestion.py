"""How full a port may get: thresholds of cutting, dropping and alarm, and marks in between.

All of them are in packets of the port's occupancy shadow, the P4 program's own count of what waits there.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, model_validator

from csaud_controller.base.seeds import derive
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import LinkDefaults
from csaud_controller.program.entities import Entry, call, entry

DEEPEST = 0xFFFF
"""Packets: what the P4 program can count to."""
_DEPTH = Field(default=None, ge=1, le=DEEPEST)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Limits(_Strict):
    """Packets waiting for a port; what is not given follows from the port's buffer (see `thresholds`)."""

    trim_at: int | None = _DEPTH
    """From here on DATA is cut."""
    no_trim_at: int | None = _DEPTH
    """From here on DATA that asks not to be trimmed is cut, too; trim_at: such a wish is ignored."""
    other_at: int | None = _DEPTH
    """From here on traffic that is not CSA does not come in; only its own packets count."""
    drop_at: int | None = _DEPTH
    """From here on nothing comes in."""
    alarm_at: int | None = _DEPTH
    """What comes in from here on is counted as overflow and raises the alarm."""

    @model_validator(mode="after")
    def _check(self) -> Limits:
        below_drop_at = [(low, "drop_at") for low in ("no_trim_at", "trim_at", "other_at")]
        for low, high in [("trim_at", "no_trim_at"), *below_drop_at]:
            below, above = getattr(self, low), getattr(self, high)
            if below is not None and above is not None and below > above:
                raise FieldError((low,), f"expected at most {high} ({above}), got {below}")
        return self


class Thresholds(NamedTuple):
    """Limits with nothing left open, packets."""

    trim_at: int
    no_trim_at: int
    other_at: int
    drop_at: int
    alarm_at: int


LEAST_MARKED = 8
"""Packets waiting, from which on all are marked by default: no slow link has fewer."""


def thresholds(limits: Limits, link: LinkDefaults) -> Thresholds:
    """The limits of a port whose link is `link`. ValueError when the buffer leaves no room for what is given.

    By default nothing comes in at 15/16 of the buffer, so that no queue drops unseen; DATA is cut at a
    quarter of it; DATA that asks not to be has room up to the middle between both; other traffic has an
    eighth, in a count of its own: as much as DATA takes, whose senders are told to slow down from there on;
    and the alarm is raised in the last eighth of what is left for everything else.
    """
    buffer = link.buffer
    drop_at = limits.drop_at or max(1, min(buffer - (buffer + 15) // 16, DEEPEST))
    trim_at = limits.trim_at or min(max(1, buffer // 4), limits.no_trim_at or drop_at, drop_at)
    no_trim_at = limits.no_trim_at or (trim_at + drop_at) // 2
    if not trim_at <= no_trim_at <= drop_at:
        raise ValueError(
            f"expected trim_at <= no_trim_at <= drop_at, got {trim_at}, {no_trim_at} and {drop_at}"
            f" in a buffer of {buffer} packets"
        )
    alarm_at = limits.alarm_at or drop_at - (drop_at - no_trim_at) // 8
    other_at = limits.other_at or min(max(1, buffer // 8), drop_at)
    return Thresholds(trim_at, no_trim_at, other_at, drop_at, alarm_at)


def loss_byte_time(rate: int, share: float) -> int:
    """How long a byte takes in the share of a link (bits per second) that LOSS may have before DATA, in units
    of 2^-16 microseconds, rounded up: no more than its share, on fast links less. 0: no bound, or a link
    without a rate."""
    if not rate or share == 1:
        return 0
    return min(ceil(8e6 * (1 << 16) / (rate * share)), 0xFFFF_FFFF)


class Ecn(_Strict):
    """Packets whose sender listens (ECT) are marked: never below `low`, always from `high` on, and with a
    probability that rises linearly in between."""

    low: int = Field(ge=0, le=0xFFFF)
    high: int = Field(ge=1, le=0xFFFF)

    @model_validator(mode="after")
    def _check(self) -> Ecn:
        if self.low > self.high:
            raise FieldError(("low",), f"expected at most high ({self.high}), got {self.low}")
        return self


def ecn_between(ecn: Ecn | bool, limits: Thresholds, share: float = 1) -> Ecn | None:
    """Where marking begins and ends; None: no marks. By default (True) from half of trim_at to trim_at, so
    that senders hear of a queue before it is cut; on a link with only a `share` of the rate of those beside
    it that share of both, as marks tell senders which path to leave and a queue takes longer there."""
    if ecn is True:
        high = min(limits.trim_at, max(LEAST_MARKED, round(limits.trim_at * share)))
        return Ecn(low=high // 2, high=high)
    return ecn or None


def limit_entries(port: int, limits: Thresholds, byte_time: int, alarm_interval_ns: int) -> list[Entry]:
    """Entries of `congestion.limits`, of `loss_signal.return_limits` (the same for what is sent back out of
    the port) and of `congestion.alarm` (alarms are told at most once an interval; 0: only counted)."""
    returned = call(
        "loss_signal.set_return_limits",
        trim_at=limits.trim_at,
        drop_at=limits.drop_at,
        alarm_at=limits.alarm_at,
        loss_byte_time=byte_time,
    )
    set_limits = call("congestion.set_limits", **limits._asdict(), loss_byte_time=byte_time)
    entries = [
        entry("congestion.limits", {"port": port}, set_limits),
        entry("loss_signal.return_limits", {"port": port}, returned),
    ]
    if alarm_interval_ns:
        report = call("congestion.report", interval_us=max(1, alarm_interval_ns // 1000))
        entries.append(entry("congestion.alarm", {"port": port}, report))
    return entries


def ecn_entries(switch: str, port: int, marked: Ecn | None, seed: int) -> list[Entry]:
    """The entry of `ecn.marking`; none where nothing is marked."""
    if marked is None:
        return []
    between = call(
        "ecn.mark_between", low=marked.low, high=marked.high, seed=derive(seed, "ecn", switch, port)
    )
    return [entry("ecn.marking", {"port": port}, between)]
