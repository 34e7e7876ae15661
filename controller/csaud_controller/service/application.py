"""The application: the interface under /v1, its description, the page, health."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from typing import Any

from csaud_runs.errors import RunError
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.middleware.trustedhost import TrustedHostMiddleware

from csaud_controller.control.client import ConflictError, ControlError, RefusedError, ask
from csaud_controller.service.api import router
from csaud_controller.service.gate import Gate
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
    app.state.site = site
    app.include_router(router)
    app.mount("/page", StaticFiles(directory=_PAGE), name="page")
    app.add_api_route("/", _index, include_in_schema=False)
    app.add_api_route("/healthz", _alive, tags=["service"])
    app.add_api_route("/readyz", _ready, tags=["service"])
    for kind, status in _STATUS.items():
        app.add_exception_handler(kind, _answer_with(status))
    app.add_exception_handler(RequestValidationError, _mistaken)
    app.add_middleware(Gate, principals=principals)
    if hosts:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    return app


def _index() -> FileResponse:
    return FileResponse(_PAGE / "index.html", headers=_NO_SCRIPTS_FROM_ELSEWHERE)


def _alive() -> dict[str, bool]:
    """This process answers."""
    return {"alive": True}


def _ready(request: Request) -> JSONResponse:
    """200 when the controller answers and every switch holds its tables; 503 with the reason otherwise."""
    try:
        pending = ask(request.app.state.site.run.control_socket, "wait", timeout_s=0)["pending"]
    except ControlError as error:
        return JSONResponse({"ready": False, "error": str(error)}, HTTPStatus.SERVICE_UNAVAILABLE)
    status = HTTPStatus.SERVICE_UNAVAILABLE if pending else HTTPStatus.OK
    return JSONResponse({"ready": not pending, "pending": pending}, status)


def _answer_with(status: HTTPStatus) -> Any:
    def handler(_request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"error": str(error)}, status)

    return handler


def _mistaken(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    said = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
    return JSONResponse({"error": said}, HTTPStatus.UNPROCESSABLE_ENTITY)
