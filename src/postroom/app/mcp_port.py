"""The HTTP face of an MCP server: /mcp, /health and /openapi.json behind the guard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.mcpserver import MCPServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from postroom.app.mcp_transport import McpTransport
from postroom.domain.principal import Principal
from postroom.doors.guard.http import Guard, Verifier
from postroom.doors.guard.visitors import visitors
from postroom.system.mcp_sessions import McpSessions, SessionBounds
from postroom.system.part_health import Failing, part_health
from postroom.system.serving.listeners import bounds_of
from postroom.system.settings import Settings


def butler_app(name: str, server: MCPServer[Any], verifier: Verifier, settings: Settings, failing: Failing) -> ASGIApp:
    """Open to those who may visit this butler, within the household's bounds."""
    _, sessions = bounds_of(settings.serving)
    return mcp_app(
        server,
        verifier,
        hosts=settings.served_hosts,
        origins=settings.allowed_origins,
        allow=visitors(name),
        failing=failing,
        sessions=sessions,
        household=settings.household_id,
    )


def mcp_app(
    server: MCPServer[Any],
    verifier: Verifier,
    *,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    allow: Callable[[Principal], bool],
    failing: Failing = tuple,
    sessions: SessionBounds = SessionBounds(),  # noqa: B008  # frozen
    household: str = "",
) -> ASGIApp:
    transport = McpTransport(server)

    async def health(_request: Request) -> JSONResponse:
        return JSONResponse(part_health(server.name, failing(), household))

    async def openapi(_request: Request) -> JSONResponse:
        return JSONResponse(_document(server))

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with transport.running():
            yield

    routes = [Route("/health", health), Route("/openapi.json", openapi), *transport.routes]
    app = transport.around(Starlette(routes=routes, lifespan=lifespan))
    return Guard(McpSessions(app, sessions), verifier=verifier, hosts=hosts, origins=origins, allow=allow)


def _document(server: MCPServer[Any]) -> dict[str, Any]:
    answer = {"200": {"description": "OK", "content": {"application/json": {"schema": {"type": "object"}}}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"Postroom {server.name}", "version": "1", "description": server.description or ""},
        "paths": {
            "/health": {"get": {"operationId": "health", "summary": "Whether this part is up", "responses": answer}},
            "/mcp": {
                "post": {
                    "operationId": "mcp",
                    "summary": "Model Context Protocol, streamable HTTP",
                    "security": [{"bearer": []}],
                    "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
                    "responses": answer,
                }
            },
        },
        "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
    }
