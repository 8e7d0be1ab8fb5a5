"""The API port: health, metrics, and the routers other doors bring."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import RedirectResponse
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.types import ASGIApp

from postroom.app.param_headers import look_once_for_param_headers
from postroom.app.part_health import Failing, part_health
from postroom.console.root import ROOT as CONSOLE
from postroom.guard.http import Guard, Verifier
from postroom.guard.json_door import answer_in_one_shape

PUBLIC = ("/health", "/openapi.json", "/metrics")


def api_app(
    registry: CollectorRegistry,
    verifier: Verifier,
    *,
    routers: Sequence[APIRouter] = (),
    console: ASGIApp | None = None,
    server: MCPServer[Any] | None = None,
    failing: Failing,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
) -> ASGIApp:
    """With an MCP server, assistants find its tools at /mcp of the same port; people find the console at /console."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        if server is None:
            yield
            return
        async with server.session_manager.run():
            yield

    app = FastAPI(title="Postroom", version="1", docs_url=None, redoc_url=None, lifespan=lifespan)

    @app.get("/health", operation_id="health", summary="Whether this part is up")
    async def health() -> dict[str, Any]:
        return part_health("api", failing())

    @app.get("/metrics", operation_id="metrics", summary="Figures for Prometheus", response_class=Response)
    async def metrics() -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    answer_in_one_shape(app)
    for router in routers:
        app.include_router(router)
    if server is not None:
        inner = server.streamable_http_app(
            json_response=True,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard does it
        )
        look_once_for_param_headers(server)
        app.router.routes.extend(inner.routes)
    if console is None:
        return Guard(app, verifier=verifier, public=PUBLIC, hosts=hosts, origins=origins)
    app.mount(CONSOLE, console)
    app.add_route("/", _to_console, include_in_schema=False)
    public = (*PUBLIC, "/", CONSOLE)
    return Guard(app, verifier=verifier, public=public, own_doors=(CONSOLE,), hosts=hosts, origins=origins)


async def _to_console(_request: Request) -> Response:
    return RedirectResponse(f"{CONSOLE}/", status_code=307)
