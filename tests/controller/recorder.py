"""A P4Runtime server with no switch behind it: what its personality does not refuse, it takes and remembers.
For targets whose messages can be tested where they cannot run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from csaud_softswitch.p4runtime.errors import P4RuntimeError
from csaud_softswitch.p4runtime.personality import Personality
from finsy.proto import p4r, p4r_grpc


@dataclass
class Recorder(p4r_grpc.P4RuntimeServicer):
    """Holds the last pipeline config, and every entity that was inserted since."""

    config: Any = None
    entities: list[Any] = field(default_factory=list)
    writes: int = 0
    personality: Personality | None = None
    left_behind: list[str] = field(default_factory=list)
    """Kinds of the entities that were there when the last program came."""

    async def Capabilities(self, request: Any, context: Any) -> Any:
        return p4r.CapabilitiesResponse(p4runtime_api_version="1.3.0")

    async def SetForwardingPipelineConfig(self, request: Any, context: Any) -> Any:
        self.left_behind = [entity.WhichOneof("entity") for entity in self.entities]
        self.config, self.entities = request.config, []
        return p4r.SetForwardingPipelineConfigResponse()

    async def GetForwardingPipelineConfig(self, request: Any, context: Any) -> Any:
        if self.config is None:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "no forwarding pipeline config")
        response = p4r.GetForwardingPipelineConfigResponse()
        response.config.cookie.cookie = self.config.cookie.cookie
        return response

    async def Write(self, request: Any, context: Any) -> Any:
        for update in request.updates:
            await self._refuse(context, "check_update", update)
            if update.type == p4r.Update.INSERT:
                self.entities.append(update.entity)
            else:
                assert update.type == p4r.Update.DELETE, update
                self.entities.remove(update.entity)
        self.writes += 1
        return p4r.WriteResponse()

    async def Read(self, request: Any, context: Any) -> AsyncIterator[Any]:
        if self.config is None:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "no forwarding pipeline config")
        for wanted in request.entities:
            await self._refuse(context, "check_read", wanted)
        found = [e for e in self.entities if any(_is_wanted(e, wanted) for wanted in request.entities)]
        if self.personality is not None:
            found = [self.personality.told(entity) for entity in found]
        yield p4r.ReadResponse(entities=found)

    async def _refuse(self, context: Any, check: str, what: Any) -> None:
        try:
            if self.personality is not None:
                getattr(self.personality, check)(what)
        except P4RuntimeError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, error.message)

    async def StreamChannel(self, requests: Any, context: Any) -> AsyncIterator[Any]:
        async for request in requests:
            if request.HasField("arbitration"):
                yield p4r.StreamMessageResponse(arbitration=request.arbitration)


def _is_wanted(entity: Any, wanted: Any) -> bool:
    kind = wanted.WhichOneof("entity")
    if entity.WhichOneof("entity") != kind:
        return False
    profile = getattr(getattr(wanted, kind), "action_profile_id", 0)
    return not profile or getattr(entity, kind).action_profile_id == profile


@asynccontextmanager
async def recorder(path: Path, personality: Personality | None = None) -> AsyncIterator[Recorder]:
    """One that listens at a unix socket."""
    made = Recorder(personality=personality)
    server = grpc.aio.server()
    p4r_grpc.add_P4RuntimeServicer_to_server(made, server)
    server.add_insecure_port(f"unix:{path}")
    await server.start()
    try:
        yield made
    finally:
        await server.stop(None)
