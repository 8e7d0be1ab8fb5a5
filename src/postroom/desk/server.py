"""The desk as an MCP server, over stdio or HTTP, with its one tool `notify`."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from postroom.desk.acts import PopupQuestion
from postroom.desk.asks.asking import HouseholdAddress
from postroom.desk.asks.showing import watching
from postroom.desk.desk import Desk
from postroom.desk.model import DEFAULT_PORT, FAILURES, PopupEnding, PopupOutcome, PopupSettings, answer
from postroom.kernel.acts.declaration import words_of
from postroom.kernel.acts.reading import arguments_schema, read
from postroom.kernel.running.process import package_version
from postroom.kernel.serving.mcp import McpSessions, OwnWordsServer, SessionBounds, Tool, unchecked_tool
from postroom.kernel.values.errors import Refused, SettingsError
from postroom.kernel.values.fields import in_url, is_loopback

# The tool.


def notify_tool(desk: Desk) -> Tool:
    """Its answers are the specification's sentences, and so is its refusal: text, with nothing beside it."""

    async def notify(arguments: dict[str, Any], context: Context[Any, Any]) -> CallToolResult:
        try:
            question, _ = read(PopupQuestion, arguments)
        except Refused as error:
            return _text(f"Error: {error.message}", is_error=True)

        async def progress(seconds: float) -> None:
            await context.report_progress(round(seconds), question.timeout, "Waiting for the user's response")

        return _result_of(await desk.notify(question, progress), question)

    return unchecked_tool(
        notify,
        name="notify",
        description=words_of(PopupQuestion),
        parameters=arguments_schema(PopupQuestion),
        annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False),
    )


def _result_of(ending: PopupEnding, question: PopupQuestion) -> CallToolResult:
    result = _text(answer(ending, question.timeout), is_error=ending.outcome in FAILURES)
    if question.options and ending.outcome is PopupOutcome.SUBMITTED:
        result.structured_content = {"options": list(ending.chosen), "text": ending.text}
    return result


def _text(text: str, *, is_error: bool) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)


# The server.

_NOT_STARTED = 3
INSTRUCTIONS = (
    "`notify` shows the user a popup on their own screen and returns what they type. It is the silent counterpart of "
    "a spoken `converse`: both share one conversation history, and you can switch between them at any time."
)
_OPENAPI = {
    "openapi": "3.1.0",
    "info": {"title": "Postroom desk", "version": "1"},
    "paths": {
        "/health": {"get": {"summary": "Whether the server runs", "responses": {"200": {"description": "It does"}}}},
        "/mcp": {
            "post": {
                "summary": "Model Context Protocol, streamable HTTP; its tool is `notify`",
                "responses": {"200": {"description": "A JSON-RPC answer or an event stream"}},
            }
        },
    },
}


def build_server(settings: PopupSettings, desk: Desk | None = None) -> MCPServer[Any]:
    server = OwnWordsServer(
        "postroom-desk",
        version=package_version(),
        instructions=INSTRUCTIONS,
        tools=[notify_tool(desk or Desk(settings))],
        log_level="WARNING",
    )
    server.custom_route("/health", methods=["GET"])(_json({"status": "ok"}))
    server.custom_route("/openapi.json", methods=["GET"])(_json(_OPENAPI))
    return server


def run_stdio(settings: PopupSettings, household: HouseholdAddress | None = None) -> None:
    async def run() -> None:
        desk = Desk(settings)
        async with watching(desk, settings, household):
            await build_server(settings, desk).run_stdio_async()

    anyio.run(run)


def http_app(
    settings: PopupSettings, *, host: str = "127.0.0.1", port: int = DEFAULT_PORT, desk: Desk | None = None
) -> ASGIApp:
    """MCP at `/mcp`. Only requests addressed to this host pass, and with a token only those that bear it."""
    names = {in_url(host), "127.0.0.1", "localhost", "[::1]"}
    security = TransportSecuritySettings(
        allowed_hosts=sorted(f"{name}:{port}" for name in names),
        allowed_origins=sorted(f"http://{name}:{port}" for name in names),
    )
    inner: Starlette = build_server(settings, desk).streamable_http_app(host=host, transport_security=security)
    app = McpSessions(inner, SessionBounds())
    return BearerOnly(app, settings.token.reveal()) if settings.token else app


def run_http(settings: PopupSettings, *, host: str, port: int, household: HouseholdAddress | None = None) -> None:
    """Raises SettingsError rather than let other machines ask the person at this screen for anything."""
    import uvicorn

    if not settings.token and not is_loopback(host):
        raise SettingsError(f"--host {host} is open to other machines: set desk.token (POSTROOM_DESK__TOKEN) first.")

    async def run() -> bool:
        desk = Desk(settings)
        app = http_app(settings, host=host, port=port, desk=desk)
        server = uvicorn.Server(uvicorn.Config(app, host=host, port=port, log_level="warning"))
        async with watching(desk, settings, household):
            await server.serve()
        return server.started

    if not anyio.run(run):
        sys.exit(_NOT_STARTED)


class BearerOnly:
    """Other users of this machine can reach the port too; only who knows the token may open windows."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in ("/health", "/openapi.json") or self._allowed(scope):
            await self._app(scope, receive, send)
            return
        refusal = JSONResponse({"error": "a valid bearer token is required"}, status_code=401)
        await refusal(scope, receive, send)

    def _allowed(self, scope: Scope) -> bool:
        given = dict(scope["headers"]).get(b"authorization", b"")
        return secrets.compare_digest(given, self._expected)


def _json(content: dict[str, Any]) -> Callable[[Request], Awaitable[Response]]:
    async def respond(_: Request) -> Response:
        return JSONResponse(content)

    return respond
