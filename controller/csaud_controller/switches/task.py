"""One switch, kept as it should be: session, pipeline, tables; forever, whoever is restarted."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import finsy as fy
from finsy.p4schema import P4SchemaCache

from csaud_controller.base.pace import Pace
from csaud_controller.base.rotation import Rotation
from csaud_controller.base.stretches import Stretches
from csaud_controller.desired.store import FIRST_ELECTION_ID
from csaud_controller.inventory import End
from csaud_controller.links.probes import ETHER_TYPE, Probe, decode, encode
from csaud_controller.links.trials import Shot
from csaud_controller.program.artifacts import Artifacts
from csaud_controller.program.digests import ALARMS
from csaud_controller.program.entities import TableState
from csaud_controller.switches import arbitration
from csaud_controller.switches.arrivals import packets_in
from csaud_controller.switches.backoff import Backoff
from csaud_controller.switches.codec import Codec
from csaud_controller.switches.errors import TlsError
from csaud_controller.switches.failures import heard_by
from csaud_controller.switches.reading import Reader
from csaud_controller.switches.reconcile import Step, plan, planning
from csaud_controller.switches.setting_aside import SetAside
from csaud_controller.switches.writing import held_after, write
from csaud_controller.targets import Target

LOG = logging.getLogger("csaud.controller")

shared_schema: Any = P4SchemaCache
"""Within it, all switches share what finsy makes of one P4Info (finsy's __init__ has no annotations)."""

_HANDSHAKE_S = 20.0
_PROBE_QUEUE = 512
"""packets in that may wait for the event loop"""
_SHOTS = 4096
"""packets that may wait to be sent"""
_TOLD = 20
"""refused updates that are named in the status"""
_ALARM_QUEUE = 64
"""messages with digests, likewise"""


@dataclass
class SwitchStatus:
    """What is known of one switch, for people and for `csaud fabric show`."""

    connected: bool = False
    primary: bool = False
    in_sync: bool = False
    applied: int = 0
    """Generation of the desired state that the switch was last seen to hold."""
    held: int = 0
    """Entries, members and groups."""
    updates: int = 0
    """Written since the controller started."""
    repairs: int = 0
    """Times that tables were found changed by somebody else."""
    programmed_s: float | None = None
    """Seconds from the session to tables in place, when it was last opened."""
    error: str = ""
    refused: list[str] = field(default_factory=list)
    """Updates that the switch does not take, the first of them in words; all others are in force."""
    refused_total: int = 0


@dataclass(frozen=True)
class Hooks:
    """What a switch's task asks of, and tells, the controller it belongs to."""

    desired: Callable[[str], tuple[int, TableState]]
    """Generation and contents of the desired state of a switch."""
    ready: Callable[[str], None]
    """Tables are in place after a session was opened."""
    lost: Callable[[str], None]
    """The session ended, or could not be opened."""
    unheard: Callable[[str], None]
    """The session stands, but another controller is primary: no probes can be sent, and none are heard."""
    settled: Callable[[str], None]
    """The switch was found or made to be as desired."""
    probed: Callable[[str, int], None]
    """The probes of a round were sent."""
    probe: Callable[[End, Probe], None]
    """A probe came in at a port."""
    counted: Callable[[End, int], None]
    """So many packets have come in at a port by now."""
    alarm: Callable[[str, Mapping[str, Any]], None]
    """The switch sent a digest of an alarm."""


class SwitchTask:
    """Keeps one switch's session and tables; `run` never returns by itself.

    `audit_s`: how often tables are read back though nothing is known to have changed, or as seldom as
    `rotation` has it. A session that ends is opened again after a pause: 0.2 to 2 s where the switch cannot
    be reached or a certificate cannot be read, 1 to 60 s after other errors.
    `credentials` are asked for at each session: certificates may have been replaced since the last one.
    `unreachable` says in words what gRPC says of a switch that cannot be reached.
    `stretches`, `opening`, the pace at which sessions are opened, and `rotation` are those of all switches of
    an event loop.
    """

    def __init__(
        self,
        name: str,
        address: str,
        device_id: int,
        artifacts: Artifacts,
        target: Target,
        hooks: Hooks,
        *,
        credentials: Callable[[], fy.GRPCCredentialsTLS | None] = lambda: None,
        unreachable: Callable[[str], str] = str,
        audit_s: float = 3.0,
        election_id: int = FIRST_ELECTION_ID,
        stretches: Stretches | None = None,
        opening: Pace | None = None,
        rotation: Rotation | None = None,
    ) -> None:
        self.name, self.address = name, address
        self.status = SwitchStatus()
        self._hooks, self._audit_s = hooks, audit_s
        self._stretches, self._opening = stretches or Stretches(), opening or Pace()
        self._rotation = rotation or Rotation()
        self._unreachable, self._broken = Backoff(0.2, 2.0), Backoff(1.0, 60.0)
        self._set_aside = SetAside()
        self.target = target
        self._options = fy.SwitchOptions(
            p4info=artifacts.parsed,
            p4blob=_Blob(target.device_config(artifacts)),
            device_id=device_id,
            initial_election_id=election_id,
            ready_handler=self._ready,
        )
        self._credentials, self._unreachable_for = credentials, unreachable
        self._was_primary = False
        self._wake = asyncio.Event()
        self._probes: list[Probe] = []
        self._shots: list[Shot] = []
        self._probes_wanted = asyncio.Event()
        self._counted_ports: list[int] = []
        self._counts_wanted = asyncio.Event()
        self._writing = asyncio.Lock()
        """Of whoever writes to the stream: gRPC breaks a stream that is written to while it is held back."""

    def wake(self) -> None:
        """The desired state has changed."""
        self.status.in_sync = False
        self._wake.set()

    def send_probes(self, probes: list[Probe], shots: Iterable[Shot] = ()) -> None:
        """Send these when the session allows, `shots` first; probes of a round that could not be sent are
        replaced by the next."""
        self._probes = probes
        self._shots = [*self._shots, *shots][-_SHOTS:]
        self._probes_wanted.set()

    def send_shots(self, shots: Iterable[Shot]) -> None:
        """Send these when the session allows."""
        self._shots = [*self._shots, *shots][-_SHOTS:]
        self._probes_wanted.set()

    def count_packets(self, ports: Iterable[int]) -> None:
        """Say how many packets have come in at these ports."""
        self._counted_ports += ports
        self._counts_wanted.set()

    async def run(self) -> None:
        """Open a session and serve it until it ends, again and again."""
        while True:
            backoff, began = self._broken, time.monotonic()
            try:
                await self._session()
            except (fy.P4ClientError, TimeoutError, OSError, RuntimeError) as error:
                self._fail(self._reason(error))
                # a certificate that is missing may be about to be replaced
                if isinstance(error, TimeoutError | OSError | TlsError) or _is_unreachable(error):
                    backoff = self._unreachable
            except Exception as error:
                # finsy raises anything at a peer that breaks the protocol; other switches must not suffer
                LOG.exception("%s: the session was given up", self.name)
                self._fail(self._reason(error))
            finally:
                self.status.connected = self.status.primary = self.status.in_sync = False
                self.status.applied = 0
                self._shots, self._counted_ports = [], []
                self._rotation.leave(self.name)
                self._hooks.lost(self.name)
            await asyncio.sleep(backoff.pause(time.monotonic() - began))

    async def _session(self) -> None:
        await self._opening.turn()
        options = self._options(channel_credentials=self._credentials())
        switch = fy.Switch(self.name, self.address, options)
        arbitration.use(switch, self._was_primary)
        if self.target.forgets_clones:
            _delete_clones_before_load(switch)
        try:
            with heard_by(self._failed):
                async with asyncio.timeout(_HANDSHAKE_S) as limit, switch:
                    limit.reschedule(None)
                    if switch.is_up:
                        await switch.ee.event_future(fy.SwitchEvent.CHANNEL_DOWN)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # one of finsy's tasks failed and took its siblings along; `_failed` has heard why
            raise RuntimeError(self.status.error or "the session was given up") from None

    def _failed(self, error: BaseException) -> None:
        """A task of the session has failed: the session is ending."""
        if getattr(error, "code", None) != fy.GRPCStatusCode.UNAVAILABLE:  # it is gone, which shows anyway
            self._fail(self._reason(error))

    async def _ready(self, switch: fy.Switch) -> None:
        """finsy's ready handler: session and pipeline are there; called again when primacy changes."""
        started = time.monotonic()
        self.status.connected, self.status.primary = True, switch.is_primary
        if not switch.is_primary:
            self.status.in_sync, self.status.applied = False, 0
            self._fail(f"another controller is primary (election id {switch.primary_id})")
            self._hooks.unheard(self.name)
            return
        self._was_primary = True
        # these belong to the session: they end with it, and if one of them fails, so does the session
        switch.create_task(self._receive_probes(switch), name="probes in")
        switch.create_task(self._send_probes(switch), name="probes out")
        switch.create_task(self._receive_alarms(switch), name="alarms")
        switch.create_task(self._count_packets(switch), name="counts")
        codec = Codec(switch.p4info)
        self._set_aside = SetAside()
        reader = Reader(switch, codec, self._stretches)
        held = await self._audit(switch, codec, reader)
        self.status.programmed_s = time.monotonic() - started
        self._hooks.ready(self.name)
        # not all switches at once, though their sessions were opened at once
        audit_due = time.monotonic() + self._audit_s * random.random()
        while True:
            try:
                # not wait_for, which loses a cancellation that comes together with what it waits for
                async with asyncio.timeout(audit_due - time.monotonic()):
                    await self._wake.wait()
            except TimeoutError:
                computed = time.process_time()
                held = await self._audit(switch, codec, reader)
                self._rotation.took(self.name, time.process_time() - computed)
                audit_due = time.monotonic() + self._rotation.period_s(self.name, self._audit_s)
            else:
                held = await self._follow(switch, codec, reader, held)

    async def _audit(self, switch: fy.Switch, codec: Codec, reader: Reader) -> TableState:
        """Read what the switch holds and put right what differs; returns what it then holds."""
        _, want = self._hooks.desired(self.name)
        have = await reader.read(want)
        generation, want, steps = await self._planned(have)
        if not steps:
            reader.is_as(want)
        steps = self._set_aside.without(steps, time.monotonic())
        changed = [step for step in steps if not all(map(self._set_aside.has, step.items))]
        if changed and self.status.applied == generation:
            self.status.repairs += 1
            LOG.warning("%s: tables had been changed by somebody else; repairs: %s", self.name, changed[0])
        held = await self._write(switch, codec, have, want, steps)
        return self._settle(generation, held)

    async def _planned(self, have: TableState) -> tuple[int, TableState, list[Step]]:
        """What is desired by now, its generation, and the steps to it from what the switch holds."""
        while True:
            self._wake.clear()
            generation, want = self._hooks.desired(self.name)  # reading may have waited for other switches'
            if have is want:
                return generation, want, []
            steps = await self._stretches.compute(planning(have, want))
            if not self._wake.is_set() or self._hooks.desired(self.name)[1] is want:  # so may planning
                return generation, want, steps

    async def _follow(self, switch: fy.Switch, codec: Codec, reader: Reader, held: TableState) -> TableState:
        """Write what a change of the desired state asks for, at once: reading first would double the
        reaction to a failed link. Where tables are not as they were left, updates are refused, and they are
        read after all.
        """
        self._wake.clear()
        generation, want = self._hooks.desired(self.name)
        steps = self._set_aside.without(plan(held, want), time.monotonic())
        done = await write(switch, codec, self._stretches, steps)
        self._count(done.updates)
        if done.refused:
            LOG.warning("%s: tables are not as they were left, or: %s", self.name, done.refused[0])
            return await self._audit(switch, codec, reader)
        return self._settle(generation, held_after(held, want, self._set_aside.refused))

    async def _write(
        self, switch: fy.Switch, codec: Codec, have: TableState, want: TableState, steps: list[Step]
    ) -> TableState:
        """Write these steps, set aside what is refused; returns what the switch then holds."""
        done = await write(switch, codec, self._stretches, steps)
        self._count(done.updates)
        if done.refused and done.updates:  # what went may have made room
            have = held_after(have, want, [*done.refused, *self._set_aside.refused])
            steps = self._set_aside.without(plan(have, want), time.monotonic())
            done = await write(switch, codec, self._stretches, steps)
            self._count(done.updates)
        for told in self._set_aside.add(done.refused, time.monotonic()):
            LOG.error("%s refuses, and goes on without: %s", self.name, told)
        return held_after(have, want, self._set_aside.refused)

    def _count(self, updates: int) -> None:
        if updates:
            self.status.updates += updates
            LOG.info("%s: %d updates", self.name, updates)

    def _settle(self, generation: int, holds: TableState) -> TableState:
        status, refused = self.status, self._set_aside.refused
        status.held, status.applied, status.error = len(holds), generation, ""
        status.refused, status.refused_total = [str(each) for each in refused[:_TOLD]], len(refused)
        status.in_sync = not self._wake.is_set() and not refused
        self._hooks.settled(self.name)
        return holds

    async def _send_probes(self, switch: fy.Switch) -> None:
        while True:
            self._probes_wanted.clear()
            await self._probes_wanted.wait()
            probes, shots, self._probes, self._shots = self._probes, self._shots, [], []
            frames = [
                *((s.frame, s.out_of.port) for s in shots),
                *((encode(p), p.origin.port) for p in probes),
            ]
            async with self._writing:
                await switch.write([fy.P4PacketOut(frame, egress_port=port, pad=0) for frame, port in frames])
            if probes:
                self._hooks.probed(self.name, probes[0].round)

    async def _receive_probes(self, switch: fy.Switch) -> None:
        async for packet in switch.read_packets(queue_size=_PROBE_QUEUE, eth_types={ETHER_TYPE}):
            probe = decode(packet.payload)
            if probe is not None:
                self._hooks.probe(End(self.name, int(packet["ingress_port"])), probe)

    async def _count_packets(self, switch: fy.Switch) -> None:
        """Answers a request for counts after all the requests before it."""
        while True:
            await self._counts_wanted.wait()
            self._counts_wanted.clear()
            ports, self._counted_ports = self._counted_ports, []
            for port, packets in (await packets_in(switch, ports)).items():
                self._hooks.counted(End(self.name, port), packets)

    async def _receive_alarms(self, switch: fy.Switch) -> None:
        async for digests in switch.read_digests(ALARMS.name, queue_size=_ALARM_QUEUE):
            for digest in digests:
                self._hooks.alarm(self.name, digest)
            async with self._writing:
                await switch.write([digests.ack()])

    def _reason(self, error: BaseException) -> str:
        if isinstance(error, fy.P4ClientError):
            if _is_unreachable(error):
                said = error.message.rsplit("error: ", 1)[-1]
                return f"cannot be reached: {self._unreachable_for(said)}"
            return f"{error.code.name.lower()}: {error.message or error}"
        if isinstance(error, TimeoutError):
            return f"no answer within {_HANDSHAKE_S:g} s"
        return str(error) or type(error).__name__

    def _fail(self, reason: str) -> None:
        if reason != self.status.error:
            LOG.warning("%s: %s", self.name, reason)
        self.status.error = reason


def _delete_clones_before_load(switch: fy.Switch) -> None:
    """Have a switch's clone sessions deleted before it gets another program.

    finsy (0.30) sends the program between handshake and ready handler, and has no hook there: its options are
    data, its events are not waited for, and Switch is final. To load it ourselves would need a second
    connection; to delete them in a session before would take LOSS packets away at each restart.
    """
    untyped: Any = switch
    load = untyped._set_pipeline_config_request

    async def delete_and_load(**arguments: Any) -> Any:
        try:
            await switch.delete_many([fy.P4CloneSessionEntry()])
        except fy.P4ClientError as error:
            if not error.is_pipeline_missing:
                raise
        return await load(**arguments)

    untyped._set_pipeline_config_request = delete_and_load


class _Blob:
    """Device config bytes in the form that finsy takes."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __bytes__(self) -> bytes:
        return self._data


def _is_unreachable(error: BaseException) -> bool:
    return isinstance(error, fy.P4ClientError) and error.code == fy.GRPCStatusCode.UNAVAILABLE
