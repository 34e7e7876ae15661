"""Reading what a switch holds. One that holds what it held answers with the same bytes: those are compared,
and nothing is decoded; otherwise, only what neither was there before nor was written since.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterable
from typing import Any, cast

import finsy as fy
import grpc
from finsy import p4entity
from finsy.proto import p4r

from csaud_controller.base.stretches import Stretches
from csaud_controller.program.entities import Item, TableState, add
from csaud_controller.switches.codec import Codec, Entity

_READ = "/p4.v1.P4Runtime/Read"
_TIMEOUT_S = 60.0


class Reader:
    """Of one session. `decoded` counts entities that had to be decoded."""

    def __init__(self, switch: fy.Switch, codec: Codec, stretches: Stretches) -> None:
        self._switch, self._codec, self._stretches = switch, codec, stretches
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

    async def read(self, want: TableState) -> TableState:
        """Everything that the switch holds of tables, members, groups and clone sessions (default actions are
        constants), and how it sends the digests that it should, for which P4Runtime has no wildcard. The same
        object as before where nothing has changed; items that are as they should be are those of `want`."""
        answer = await self._ask(self._everything)
        for name in want.digests:
            try:
                answer += await self._ask((fy.P4DigestEntry(name),))
            except fy.P4ClientError as error:
                if error.code != fy.GRPCStatusCode.NOT_FOUND:
                    raise
        if answer != self._answer:
            self._state = await self._stretches.compute(self._decode(answer, want))
            self._answer = answer
        return self._state

    def is_as(self, state: TableState) -> None:
        """What was read last equals this state, which is returned instead from now on: whoever compares both
        need not look."""
        self._state = state

    def _decode(self, answer: Iterable[bytes], want: TableState) -> Generator[None, None, TableState]:
        known = self._items | self._codec.said()
        items, state = dict[bytes, Item | None](), TableState()
        for response in answer:
            for entity in p4r.ReadResponse.FromString(response).entities:
                name = entity.SerializeToString()
                if name not in known:
                    self.decoded += 1
                    found = self._codec.decode(entity)
                    known[name] = None if found is None else want.own(found)
                item = known[name]
                if item is not None and name not in items:
                    add(state, item)
                items[name] = item
                yield
        self._items = items
        return state

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
