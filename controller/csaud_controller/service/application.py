"""The application: the interface under /v1, its description, the page, health."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from csaud_runs.errors import RunError
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from csaud_controller.control.client import Answer, ConflictError, ControlError, RefusedError, ask
from csaud_controller.service.api import router
from csaud_controller.service.gate import Gate, KnownNames
from csaud_controller.service.principals import Principals
from csaud_controller.service.site import Site
from csaud_controller.switches.errors import CountersError

_PAGE = Path(__file__).parent / "page"
_STATUS = {
    ConflictError: HTTPStatus.PRECONDITION_FAILED,
    RefusedError: HTTPStatus.UNPROCESSABLE_ENTITY,
    ControlError: HTTPStatus.SERVICE_UNAVAILABLE,
    RunError: HTTPStatus.SERVICE_UNAVAILABLE,
    CountersError: HTTPStatus.SERVICE_UNAVAILABLE,
    OSError: HTTPStatus.SERVICE_UNAVAILABLE,
}
_NO_SCRIPTS_FROM_ELSEWHERE = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}


def create_app(
    site: Site | None, principals: Principals | None = None, hosts: tuple[str, ...] = ()
) -> FastAPI:
    """An ASGI application. Without a site it can only be described. `principals`: None lets everybody look,
    and nobody change anything. `hosts`: names by which it may be asked for, so that no page from elsewhere
    can ask it by a name of its own for this address; none: all."""
    app = FastAPI(
        title="CSA-UD fabric controller",
        version="1",
        description="Tokens go into `Authorization: Bearer TOKEN`; or a client certificate says who asks. "
        'Errors are `{"error": TEXT}`.',
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
    )
    app.state.site, app.state.readiness = site, _Readiness(site)
    app.include_router(router)
    app.mount("/page", StaticFiles(directory=_PAGE), name="page")
    app.add_api_route("/", _index, include_in_schema=False)
    app.add_api_route("/healthz", _alive, tags=["service"])
    app.add_api_route("/readyz", _ready, tags=["service"])
    for kind, status in _STATUS.items():
        app.add_exception_handler(kind, _answer_with(status))
    app.add_exception_handler(RequestValidationError, _mistaken)
    app.add_exception_handler(HTTPException, _refused)
    app.add_middleware(Gate, principals=principals)
    if hosts:
        app.add_middleware(KnownNames, names=hosts)
    return app


async def _index() -> FileResponse:
    return FileResponse(_PAGE / "index.html", headers=_NO_SCRIPTS_FROM_ELSEWHERE)


async def _alive() -> dict[str, bool]:
    """This process answers."""
    return {"alive": True}


async def _ready(request: Request) -> JSONResponse:
    """200 when the controller answers and every switch holds its tables; 503 with the reason otherwise."""
    try:
        pending = await request.app.state.readiness.pending()
    except ControlError as error:
        return JSONResponse({"ready": False, "error": str(error)}, HTTPStatus.SERVICE_UNAVAILABLE)
    status = HTTPStatus.SERVICE_UNAVAILABLE if pending else HTTPStatus.OK
    return JSONResponse({"ready": not pending, "pending": pending}, status)


class _Readiness:
    """Asks the controller in a thread of its own, once for all who ask meanwhile: requests may have taken all
    others."""

    def __init__(self, site: Site | None) -> None:
        self._site = site
        self._thread = ThreadPoolExecutor(1, "ready")
        self._asked: asyncio.Future[Answer] | None = None

    async def pending(self) -> Any:
        """The switches that do not hold their tables, and why; ControlError."""
        if self._asked is None or self._asked.done():
            assert self._site is not None
            work = partial(ask, self._site.run.control_socket, "wait", timeout_s=0)
            self._asked = asyncio.get_running_loop().run_in_executor(self._thread, work)
        return (await asyncio.shield(self._asked))["pending"]


def _answer_with(status: HTTPStatus) -> Any:
    async def handler(_request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"error": str(error)}, status)

    return handler


async def _refused(_request: Request, error: Exception) -> JSONResponse:
    """What the framework itself refuses: a path, a method, a body that it cannot read."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


async def _mistaken(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    said = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
    return JSONResponse({"error": said}, HTTPStatus.UNPROCESSABLE_ENTITY)
