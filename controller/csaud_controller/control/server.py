"""The controller's control socket: JSON lines over a unix socket, one answer a request.

A request is `{"op": NAME, ...}`; an answer `{"ok": true, ...}` or `{"ok": false, "error": TEXT}`. Changes
are answered when every switch holds them, or after `timeout_s` with the switches that do not, by name, under
`pending`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
from collections.abc import Awaitable, Callable
from functools import partial
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from csaud_runs.directory import is_served
from pydantic import ValidationError

from csaud_controller.base.http_peers import reason
from csaud_controller.base.yamlfile import mistake
from csaud_controller.control.asker import asking
from csaud_controller.control.client import (
    APPLY_TIMEOUT_S,
    Answer,
    ConflictError,
    ControlError,
    StandsByError,
    standing_by,
)
from csaud_controller.control.fabric_controller import FabricController
from csaud_controller.control.maintenance import Maintenance
from csaud_controller.control.peers import Peer, Reporters, listen_at, peer_of
from csaud_controller.control.policies import Policies
from csaud_controller.desired.history import HistoryError
from csaud_controller.desired.keeper import NotKeptError
from csaud_controller.inventory import Fabric
from csaud_controller.paths.host_reports import PathReport, as_json
from csaud_controller.policy.faults import FaultRule, Faults
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy
from csaud_controller.policy.places import ports_of
from csaud_controller.program.artifacts import ArtifactsError
from csaud_controller.switches.errors import CountersError, TlsError

LOG = logging.getLogger("csaud.controller")

_MAX_LINE = 1 << 24
_MAX_REPORT = 1 << 21
"""Bytes: three counts of 20 digits for each path id, and some more."""
_LAST_WORDS_S = 1.0
_MOST_REPORTERS = 4096
"""Connections for reports at a time."""

Request = dict[str, Any]
Ops = dict[str, Callable[[Request], Awaitable[Answer]]]


class ControlServer:
    """Serves one FabricController at `path` until `stopped` is set; and path reports of hosts, alone, at
    `reports`, host and port, where hosts have no such path. Without a controller, another one is primary: it
    says so, with the words of `primary`, until it is told to `lead` one.
    """

    def __init__(
        self,
        controller: FabricController | None,
        path: Path,
        reports: tuple[str, int] | None = None,
        *,
        group: int | None = None,
        report_networks: tuple[IPv4Network, ...] = (),
    ) -> None:
        self._path, self._reports, self._group = path, reports, group
        self._report_networks = report_networks
        self._known_reporters: Reporters | None = None
        self._reporting = 0
        self.primary = ""
        """Who is, while this controller stands by."""
        self.stopped = asyncio.Event()
        self._standing_by: Ops = {"status": self._status_of_none, "stop": self._stop}
        self._leading: FabricController | None = None
        self._ops: Ops = {}
        self.lead(controller)

    def lead(self, controller: FabricController | None) -> None:
        """Answer for this controller from now on; None: for none."""
        self._leading = controller
        self._ops = self._standing_by if controller is None else self._ops_of(controller)

    def _check_leads(self) -> FabricController:
        if self._leading is None:
            raise StandsByError(standing_by({"primary": self.primary}))
        return self._leading

    @property
    def _controller(self) -> FabricController:
        return self._check_leads()

    def _ops_of(self, controller: FabricController) -> Ops:
        return {
            "status": self._status,
            "intent": self._intent,
            "policy.set": self._policy_set,
            "fabric": self._fabric,
            "fabric.plan": self._fabric_plan,
            "fabric.apply": self._fabric_apply,
            "fault.set": self._fault_set,
            "fault.clear": self._fault_clear,
            "changes": self._changes,
            "alarms": self._alarms,
            "paths.report": self._paths_report,
            "paths.stats": self._paths_stats,
            "wait": self._wait,
            "stop": self._stop,
            **Maintenance(controller, self._change).ops,
            **Policies(controller, self._change).ops,
        }

    @property
    def _reporters(self) -> Reporters:
        """Of the fabric as it is; made once for each."""
        if self._known_reporters is None or self._known_reporters.fabric is not self._controller.fabric:
            self._known_reporters = Reporters(self._controller.fabric, self._report_networks)
        return self._known_reporters

    async def serve(self) -> None:
        """ControlError when a controller already serves this path; a socket that a killed one left is
        replaced."""
        if is_served(self._path):
            raise ControlError(f"a controller already runs: {self._path} is in use")
        self._path.unlink(missing_ok=True)
        async with contextlib.AsyncExitStack() as servers:
            await self._serve_until_stopped(servers)

    async def _serve_until_stopped(self, servers: contextlib.AsyncExitStack) -> None:
        if self._reports is not None:
            host, port = self._reports
            try:
                listening = await asyncio.start_server(self._reporter, host, port, limit=_MAX_REPORT)
            except (OSError, UnicodeError) as error:  # asyncio's own text has the address once more
                number = getattr(error, "errno", None) or 0
                told = os.strerror(number) if number > 0 else reason(error)
                raise ControlError(f"reports cannot be taken at {host}:{port}: {told}") from None
            await servers.enter_async_context(listening)
        server = await asyncio.start_unix_server(
            self._user, sock=listen_at(self._path, self._group), limit=_MAX_LINE
        )
        own = self._path.stat().st_ino
        try:
            async with server:
                await self.stopped.wait()
        finally:
            if self._path.exists() and self._path.stat().st_ino == own:
                self._path.unlink()

    async def _user(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = peer_of(writer.get_extra_info("socket"))
        if peer.is_allowed(self._group):
            await self._client(reader, writer, None, peer)
        else:
            await self._turn_away(reader, writer, f"{peer} may not ask this controller")

    async def _reporter(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hosts may ask for nothing else over the network: nothing that changes the fabric."""
        address = writer.get_extra_info("peername")[0]
        if self._leading is None:
            await self._turn_away(reader, writer, "another controller is primary")
        elif not self._reporters.may_connect(address):
            await self._turn_away(reader, writer, f"{address} is no host of this fabric")
        elif self._reporting >= _MOST_REPORTERS:
            await self._turn_away(reader, writer, f"{_MOST_REPORTERS} connections are open already")
        else:
            self._reporting += 1
            try:
                report = partial(self._report_from, address)
                await self._client(reader, writer, {"paths.report": report})
            finally:
                self._reporting -= 1

    async def _turn_away(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, why: str) -> None:
        LOG.warning("turned away: %s", why)
        with contextlib.suppress(ConnectionError, ValueError, TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_S):
                await reader.readline()  # or it would fail to ask, and not hear why
            writer.write(json.dumps(_refusal(why)).encode() + b"\n")
            await writer.drain()
        writer.close()

    async def _client(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        ops: Ops | None,
        peer: Peer | None = None,
    ) -> None:
        """`ops`: what is answered; None: all that there is by then."""
        try:
            while line := await reader.readline():
                answer = await self._answer(line, self._ops if ops is None else ops, peer)
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        except (ConnectionError, ValueError) as error:  # ValueError: a line that never ends
            LOG.debug("a client of the control socket was dropped: %s", error)
        finally:
            writer.close()

    async def _answer(self, line: bytes, ops: Ops, peer: Peer | None) -> Answer:
        try:
            request = json.loads(line)
            op = ops.get(request["op"])
            if peer is not None:
                asking(peer.name, peer.may_speak_for_others, request.get("asker"))
            if op is None:
                self._check_leads()
                raise ValueError(f"unknown op {request['op']!r}; expected one of {', '.join(ops)}")
            return {"ok": True, **await op(request)}
        except ValidationError as error:
            return _refusal(mistake(error))
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            return _refusal(str(error) or type(error).__name__)
        except KeyError as error:
            return _refusal(f"the request lacks {error}")
        except ConflictError as error:
            return _refusal(str(error), "conflict")
        except StandsByError as error:
            return _refusal(str(error), "standby")
        except CountersError as error:
            return _refusal(str(error), "failed")
        except (NotKeptError, HistoryError, TlsError, ArtifactsError) as error:
            return _refusal(f"nothing was changed: {error}", "failed")

    async def _status(self, request: Request) -> Answer:
        return {"pid": os.getpid(), "status": self._controller.status(), **await self._intent(request)}

    async def _status_of_none(self, request: Request) -> Answer:
        return {"pid": os.getpid(), "primary": self.primary}

    async def _intent(self, request: Request) -> Answer:
        found = self._controller
        return {"intent": found.intent.model_dump(mode="json"), "revision": found.revision}

    async def _policy_set(self, request: Request) -> Answer:
        patch = request["policy"]

        def changed(intent: Intent) -> Intent:
            policy = Policy.model_validate({**intent.policy.model_dump(), **patch})
            return intent.model_copy(update={"policy": policy})

        return await self._change(changed, request)

    async def _fabric(self, request: Request) -> Answer:
        found = self._controller
        return {"fabric": found.fabric.model_dump(mode="json", exclude_none=True), "revision": found.revision}

    async def _fabric_plan(self, request: Request) -> Answer:
        """What another fabric would change, by switch and table."""
        made = await self._controller.plan_fabric(Fabric.model_validate(request["fabric"]))
        return {"plan": made, "revision": self._controller.revision}

    async def _fabric_apply(self, request: Request) -> Answer:
        fabric = Fabric.model_validate(request["fabric"])
        generation, changed = await self._controller.change_fabric(fabric, _revision(request))
        return {**await self._applied(generation, request), "changed": changed}

    async def _fault_set(self, request: Request) -> Answer:
        rule = FaultRule.model_validate(request["rule"])
        return await self._change(
            lambda intent: intent.model_copy(update={"faults": intent.faults.with_rule(rule)}), request
        )

    async def _fault_clear(self, request: Request) -> Answer:
        where = request.get("where")

        def cleared(intent: Intent) -> Intent:
            if where is None:
                return intent.model_copy(update={"faults": Faults()})
            try:
                faults = intent.faults.without(where)
            except KeyError:
                ports_of(self._controller.fabric, where, ("where",))
                return intent
            return intent.model_copy(update={"faults": faults})

        return await self._change(cleared, request)

    async def _changes(self, request: Request) -> Answer:
        """Those of policy and faults after number `since`, what is asked for by now, and since when this
        controller has been there."""
        log = self._controller.changes
        found = log.since(int(request.get("since", 0)))
        began = self._controller.began
        return {"total": log.total, "changes": found, "began": began, **await self._intent(request)}

    async def _alarms(self, request: Request) -> Answer:
        """Those after number `since`; with `wait`, as soon as there are any, or after `timeout_s`."""
        log, since = self._controller.alarms, int(request.get("since", 0))
        if request.get("wait"):
            timeout_s = float(request.get("timeout_s", APPLY_TIMEOUT_S))
            await self._controller.wait_until(lambda: log.total > since, timeout_s)
        return {"total": log.total, "by_port": dict(log.by_port), "alarms": log.since(since)}

    async def _paths_report(self, request: Request) -> Answer:
        """A rank's report of its paths; answered with those that hosts must not use."""
        report = PathReport.model_validate(request)
        self._controller.host_paths.take(report)
        self._controller.examiner.heard(report)
        return {"denied": list(self._controller.intent.policy.denied_paths)}

    async def _report_from(self, address: str, request: Request) -> Answer:
        if not self._reporters.may_report(address, str(request["host"])):
            raise ValueError(f"host: {address} may not report for {str(request['host'])[:45]}")
        return await self._paths_report(request)

    async def _paths_stats(self, request: Request) -> Answer:
        found = as_json(self._controller.host_paths.by_host(self._controller.fabric))
        return {"hosts": found, "denied": list(self._controller.intent.policy.denied_paths)}

    async def _change(self, change: Callable[[Intent], Intent], request: Request) -> Answer:
        changed, warnings = False, list[str]()

        def noting(intent: Intent) -> Intent:
            nonlocal changed, warnings
            made = change(intent)
            changed = made != intent
            if not changed or _about_spraying(made) != _about_spraying(intent):
                warnings = made.policy.warnings
            return made

        generation = await self._controller.change(noting, _revision(request))
        return {**await self._applied(generation, request), "changed": changed, "warnings": warnings}

    async def _applied(self, generation: int, request: Request) -> Answer:
        timeout_s = float(request.get("timeout_s", APPLY_TIMEOUT_S))
        pending = await self._controller.wait_applied(generation, timeout_s)
        return {"pending": pending, **await self._intent(request)}

    async def _wait(self, request: Request) -> Answer:
        timeout_s = float(request.get("timeout_s", APPLY_TIMEOUT_S))
        return {"pending": await self._controller.wait_in_sync(timeout_s)}

    async def _stop(self, request: Request) -> Answer:
        self.stopped.set()
        return {"pid": os.getpid()}


def _about_spraying(intent: Intent) -> object:
    return intent.policy.spraying, intent.policy.weights


def _revision(request: Request) -> int | None:
    revision = request.get("revision")
    return None if revision is None else int(revision)


def _refusal(message: str, kind: str = "refused") -> Answer:
    return {"ok": False, "error": message, "kind": kind}
