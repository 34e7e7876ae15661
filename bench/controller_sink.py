"""Switches that only keep what is written, as it came, and give it back when it is read.

    python -m bench.controller_sink FOLDER SWITCH...

One process serves them all, each at FOLDER/SWITCH.sock. Nothing of a Write is decoded before somebody reads,
so that the client is what is measured; the bench says what share of the time the sink had.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
from finsy.proto import p4r

READY = "ready"
_AT_ONCE = 1000
"""Entities of one answer."""
_LARGEST = 64 << 20
_KINDS = (
    "table_entry",
    "action_profile_member",
    "action_profile_group",
    "packet_replication_engine_entry",
    "digest_entry",
)


class Sink:
    """One switch."""

    def __init__(self) -> None:
        self._config = b""
        self._written: list[bytes] = []
        self._held: dict[tuple[str, int], dict[bytes, bytes]] = {}
        self._answers: dict[bytes, list[bytes]] = {}

    async def capabilities(self, _request: bytes, _context: Any) -> bytes:
        made: bytes = p4r.CapabilitiesResponse(p4runtime_api_version="1.4.0").SerializeToString()
        return made

    async def set_config(self, request: bytes, _context: Any) -> bytes:
        self._config = p4r.SetForwardingPipelineConfigRequest.FromString(request).config.SerializeToString()
        return b""

    async def get_config(self, _request: bytes, context: Any) -> bytes:
        if not self._config:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "no forwarding pipeline config")
        answer = p4r.GetForwardingPipelineConfigResponse()
        answer.config.ParseFromString(self._config)
        answer.config.p4_device_config = b""
        made: bytes = answer.SerializeToString()
        return made

    async def write(self, request: bytes, _context: Any) -> bytes:
        self._written.append(request)
        self._answers.clear()
        return b""

    async def read(self, request: bytes, _context: Any) -> AsyncIterator[bytes]:
        if request not in self._answers:
            self._answers[request] = self._answer(p4r.ReadRequest.FromString(request))
        for each in self._answers[request]:
            yield each

    async def stream(self, messages: AsyncIterator[bytes], _context: Any) -> AsyncIterator[bytes]:
        async for message in messages:
            said = p4r.StreamMessageRequest.FromString(message)
            if said.HasField("arbitration"):
                yield p4r.StreamMessageResponse(arbitration=said.arbitration).SerializeToString()

    def _answer(self, request: Any) -> list[bytes]:
        for written in self._written:
            for update in p4r.WriteRequest.FromString(written).updates:
                self._apply(update)
        self._written = []
        kinds = [(each, each.WhichOneof("entity")) for each in request.entities]
        wanted = [(kind, _profile(each, kind)) for each, kind in kinds]
        found = [held for key in wanted for held in self._held.get(key, {}).values()]
        return [
            _response(found[start : start + _AT_ONCE]) for start in range(0, max(1, len(found)), _AT_ONCE)
        ]

    def _apply(self, update: Any) -> None:
        entity, kind = update.entity, update.entity.WhichOneof("entity")
        held = self._held.setdefault((kind, _profile(entity, kind)), {})
        if update.type == p4r.Update.DELETE:
            held.pop(_key(entity, kind), None)
        else:
            held[_key(entity, kind)] = entity.SerializeToString()


def _profile(entity: Any, kind: str) -> int:
    """What wildcards keep apart."""
    return getattr(getattr(entity, kind), "action_profile_id", 0) if kind in _KINDS[1:3] else 0


def _key(entity: Any, kind: str) -> bytes:
    """That an entity is known by."""
    key = type(entity)()
    key.CopyFrom(entity)
    part = getattr(key, kind)
    names = {"table_entry": ("action",), _KINDS[1]: ("action",), _KINDS[2]: ("members",)}.get(kind, ())
    for name in names:
        part.ClearField(name)
    made: bytes = key.SerializeToString(deterministic=True)
    return made


def _response(entities: list[bytes]) -> bytes:
    """A ReadResponse of these; field 1, length-delimited."""
    return b"".join(b"\x0a" + _varint(len(entity)) + entity for entity in entities)


def _varint(number: int) -> bytes:
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*digits, number])


async def _serve(folder: Path, names: list[str]) -> None:
    untyped: Any = grpc
    servers = []
    for name in names:
        sink = Sink()
        handlers = {
            "Capabilities": untyped.unary_unary_rpc_method_handler(sink.capabilities),
            "SetForwardingPipelineConfig": untyped.unary_unary_rpc_method_handler(sink.set_config),
            "GetForwardingPipelineConfig": untyped.unary_unary_rpc_method_handler(sink.get_config),
            "Write": untyped.unary_unary_rpc_method_handler(sink.write),
            "Read": untyped.unary_stream_rpc_method_handler(sink.read),
            "StreamChannel": untyped.stream_stream_rpc_method_handler(sink.stream),
        }
        server = untyped.aio.server(options=[("grpc.max_receive_message_length", _LARGEST)])
        server.add_generic_rpc_handlers(
            (untyped.method_handlers_generic_handler("p4.v1.P4Runtime", handlers),)
        )
        server.add_insecure_port(f"unix:{folder / name}.sock")
        await server.start()
        servers.append(server)
    (folder / READY).touch()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]), sys.argv[2:]))
