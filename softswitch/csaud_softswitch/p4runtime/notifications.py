"""What the data plane tells the controllers of its own accord: digest lists and idle entries.

Source: P4Runtime specification 1.4, sections 16.3 and 16.4.
"""

from __future__ import annotations

from csaud_softswitch._core import Switch
from csaud_softswitch.p4runtime.arbitration import Arbitration
from csaud_softswitch.p4runtime.pipeline import PipelineManager
from csaud_softswitch.p4runtime.proto import p4r

IDLE_SCAN_NS = 100_000_000
"""How often entries that were idle for their timeout are looked for."""

MAX_IDLE = 512
"""Entries in one notification: a client accepts 4 MB in one message unless it says otherwise."""


class Notifications:
    """Collects and sends what the committed pipeline has to say."""

    def __init__(self, arbitration: Arbitration, pipelines: PipelineManager) -> None:
        self._arbitration = arbitration
        self._pipelines = pipelines
        self._next_scan = 0

    def pump(self, switch: Switch, now: int, epoch_ns: int) -> None:
        """Send what is due; `epoch_ns` is the time that messages carry."""
        digests = switch.poll_digests()
        if (pipeline := self._pipelines.committed) is None:
            return
        store = pipeline.state.digests
        due = [found for name, values, _ in digests for found in store.add(name, values, now)]
        for digest_list in [*due, *store.due(now)]:
            digest_list.timestamp = epoch_ns
            self._send_digests(digest_list)
        tables = pipeline.state.tables
        if tables.has_idle_timeouts and now >= self._next_scan:
            self._next_scan = now + IDLE_SCAN_NS
            entries = tables.poll_idle()
            for at in range(0, len(entries), MAX_IDLE):
                self._send_idle(entries[at : at + MAX_IDLE], epoch_ns)

    def deadline(self, now: int) -> int | None:
        """When pump() has to be called next, though nothing happened; None: not before something does."""
        if (pipeline := self._pipelines.committed) is None:
            return None
        times = [pipeline.state.digests.deadline()]
        if pipeline.state.tables.has_idle_timeouts:
            times.append(max(now, self._next_scan))
        return min((time for time in times if time is not None), default=None)

    def _send_digests(self, digests: p4r.DigestList) -> None:
        for session, limits in self._arbitration.primaries():
            if limits is None or digests.digest_id in limits.ids:
                session.send(p4r.StreamMessageResponse(digest=digests))

    def _send_idle(self, entries: list[p4r.TableEntry], epoch_ns: int) -> None:
        for session, limits in self._arbitration.primaries():
            mine = [entry for entry in entries if limits is None or entry.table_id in limits.ids]
            if mine:
                message = p4r.StreamMessageResponse()
                message.idle_timeout_notification.timestamp = epoch_ns
                message.idle_timeout_notification.table_entry.extend(mine)
                session.send(message)
