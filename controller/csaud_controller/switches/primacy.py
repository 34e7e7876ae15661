"""Who is primary at the switches, as one hears who never is: a stream without an election id is a backup for
ever (P4Runtime 1.4, section 5.3), and is told when the primary comes and goes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any

import grpc
from finsy.proto import U128, p4r, p4r_grpc

from csaud_controller.inventory import Fabric
from csaud_controller.switches.errors import TlsError
from csaud_controller.switches.tls import credentials

LOG = logging.getLogger("csaud.controller")

_AGAIN_S = 1.0
_ANSWER_S = 5.0
_OPTIONS = [("grpc.keepalive_time_ms", 600_000), ("grpc.keepalive_timeout_ms", 700)]


class Primacy:
    """Of all switches of a fabric. `changed` is called whenever one says something else than before."""

    def __init__(self, fabric: Fabric, changed: Callable[[], None]) -> None:
        self._fabric, self._changed = fabric, changed
        self._ids: dict[str, int | None] = {}
        """Of switches that a stream stands to: the primary's election id, or None where there is none."""
        self._had: dict[str, int] = {}
        """The last that each had."""

    async def watch(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for name in self._fabric.switches:
                group.create_task(self._follow(name), name=f"primacy of {name}")

    @property
    def heard(self) -> frozenset[str]:
        """Switches that say who is primary."""
        return frozenset(self._ids)

    def lost(self, term: int) -> bool:
        """Whether the controller of this term is gone from all switches that it was primary of, as far as
        they can be asked, and nobody else is there."""
        had = [name for name, id_ in self._had.items() if id_ == term and name in self._ids]
        return bool(had) and all(id_ is None for id_ in self._ids.values())

    async def highest(self) -> int:
        """The highest election id that a switch has seen, of those that say so; 0: none does."""
        return max(await asyncio.gather(*map(self._highest_at, self._fabric.switches)), default=0)

    async def _highest_at(self, name: str) -> int:
        with contextlib.suppress(grpc.RpcError, TlsError, TimeoutError):
            async with asyncio.timeout(_ANSWER_S), self._channel(name) as channel:
                answer = await (await self._hello(name, channel)).read()
                if answer is not grpc.aio.EOF and answer.WhichOneof("update") == "arbitration":
                    return U128.decode(answer.arbitration.election_id)
        return 0

    async def _follow(self, name: str) -> None:
        told = ""
        while True:
            try:
                with contextlib.suppress(grpc.RpcError):
                    await self._listen(name)
                told = ""
            except TlsError as error:  # its files may come, or be right again
                if str(error) != told:
                    LOG.warning("%s does not say who its primary is: %s", name, error)
                told = str(error)
            self._ids.pop(name, None)
            self._changed()
            await asyncio.sleep(_AGAIN_S)

    async def _listen(self, name: str) -> None:
        async with self._channel(name) as channel:
            stream = await self._hello(name, channel)
            while (answer := await stream.read()) is not grpc.aio.EOF:
                if answer.WhichOneof("update") == "arbitration":
                    self._told(name, answer.arbitration)

    async def _hello(self, name: str, channel: Any) -> Any:
        """A stream that will be answered."""
        stream = p4r_grpc.P4RuntimeStub(channel).StreamChannel()
        hello = p4r.MasterArbitrationUpdate(device_id=self._fabric.switches[name].device_id)
        await stream.write(p4r.StreamMessageRequest(arbitration=hello))
        return stream

    def _told(self, name: str, update: Any) -> None:
        if update.status.code == grpc.StatusCode.ALREADY_EXISTS.value[0]:
            self._ids[name] = self._had[name] = U128.decode(update.election_id)
        else:
            self._ids[name] = None
        self._changed()

    def _channel(self, name: str) -> Any:
        untyped: Any = grpc.aio
        address, tls = self._fabric.switches[name].p4runtime or "", credentials(self._fabric, name)
        if tls is None:
            return untyped.insecure_channel(address, options=_OPTIONS)
        override = (
            [("grpc.ssl_target_name_override", tls.target_name_override)] if tls.target_name_override else []
        )
        return untyped.secure_channel(address, tls.to_client_credentials(), options=_OPTIONS + override)
