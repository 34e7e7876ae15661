"""The REST interface: resources of one fabric under /v1. What a request may do was settled by `gate`.

A change takes the revision that it builds on in If-Match (as ETag gives it), and is answered with 200 when
every switch holds it, or 202 with `pending`: the switches that do not, and why.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import nullcontext
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from csaud_controller.control.client import Answer, ControlError, RefusedError, ask
from csaud_controller.service.metrics import exposition
from csaud_controller.service.site import Site
from csaud_controller.service.view import moment, topology
from csaud_controller.switches.counters import KNOWN, read_counters
from csaud_controller.targets.assigned import programs

router = APIRouter(prefix="/v1")
Values = Annotated[dict[str, Any], Body()]
IfMatch = Annotated[str | None, Header(description='The revision that this builds on, as ETag: "3".')]
Revision = Annotated[int, Query(ge=0)]
Patience = Annotated[float, Query(ge=0, le=300, description="Seconds.")]
Since = Annotated[int, Query(ge=0, description="Those after this number.")]

# FastAPI runs what is not a coroutine in threads: a controller that takes its time keeps nobody else waiting,
# as long as there are threads (Site.waiting, Site.working).


def _site(request: Request) -> Site:
    found: Site = request.app.state.site
    return found


def _ask(request: Request, op: str, **arguments: Any) -> Answer:
    answer = ask(_site(request).run.control_socket, op, **arguments)
    answer.pop("ok")
    return answer


def _change(
    request: Request, response: Response, op: str, match: str | None = None, **arguments: Any
) -> Answer:
    """Ask for a change, with a note of who did."""
    if match is not None and match != "*":
        arguments["revision"] = _revision(match)
    with _site(request).working():
        answer = _noted(request, op, arguments)
    if answer.get("pending"):
        response.status_code = HTTPStatus.ACCEPTED
    if "revision" in answer:
        response.headers["ETag"] = f'"{answer["revision"]}"'
    return answer


def _noted(request: Request, op: str, arguments: dict[str, Any]) -> Answer:
    audit = _site(request).audit
    client = request.client.host if request.client else "?"
    asked = audit.asked(request.state.who.name, client, op, arguments)
    try:
        answer = _ask(request, op, asker=request.state.who.name, **arguments)
    except ControlError as error:
        audit.answered(asked, f"failed: {error}")
        raise
    pending = answer.get("pending")
    audit.answered(asked, "in force" if not pending else f"pending: {pending}")
    return answer


def _revision(match: str) -> int:
    try:
        return int(match.strip().strip('"'))
    except ValueError:
        raise RefusedError(f'If-Match: expected a revision such as "3", got {match[:40]!r}') from None


@router.get("/whoami", tags=["service"])
async def whoami(request: Request) -> dict[str, str]:
    """Name and role of whose token it is."""
    return {"name": request.state.who.name, "role": request.state.who.role}


@router.get("/status", tags=["fabric"])
def status(request: Request) -> Answer:
    """All that `csaud fabric show` tells."""
    return _ask(request, "status")


@router.get("/topology", tags=["fabric"])
def get_topology(request: Request) -> dict[str, Any]:
    """Nodes with their tiers, and links: what the page draws."""
    return topology(_site(request).sampler.fabric())


@router.get("/fabric", tags=["fabric"])
def get_fabric(request: Request, response: Response) -> Answer:
    """The fabric file's content, with all that was filled in."""
    answer = _ask(request, "fabric")
    response.headers["ETag"] = f'"{answer["revision"]}"'
    return answer


@router.put("/fabric", tags=["fabric"])
def put_fabric(request: Request, response: Response, fabric: Values, if_match: IfMatch = None) -> Answer:
    """Another fabric, as `csaud fabric apply`."""
    return _change(request, response, "fabric.apply", if_match, fabric=fabric)


@router.post("/fabric/plan", tags=["fabric"])
def plan_fabric(request: Request, fabric: Values) -> Answer:
    """What another fabric would change, by switch and table."""
    with _site(request).working():
        return _ask(request, "fabric.plan", fabric=fabric)


@router.get("/intent", tags=["policy"])
def get_intent(request: Request, response: Response) -> Answer:
    """All that was asked for: policy, when it ends, faults and drains."""
    answer = _ask(request, "intent")
    response.headers["ETag"] = f'"{answer["revision"]}"'
    return answer


@router.get("/wait", tags=["fabric"])
def wait(request: Request, timeout_s: Patience = 30.0) -> Answer:
    """Wait until every switch holds its tables; `pending` has those that do not by then, and why."""
    with _site(request).waiting() if timeout_s else nullcontext():
        return _ask(request, "wait", timeout_s=timeout_s)


@router.get("/counters", tags=["fabric"])
def counters(
    request: Request,
    switches: Annotated[str | None, Query(description="By name, with commas; default: all.")] = None,
    counters: Annotated[str | None, Query(description="By name, with commas; default: all.")] = None,
    unit: Literal["packets", "bytes"] = "packets",
) -> Answer:
    """What the switches have counted since their pipeline was loaded, by port and kind or path bucket."""
    fabric = _site(request).sampler.fabric()
    names = _listed(switches)
    for name in names or ():
        if name not in fabric.switches:
            raise RefusedError(f"unknown switch {name[:64]!r}; expected one of {', '.join(fabric.switches)}")
    wanted = _listed(counters)
    for name in wanted or ():
        if name not in KNOWN:
            raise RefusedError(f"unknown counter {name[:64]!r}; expected one of {', '.join(KNOWN)}")
    return {"switches": read_counters(fabric, programs(fabric), switches=names, counters=wanted, unit=unit)}


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [word for word in text.split(",") if word]


@router.get("/links", tags=["links"])
def links(request: Request) -> Answer:
    """Links between switches: whether they are up, and why one is not used; all drains."""
    return _ask(request, "links")


@router.put("/drains/{what}", tags=["links"])
def put_drain(
    request: Request, response: Response, what: str, force: bool = False, if_match: IfMatch = None
) -> Answer:
    """Drain a link (`l1-s1`, `l1:1`), a switch or a host."""
    return _change(request, response, "drain.set", if_match, what=what, force=force)


@router.delete("/drains/{what}", tags=["links"])
def delete_drain(request: Request, response: Response, what: str, if_match: IfMatch = None) -> Answer:
    """Use it again."""
    return _change(request, response, "drain.clear", if_match, what=what)


@router.delete("/drains", tags=["links"])
def delete_drains(request: Request, response: Response, if_match: IfMatch = None) -> Answer:
    """Use all of them again."""
    return _change(request, response, "drain.clear", if_match)


@router.get("/policy", tags=["policy"])
def get_policy(request: Request, response: Response) -> Answer:
    """The policy in force, all keys."""
    answer = _ask(request, "intent")
    response.headers["ETag"] = f'"{answer["revision"]}"'
    return {"policy": answer["intent"]["policy"], "revision": answer["revision"]}


@router.patch("/policy", tags=["policy"])
def patch_policy(request: Request, response: Response, policy: Values, if_match: IfMatch = None) -> Answer:
    """Keys of the policy with their new values; others stay."""
    return _change(request, response, "policy.set", if_match, policy=policy)


@router.put("/policy", tags=["policy"])
def put_policy(
    request: Request,
    response: Response,
    policy: Values,
    until: Annotated[float | None, Query(description="When it ends, in seconds since the epoch.")] = None,
    lasts_s: Annotated[float | None, Query(description="Instead: how many seconds from now on.")] = None,
    note: Annotated[str, Query(max_length=1000, description="Kept in the history.")] = "",
    if_match: IfMatch = None,
) -> Answer:
    """The whole policy anew, as `csaud policy apply`: keys that are not there get their defaults."""
    asked = {"policy": policy, "until": until, "lasts_s": lasts_s, "note": note}
    return _change(request, response, "policy.apply", if_match, **asked)


@router.post("/policy/plan", tags=["policy"])
def plan_policy(request: Request, policy: Values) -> Answer:
    """What that would change, by switch and table."""
    with _site(request).working():
        return _ask(request, "policy.plan", policy=policy)


@router.post("/policy/rollback", tags=["policy"])
def rollback(
    request: Request, response: Response, to: Revision | None = None, if_match: IfMatch = None
) -> Answer:
    """The policy of a revision, or the last other one."""
    return _change(request, response, "policy.rollback", if_match, to=to)


@router.get("/history", tags=["history"])
def history(request: Request, limit: Annotated[int, Query(ge=1, le=1000)] = 20) -> Answer:
    """The last revisions: who asked for what, and when."""
    return _ask(request, "policy.history", limit=limit)


@router.get("/paths/history", tags=["paths"])
def paths_history(
    request: Request,
    about: Annotated[str | None, Query(description="A link, switch or host; default: all.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> Answer:
    """What has become of paths: links that went and came back, drains, weights, spray modes; newest first."""
    return _ask(request, "path.history", about=about, limit=limit)


@router.get("/history/{revision}", tags=["history"])
def history_of(request: Request, revision: int) -> Answer:
    """One revision, with all that was asked for."""
    return _ask(request, "policy.history", revision=revision)


@router.get("/faults", tags=["policy"])
def get_faults(request: Request) -> Answer:
    """Injected faults."""
    answer = _ask(request, "intent")
    return {"faults": answer["intent"]["faults"], "revision": answer["revision"]}


@router.put("/faults", tags=["policy"])
def put_fault(request: Request, response: Response, rule: Values, if_match: IfMatch = None) -> Answer:
    """A fault to inject; it takes the place of one at the same place."""
    return _change(request, response, "fault.set", if_match, rule=rule)


@router.delete("/faults", tags=["policy"])
def delete_faults(
    request: Request, response: Response, where: str | None = None, if_match: IfMatch = None
) -> Answer:
    """No faults any more, or none at one place."""
    return _change(request, response, "fault.clear", if_match, where=where)


@router.get("/changes", tags=["history"])
def changes(request: Request, since: Since = 0) -> Answer:
    """What was asked for, when, and when it was in force."""
    return _ask(request, "changes", since=since)


@router.get("/alarms", tags=["history"])
def alarms(request: Request, since: Since = 0, wait: bool = False, timeout_s: Patience = 10.0) -> Answer:
    """Queues that were nearly full; with `wait`, as soon as there is one."""
    with _site(request).waiting() if wait else nullcontext():
        return _ask(request, "alarms", since=since, wait=wait, timeout_s=timeout_s)


@router.get("/paths", tags=["history"])
def paths(request: Request) -> Answer:
    """What hosts tell of their paths."""
    return _ask(request, "paths.stats")


@router.post("/paths/trace", tags=["history"])
def trace(
    request: Request,
    response: Response,
    src: str,
    dst: str,
    packets: Annotated[int, Query(ge=1, le=10_000)] = 100,
) -> Answer:
    """Send packets over each link of the ways between two hosts, and say what arrived."""
    return _change(request, response, "path.trace", timeout_s=60.0, src=src, dst=dst, packets=packets)


@router.get("/moment", tags=["fabric"])
def now(request: Request) -> dict[str, Any]:
    """What each link carried and lost since the last sample."""
    return moment(*_site(request).sampler.pair(_site(request).interval_s))


@router.get("/stream", tags=["fabric"], response_class=StreamingResponse)
async def stream(request: Request) -> StreamingResponse:
    """The same, again and again: server-sent events."""
    site = _site(request)

    async def events() -> AsyncIterator[str]:
        while True:
            # a little younger than the interval, or every second sample would be the one before
            found = await asyncio.to_thread(site.sampler.pair, 0.9 * site.interval_s)
            yield f"data: {json.dumps(moment(*found))}\n\n"
            await asyncio.sleep(site.interval_s)

    return StreamingResponse(events(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@router.get("/metrics", tags=["service"], response_class=Response)
def metrics(request: Request) -> Response:
    """For Prometheus."""
    return Response(exposition(_site(request).sampler.sample()), media_type="text/plain; version=0.0.4")
