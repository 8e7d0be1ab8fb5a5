"""The MCP SDK as we use it: all that touches its private or unstable names; tests name the versions they hold for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.extension import Extension
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool as Tool  # others take it from here
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.session import ServerSession
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value, x_mcp_header_map
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CallToolResult,
    ElicitationCapability,
    InputRequiredResult,
    TextContent,
    ToolAnnotations,
)
from pydantic import ValidationError
from pydantic_core import to_json, to_jsonable_python
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postroom.kernel.http.answers import as_object
from postroom.kernel.serving import REVISION
from postroom.kernel.values.errors import HINTS, Code, PostroomError, hint_of, sentence
from postroom.kernel.values.fields import field_error
from postroom.kernel.values.principal import PRINCIPAL

# What the client of a call can do, as it said itself: newer ones with each call, older ones once.


def is_newer(context: ServerRequestContext[Any, Any]) -> bool:
    return context.protocol_version == REVISION


def declares(context: ServerRequestContext[Any, Any], extension: str) -> bool:
    """With this very request: what it said with others does not count."""
    said = as_object(as_object(context.params).get("_meta")).get(CLIENT_CAPABILITIES_META_KEY)
    return is_newer(context) and extension in as_object(as_object(said).get("extensions"))


def shows_forms(context: ServerRequestContext[Any, Any]) -> bool:
    able = context.session.client_capabilities
    return able is not None and takes_forms(able.elicitation)


def takes_forms(able: ElicitationCapability | None) -> bool:
    """An empty object is from before there was another way than forms."""
    return able is not None and (able.form is not None or able.url is None)


# An extension of the protocol on a server whose tools are added one by one.


def add_extension(server: MCPServer[Any], extension: Extension) -> None:
    """As the SDK does with those it is given when a server is made."""
    server._apply_extension(extension)
    server._install_extension_interceptor()


# `Mcp-Param-*` headers are held against the arguments of those tools that declare any.


def look_once_for_param_headers(server: MCPServer[Any]) -> None:
    """
    The framework walks a tool's whole schema twice at every call to find what the tool declares.

    A tool declares it once. One that declares nothing has no schema to hold against headers,
    and for one that does the framework goes on as before. Needs the server's HTTP application.
    """
    inner = server.session_manager.app
    schema_of = inner.get_tool_input_schema
    if schema_of is None:
        return
    declares: dict[str, bool] = {}

    def where_declared(name: str) -> Mapping[str, Any] | None:
        schema = schema_of(name)
        if schema is None:
            return None
        if name not in declares:
            declares[name] = bool(x_mcp_header_map(schema))
        return schema if declares[name] else None

    inner.get_tool_input_schema = where_declared


# What a client echoes between two rounds of one call, sealed under a key that outlives the process.

Whose = Callable[[ServerRequestContext[Any, Any]], str | None]


def keep_request_state(server: MCPServer[Any], key: bytes, ttl_seconds: float, whose: Whose) -> None:
    """The SDK's own key is made at each start. Bound to the caller, the tool, its arguments and this server."""
    security = RequestStateSecurity(keys=[key], ttl=ttl_seconds, bind_principal=whose)
    for one in server.middleware:
        if isinstance(one, RequestStateBoundary):
            one._security = security


# The `Mcp-Name` header, by which intermediaries send a call to where it belongs.


def contradicts(context: ServerRequestContext[Any, Any], name: str) -> bool:
    """The header names something else than the call does; without the header there is nothing to contradict."""
    named = context.request.headers.get(MCP_NAME_HEADER) if context.request is not None else None
    return named is not None and decode_header_value(named) != name


# Further ways to the same tools, whose answers are event streams: for calls that take their time or ask back.


def streaming(server: MCPServer[Any]) -> StreamableHTTPSessionManager:
    """
    Carries progress, sends a sign of life every 15 seconds, and ends the call when its caller is gone.

    It keeps no sessions: a call that belongs to a session of the server's own way is served all the same, because
    who calls is in its token. Needs the server's HTTP application.
    """
    return _manager(server, stateless=True)


def asking_back(server: MCPServer[Any]) -> StreamableHTTPSessionManager:
    """Keeps sessions, in which a client of the older protocol can be asked something while it waits for an answer."""
    return _manager(server, stateless=False)


def is_session_of(manager: StreamableHTTPSessionManager, session_id: str) -> bool:
    return session_id in manager._server_instances


def _manager(server: MCPServer[Any], *, stateless: bool) -> StreamableHTTPSessionManager:
    return StreamableHTTPSessionManager(
        app=server.session_manager.app,
        json_response=False,
        stateless=stateless,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard does it
    )


# Tools of a server as the SDK keeps them, and one that takes its arguments as they came.


def add_tool(server: MCPServer[Any], tool: Tool) -> None:
    """Of two with one name the first stays, as in the SDK."""
    server._tool_manager._tools.setdefault(tool.name, tool)


def tool_named(server: MCPServer[Any], name: str) -> Tool | None:
    return server._tool_manager.get_tool(name)


def unchecked_tool(
    function: Callable[..., Awaitable[Any]],
    *,
    name: str,
    description: str,
    parameters: dict[str, Any],
    annotations: ToolAnnotations,
    answers: dict[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Tool:
    """Its function gets `arguments` and `context`, and says itself which argument is wrong."""
    return Tool(
        fn=function,
        name=name,
        title=None,
        description=description,
        parameters=parameters,
        fn_metadata=_AsTheyCame(arg_model=ArgModelBase, output_schema=answers),
        is_async=True,
        context_kwarg="context",
        annotations=annotations,
        meta=dict(meta) if meta else None,
    )


class _AsTheyCame(FuncMetadata):
    """The function has judged its arguments, and its answer is what it declares: the SDK checks neither."""

    def validate_arguments(self, arguments_to_validate: dict[str, Any]) -> dict[str, Any]:
        return {"arguments": arguments_to_validate}

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        return data

    def convert_result(self, result: Any) -> CallToolResult | InputRequiredResult:
        if isinstance(result, CallToolResult | InputRequiredResult):
            return result
        text = TextContent(type="text", text=to_json(result).decode())
        return CallToolResult(content=[text], structured_content=result)


# How many MCP sessions stay open: so many in all and of one caller, the least recently used goes first.

_PATH: Final = "/mcp"
_HEADER: Final = "mcp-session-id"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBounds:
    total: int = 1000
    per_caller: int = 100


@dataclass(slots=True)
class _Session:
    caller: str
    calls: int = 0  # under way


class McpSessions:
    """Stands behind the guard, so a caller without a token opens none; ends a session as its client would."""

    def __init__(self, app: ASGIApp, bounds: SessionBounds) -> None:
        self._app = app
        self._bounds = bounds
        self._open: dict[str, _Session] = {}  # the least recently used first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != _PATH:
            await self._app(scope, receive, send)
        elif (session_id := Headers(scope=scope).get(_HEADER)) in self._open:
            await self._within(str(session_id), scope, receive, send)
        else:
            await self._opening(scope, receive, send)

    async def _opening(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def watch(message: Message) -> None:
            if opened := _opened(message):
                self._open[opened] = _Session(str(scope.get(PRINCIPAL)))
                await self._make_room(scope, opened)
            await send(message)

        await self._app(scope, receive, watch)

    async def _within(self, session_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        session = self._open[session_id] = self._open.pop(session_id)
        session.calls += 1
        try:
            await self._app(scope, receive, send)
        finally:
            session.calls -= 1
            if self._open.pop(session_id, None) and scope["method"] != "DELETE":
                self._open[session_id] = session

    async def _make_room(self, scope: Scope, newest: str) -> None:
        caller = self._open[newest].caller
        mine = [one for one, session in self._open.items() if session.caller == caller and one != newest]
        if len(mine) >= self._bounds.per_caller:
            await self._end(scope, mine)
        if len(self._open) > self._bounds.total:
            await self._end(scope, [one for one in self._open if one != newest])

    async def _end(self, scope: Scope, candidates: list[str]) -> None:
        """One without a call under way, if there is any; ended in the name of the caller whose it is."""
        ended = next((one for one in candidates if not self._open[one].calls), candidates[0])
        caller = self._open.pop(ended).caller
        kept = [(name, value) for name, value in scope["headers"] if name == b"host"]
        headers = [*kept, (_HEADER.encode(), ended.encode())]
        leaving = {**scope, "method": "DELETE", "headers": headers, PRINCIPAL: caller}
        await self._app(leaving, _nothing_more, _unheard)


def _opened(message: Message) -> str | None:
    if message["type"] != "http.response.start" or message["status"] >= 400:
        return None
    return Headers(raw=message["headers"]).get(_HEADER)


async def _nothing_more() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(_message: Message) -> None:
    pass


# What is wrong with a tool's call, in our words: the SDK's name the tool first and add the library's text.

_MOST_FIELDS: Final = 20
_MOST_SAID: Final = 500


class OwnWordsServer(MCPServer[Any]):
    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            raise in_our_words(error) from error.__cause__


def in_our_words(error: ToolError) -> ToolError:
    """
    Of arguments it is said which are wrong, without what was in them. Of what nobody foresaw nothing is said but that
    it is a fault of ours; the SDK logs what it was.
    """
    cause = error.__cause__
    if isinstance(error, UnexpectedToolError):
        return UnexpectedToolError(_fault(cause))
    if isinstance(cause, ValidationError):
        return ToolError(sentence([field_error(item) for item in cause.errors()[:_MOST_FIELDS]]))
    return ToolError(str(cause or error)[:_MOST_SAID])


def _fault(cause: BaseException | None) -> str:
    if isinstance(cause, PostroomError):
        return f"{cause.message[:_MOST_SAID]}. {hint_of(cause)}"
    return HINTS[Code.INTERNAL]


# A tool's call from inside the process: what the SDK does between a request and its handler, without a wire.


def call_context(tool: str, arguments: Mapping[str, Any], request: object) -> ServerRequestContext[Any, Any]:
    """What middleware sees of a call; `request` says who calls."""
    return ServerRequestContext(
        session=cast(ServerSession, None),  # nothing here asks the caller anything back
        lifespan_context={},
        protocol_version=REVISION,
        method="tools/call",
        params={"name": tool, "arguments": dict(arguments)},
        request=request,
    )


async def run(tool: Tool, arguments: dict[str, Any], context: object) -> Any:
    """`context` stands where a tool's own stands otherwise. Raises ToolError, as the SDK does."""
    return await tool.run(arguments, cast(Context[Any, Any], context))


def answer_of(tool: Tool, result: Any) -> HandlerResult:
    """Structured alone, where the SDK would write it a second time as text."""
    try:
        if isinstance(result, dict) and not tool.fn_metadata.wrap_output:
            return cast(dict[str, Any], to_jsonable_python(result))
        return tool.fn_metadata.convert_result(result)
    except ValueError as error:  # also what pydantic raises
        raise UnexpectedToolError(tool.name) from error
