"""Reading what a switch holds. One that holds what it held answers with the same bytes: those are compared,
and nothing is decoded; otherwise, only what was not there before is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any, cast

import finsy as fy
import grpc
from finsy import p4entity
from finsy.proto import p4r

from csaud_controller.program.entities import Item, TableState, table_state
from csaud_controller.switches.codec import Codec, Entity

_READ = "/p4.v1.P4Runtime/Read"
_TIMEOUT_S = 60.0


class Reader:
    """Of one session. `decoded` counts entities that had to be decoded."""

    def __init__(self, switch: fy.Switch, codec: Codec) -> None:
        self._switch, self._codec = switch, codec
        profiles = [profile.name for profile in switch.p4info.action_profiles]
        self._everything: tuple[Entity, ...] = (
            fy.P4TableEntry(),
            # one by one: Stratum does not read all profiles at once
            *(fy.P4ActionProfileMember(action_profile_id=name) for name in profiles),
            *(fy.P4ActionProfileGroup(action_profile_id=name) for name in profiles),
            fy.P4CloneSessionEntry(),
        )
        self._answer: list[bytes] | None = None
        self._state = TableState()
        self._items: dict[bytes, Item | None] = {}
        """By the bytes of the entity; None: what is not the controller's."""
        self.decoded = 0

    async def read(self, digests: Iterable[str] = ()) -> TableState:
        """Everything that the switch holds of tables, members, groups and clone sessions (default actions are
        constants), and how it sends the digests of these names, for which P4Runtime has no wildcard. The same
        object as before where nothing has changed."""
        answer = await self._ask(self._everything)
        for name in digests:
            try:
                answer += await self._ask((fy.P4DigestEntry(name),))
            except fy.P4ClientError as error:
                if error.code != fy.GRPCStatusCode.NOT_FOUND:
                    raise
        if answer != self._answer:
            self._state = table_state(self._decode(answer))
            self._answer = answer
        return self._state

    def is_as(self, state: TableState) -> None:
        """What was read last equals this state, which is returned instead from now on: whoever compares both
        need not look."""
        self._state = state

    def _decode(self, answer: Iterable[bytes]) -> list[Item]:
        items: dict[bytes, Item | None] = {}
        for response in answer:
            for entity in p4r.ReadResponse.FromString(response).entities:
                known = entity.SerializeToString()
                items[known] = self._items[known] if known in self._items else self._item(entity)
        self._items = items
        return [item for item in items.values() if item is not None]

    def _item(self, message: Any) -> Item | None:
        self.decoded += 1
        entity = p4entity.decode_entity(message, self._switch.p4info)
        if isinstance(entity, fy.P4TableEntry) and (entity.is_default_action or entity.is_const):
            return None
        return self._codec.decode(cast(Entity, entity))

    async def _ask(self, wanted: Iterable[Entity]) -> list[bytes]:
        request = p4r.ReadRequest(
            device_id=self._switch.device_id,
            entities=p4entity.encode_entities(wanted, self._switch.p4info),
        )
        untyped: Any = self._switch  # finsy (0.30) has no reading that leaves answers as they come
        call = untyped._p4client.channel.unary_stream(
            _READ, request_serializer=p4r.ReadRequest.SerializeToString, response_deserializer=None
        )
        try:
            return [
                response async for response in cast(AsyncIterator[bytes], call(request, timeout=_TIMEOUT_S))
            ]
        except grpc.RpcError as error:
            raise fy.P4ClientError(error, "ReadRequest") from None
