"""One switch as P4Runtime sees it, without a transport: requests in, responses or P4RuntimeError out.

The gRPC server calls it, and so do tests and recorded exchanges, which own the time.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from csaud_softswitch._core import Switch
from csaud_softswitch.p4runtime.arbitration import Arbitration, Session, role_name
from csaud_softswitch.p4runtime.batch import Batch
from csaud_softswitch.p4runtime.errors import (
    BatchError,
    Code,
    P4RuntimeError,
    core_errors,
    denied,
    invalid,
)
from csaud_softswitch.p4runtime.notifications import Notifications
from csaud_softswitch.p4runtime.packet_io import decode_packet_in, encode_packet_out
from csaud_softswitch.p4runtime.personality import Personality
from csaud_softswitch.p4runtime.pipeline import NO_PIPELINE, Check, PipelineManager
from csaud_softswitch.p4runtime.proto import p4r
from csaud_softswitch.p4runtime.roles import RoleConfig

API_VERSION = "1.4.0"
"""Version of the P4Runtime specification that this server follows."""

READ_CHUNK = 256
"""Entities in one ReadResponse; a client accepts 4 MB in one message unless it says otherwise."""

_log = logging.getLogger(__name__)


class Device:
    """A switch of the native core, its controllers and its pipeline."""

    def __init__(self, switch: Switch, personality: Personality | None = None) -> None:
        """`personality`: another server whose refusals this one adopts."""
        self.switch = switch
        self._personality = personality
        self.name = switch.name
        self.arbitration = Arbitration(switch.device_id)
        self.pipelines = PipelineManager(switch)
        self.notifications = Notifications(self.arbitration, self.pipelines)
        self.unclaimed_packets = 0
        """Packets for the controller that came while no role's primary wanted them."""
        self.dropped_packets = 0
        """Packets that a controller was too slow to take."""

    # --- unary calls

    def write(self, request: p4r.WriteRequest) -> None:
        """BatchError when updates fail; those before and after a failed one are applied all the same, unless
        the request's atomicity says otherwise.
        """
        self.begin_write(request).finish()

    def begin_write(self, request: p4r.WriteRequest) -> Batch:
        """Check a Write's header; its updates are applied by the batch's step() and finish()."""
        role = role_name(request.role, request.role_id)
        election_id = request.election_id if request.HasField("election_id") else None
        limits = self.arbitration.check_write(request.device_id, role, election_id)
        checks = [] if limits is None else [_role_check(role, limits)]
        if self._personality is not None:
            checks.append(self._personality.check_update)
        check = _all_of(checks) if checks else None
        return self.pipelines.batch(request.updates, request.atomicity, check)

    def read(self, request: p4r.ReadRequest) -> Iterator[p4r.ReadResponse]:
        """Entities that the request describes, in responses of at most READ_CHUNK.

        Every entity of the request is tried; BatchError at the end when some of them were refused.
        """
        limits = self.arbitration.check_read(request.device_id, request.role)
        state = self.pipelines.state()
        results: list[P4RuntimeError | None] = []
        response = p4r.ReadResponse()
        for wanted in request.entities:
            try:
                if self._personality is not None:
                    self._personality.check_read(wanted)
                for found in state.read(wanted):
                    entity = found if self._personality is None else self._personality.told(found)
                    if limits is not None and not limits.allows(entity):
                        continue
                    response.entities.append(entity)
                    if len(response.entities) >= READ_CHUNK:
                        yield response
                        response = p4r.ReadResponse()
                results.append(None)
            except P4RuntimeError as error:
                results.append(error)
        if response.entities:
            yield response
        if any(error is not None for error in results):
            raise BatchError(results, "entities")

    def set_pipeline(self, request: p4r.SetForwardingPipelineConfigRequest) -> None:
        role = role_name(request.role, request.role_id)
        election_id = request.election_id if request.HasField("election_id") else None
        limits = self.arbitration.check_write(request.device_id, role, election_id)
        if limits is not None and not limits.can_push_pipeline:
            raise denied(f"role {role!r} may not set a forwarding pipeline config")
        self.pipelines.set_config(request.action, request.config if request.HasField("config") else None)

    def get_pipeline(
        self, request: p4r.GetForwardingPipelineConfigRequest
    ) -> p4r.GetForwardingPipelineConfigResponse:
        self.arbitration.check_read(request.device_id)
        config = self.pipelines.get_config(request.response_type)
        return p4r.GetForwardingPipelineConfigResponse(config=config)

    def capabilities(self) -> p4r.CapabilitiesResponse:
        return p4r.CapabilitiesResponse(p4runtime_api_version=API_VERSION)

    # --- the stream

    def stream_message(self, session: Session, request: p4r.StreamMessageRequest) -> None:
        """One message of a controller's stream; P4RuntimeError: the stream must be ended with it."""
        kind = request.WhichOneof("update")
        if kind == "arbitration":
            self.arbitration.update(session, request.arbitration)
            return
        try:
            if kind == "packet":
                self._packet_out(session, request.packet)
            elif kind == "digest_ack":
                self._acknowledge(session, request.digest_ack)
            else:
                raise invalid(f"a stream message of kind {kind or 'none'} is not supported")
        except P4RuntimeError as error:
            session.send(_stream_error(error, request))

    def end_stream(self, session: Session) -> None:
        self.arbitration.leave(session)

    def pump(self, now: int, epoch_ns: int) -> None:
        """Hand packets and digests that the data plane has for the controller to the primary controllers.

        now: nanoseconds of the fabric's clock; epoch_ns: of the time of day.
        """
        self.pump_packet_in()
        self.notifications.pump(self.switch, now, epoch_ns)

    def pump_packet_in(self) -> None:
        """Hand the packets that left by the CPU port to the primary controllers."""
        frames = self.switch.poll_packet_in()
        if not frames:
            return
        pipeline = self.pipelines.committed
        fields = () if pipeline is None else pipeline.state.index.packet_in
        receivers = self.arbitration.primaries()
        for frame in frames:
            packet = decode_packet_in(fields, frame)
            if packet is None:
                _log.warning(
                    "%s: a packet of %d bytes for the controller has no packet_in header",
                    self.name,
                    len(frame),
                )
                continue
            wanted = [session for session, limits in receivers if limits is None or limits.takes(packet)]
            self.unclaimed_packets += not wanted
            for session in wanted:
                if not session.send(p4r.StreamMessageResponse(packet=packet)):
                    self.dropped_packets += 1

    def _packet_out(self, session: Session, packet: p4r.PacketOut) -> None:
        if not self.arbitration.is_primary(session):
            raise denied("packet_out: only the primary controller may send packets")
        pipeline = self.pipelines.committed
        if pipeline is None:
            raise P4RuntimeError(Code.FAILED_PRECONDITION, f"packet_out: {NO_PIPELINE}")
        frame = encode_packet_out(pipeline.state.index.packet_out, packet)
        with core_errors():
            self.switch.packet_out(frame)

    def _acknowledge(self, session: Session, ack: p4r.DigestListAck) -> None:
        if not self.arbitration.is_primary(session):
            raise denied("digest_ack: only the primary controller may acknowledge digests")
        if self.pipelines.committed is None:
            raise P4RuntimeError(Code.FAILED_PRECONDITION, f"digest_ack: {NO_PIPELINE}")
        self.pipelines.committed.state.digests.acknowledge(ack)


def _all_of(checks: list[Check]) -> Check:
    def check(update: p4r.Update) -> None:
        for each in checks:
            each(update)

    return check


def _role_check(role: str, limits: RoleConfig) -> Check:
    def check(update: p4r.Update) -> None:
        if not limits.allows(update.entity):
            what = update.entity.WhichOneof("entity") or "nothing"
            raise denied(f"role {role!r} may not write this {what}")

    return check


def _stream_error(error: P4RuntimeError, request: p4r.StreamMessageRequest) -> p4r.StreamMessageResponse:
    message = p4r.StreamMessageResponse()
    message.error.canonical_code = int(error.code)
    message.error.message = error.message
    message.error.space = "csaud-softswitch"
    kind = request.WhichOneof("update")
    if kind == "packet":
        message.error.packet_out.packet_out.CopyFrom(request.packet)
    elif kind == "digest_ack":
        message.error.digest_list_ack.digest_list_ack.CopyFrom(request.digest_ack)
    else:
        message.error.other.SetInParent()
    return message
