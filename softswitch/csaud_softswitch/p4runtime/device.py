"""One switch as P4Runtime sees it, without a transport: requests in, responses or P4RuntimeError out.

The gRPC server calls it, and so do tests and recorded exchanges, which own the time.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator

from csaud_softswitch._core import Switch
from csaud_softswitch.p4runtime.arbitration import Arbitration, Session, role_name
from csaud_softswitch.p4runtime.errors import Code, P4RuntimeError, core_errors, invalid, unimplemented
from csaud_softswitch.p4runtime.forwarding import Batch
from csaud_softswitch.p4runtime.packet_io import decode_packet_in, encode_packet_out
from csaud_softswitch.p4runtime.pipeline import NO_PIPELINE, PipelineManager
from csaud_softswitch.p4runtime.proto import p4r

API_VERSION = "1.4.0"
"""Version of the P4Runtime specification that this server follows."""

READ_CHUNK = 256
"""Entities in one ReadResponse; a client accepts 4 MB in one message unless it says otherwise."""

_log = logging.getLogger(__name__)


class Device:
    """A switch of the native core, its controllers and its pipeline."""

    def __init__(self, switch: Switch) -> None:
        self.switch = switch
        self.name = switch.name
        self.arbitration = Arbitration(switch.device_id)
        self.pipelines = PipelineManager(switch)
        self.unclaimed_packets = 0
        """Packets for the controller that came while there was none."""
        self.dropped_packets = 0
        """Packets that a controller was too slow to take."""

    # --- unary calls

    def write(self, request: p4r.WriteRequest) -> None:
        """BatchError when updates fail; those before and after a failed one are applied all the same."""
        self.begin_write(request).finish()

    def begin_write(self, request: p4r.WriteRequest) -> Batch:
        """Check a Write's header; its updates are applied by the batch's step() and finish()."""
        role = role_name(request.role, request.role_id)
        self.arbitration.check_write(request.device_id, role, request.election_id)
        if request.atomicity != p4r.WriteRequest.CONTINUE_ON_ERROR:
            raise unimplemented("the only atomicity of a Write here is CONTINUE_ON_ERROR")
        return self.pipelines.batch(request.updates)

    def read(self, request: p4r.ReadRequest) -> Iterator[p4r.ReadResponse]:
        """Entities that the request describes, in responses of at most READ_CHUNK."""
        self.arbitration.check_read(request.device_id)
        state = self.pipelines.state()
        found = itertools.chain.from_iterable(state.read(entity) for entity in request.entities)
        while chunk := list(itertools.islice(found, READ_CHUNK)):
            yield p4r.ReadResponse(entities=chunk)

    def set_pipeline(self, request: p4r.SetForwardingPipelineConfigRequest) -> None:
        role = role_name(request.role, request.role_id)
        self.arbitration.check_write(request.device_id, role, request.election_id)
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
                raise unimplemented("digests are not supported")
            else:
                raise invalid(f"a stream message of kind {kind or 'none'} is not supported")
        except P4RuntimeError as error:
            session.send(_stream_error(error, request))

    def end_stream(self, session: Session) -> None:
        self.arbitration.leave(session)

    def pump_packet_in(self) -> None:
        """Hand the packets that left by the CPU port to the primary controllers."""
        frames = self.switch.poll_packet_in()
        if not frames:
            return
        pipeline = self.pipelines.committed
        fields = () if pipeline is None else pipeline.state.index.packet_in
        receivers = self.arbitration.primaries()
        if not receivers:
            self.unclaimed_packets += len(frames)
            return
        for frame in frames:
            packet = decode_packet_in(fields, frame)
            if packet is None:
                _log.warning(
                    "%s: a packet of %d bytes for the controller has no packet_in header",
                    self.name,
                    len(frame),
                )
                continue
            for session in receivers:
                if not session.send(p4r.StreamMessageResponse(packet=packet)):
                    self.dropped_packets += 1

    def _packet_out(self, session: Session, packet: p4r.PacketOut) -> None:
        if not self.arbitration.is_primary(session):
            raise P4RuntimeError(
                Code.PERMISSION_DENIED, "packet_out: only the primary controller may send packets"
            )
        pipeline = self.pipelines.committed
        if pipeline is None:
            raise P4RuntimeError(Code.FAILED_PRECONDITION, f"packet_out: {NO_PIPELINE}")
        frame = encode_packet_out(pipeline.state.index.packet_out, packet)
        with core_errors():
            self.switch.packet_out(frame)


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
