"""The desk as an MCP server, over stdio or HTTP, with its one tool `notify`."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Any

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from postroom.desk.asks.asking import HouseholdAddress
from postroom.desk.asks.showing import watching
from postroom.desk.desk import Desk
from postroom.desk.model import (
    DEFAULT_PORT,
    DEFAULT_TITLE,
    FAILURES,
    MESSAGE_LIMIT,
    OPTION_LENGTH,
    OPTIONS_LIMIT,
    THEMES,
    TIMEOUT_SECONDS,
    PopupEnding,
    PopupOutcome,
    PopupQuestion,
    PopupSettings,
    answer,
    parse,
)
from postroom.kernel.running.process import package_version
from postroom.kernel.serving.mcp import McpSessions, OwnWordsServer, SessionBounds, Tool, unchecked_tool
from postroom.kernel.values.errors import SettingsError, ValidationError
from postroom.kernel.values.fields import in_url

# The tool: its schema, its words and its answers.

DESCRIPTION = (
    "Display a message in a popup window and optionally wait for user text response. "
    "Use this for silent, text-based conversation instead of voice."
)

INPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message": {
            "type": "string",
            "minLength": 1,
            "maxLength": MESSAGE_LIMIT,
            "description": "The message to display in the popup (1-10,000 characters)",
        },
        "wait_for_response": {
            "type": "boolean",
            "default": True,
            "description": "Whether to wait for user input. If false, just displays the message.",
        },
        "timeout": {
            "type": "number",
            "minimum": TIMEOUT_SECONDS[0],
            "maximum": TIMEOUT_SECONDS[1],
            "description": "Optional timeout in seconds for user response (5-300 seconds, default: no timeout)",
        },
        "title": {"type": "string", "default": DEFAULT_TITLE, "description": "Window title for the popup"},
        "show_history": {
            "type": "boolean",
            "default": True,
            "description": "Whether to show recent conversation history in the popup",
        },
        "chime_enabled": {
            "type": "boolean",
            "default": False,
            "description": "Whether to play sound feedback (disabled by default for silent use)",
        },
        "theme": {
            "type": "string",
            "enum": list(THEMES),
            "default": "auto",
            "description": "Color theme for the popup. 'auto' matches system setting.",
        },
        "options": {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": OPTION_LENGTH},
            "minItems": 1,
            "maxItems": OPTIONS_LIMIT,
            "uniqueItems": True,
            "description": "Answers offered as buttons. The user can still type a reply, alone or with a choice.",
        },
        "allow_multiple": {
            "type": "boolean",
            "default": False,
            "description": "Whether several options can be chosen. If false, choosing one submits it.",
        },
        "secret": {
            "type": "boolean",
            "default": False,
            "description": "Whether the reply is confidential: it is hidden while typed and never logged or kept.",
        },
        "project": {
            "type": "string",
            "default": "",
            "description": "A label shown in the popup that tells the user which project or task is asking",
        },
    },
    "required": ["message"],
}


def notify_tool(desk: Desk) -> Tool:
    """Takes arguments as they came: `question.parse` names every wrong field, and never repeats what stood in it."""

    async def notify(arguments: dict[str, Any], context: Context[Any, Any]) -> CallToolResult:
        try:
            question = parse(arguments)
        except ValidationError as error:
            return _text(f"Error: {error.message}", is_error=True)

        async def progress(seconds: float) -> None:
            await context.report_progress(round(seconds), question.timeout, "Waiting for the user's response")

        return _result_of(await desk.notify(question, progress), question)

    return unchecked_tool(
        notify,
        name="notify",
        description=DESCRIPTION,
        parameters=INPUT_SCHEMA,
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

    if not settings.token and not _is_this_machine(host):
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


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
