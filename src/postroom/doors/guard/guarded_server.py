"""An MCP server behind the policy of its tools, and the way in for other parts of the same process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, GetPromptResult, InputRequiredResult

from postroom.domain.arguments import unknown_argument
from postroom.domain.principal import Principal
from postroom.doors.guard.caller import Inside
from postroom.doors.guard.tool_policy import ToolPolicy
from postroom.system.mcp_sdk.inside import answer_of, call_context, run
from postroom.system.mcp_sdk.own_words import OwnWordsServer, in_our_words
from postroom.system.mcp_sdk.tool_shapes import add_tool, tool_of
from postroom.system.mcp_sdk.tools import Tool, arguments_of, declared_arguments
from postroom.system.settings.version import package_version
from postroom.system.telemetry.trace import needs_a_span

_MOST_SAID: Final = 200


class GuardedServer(OwnWordsServer):
    """
    From inside comes the same token to the same policy, the same checks of arguments and the same tool as over HTTP.

    Only what a wire needs is left out: a session, every message written as JSON and read again,
    an answer twice over as text and as structure, and spans that nobody would ever see.
    """

    def __init__(
        self,
        name: str,
        policy: ToolPolicy,
        *,
        description: str | None = None,
        more: Sequence[ServerMiddleware[Any]] = (),
    ) -> None:
        self.policy = policy
        self._functions: dict[str, Callable[..., Any]] = {}
        self._called_inside: dict[str, Tool] = {}
        self.takes_more: set[str] = set()  # tools whose callers may send arguments that we do not know
        self.not_here: dict[str, str] = {}  # tools that one may look for here, each with what to do instead
        super().__init__(name, description=description, version=package_version(), log_level="WARNING")
        self._for_a_wire = tuple(self.middleware)
        self.middleware.extend((policy, *more))

    def add_tool(self, fn: Callable[..., Any], name: str | None = None, *more: Any, **about: Any) -> None:
        add_tool(self, tool_of(fn, name, *more, **about))
        self._functions.setdefault(name or fn.__name__, fn)  # of two with one name the first stays, as there

    def remove_tool(self, name: str) -> None:
        super().remove_tool(name)
        self._functions.pop(name, None)
        self._called_inside.pop(name, None)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        if name in self.not_here:
            raise ToolError(self.not_here[name])
        if name not in self.takes_more and (declared := declared_arguments(self, name)) is not None:
            _refuse_unknown(declared, arguments)
        return await super().call_tool(name, arguments, context)

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """The framework answers an unknown name, or arguments that are missing, as if this server were broken."""
        if name not in {one.name for one in await self.list_prompts()}:
            raise MCPError(code=INVALID_PARAMS, message=f"Unknown prompt: {name[:_MOST_SAID]}")
        try:
            return await super().get_prompt(name, arguments, context)
        except ValueError as error:
            raise MCPError(code=INVALID_PARAMS, message=str(error)[:_MOST_SAID]) from None

    async def from_inside(self, token: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        """The tool's structured answer; None when it has none. Raises MCPError and ToolError, as the framework does."""
        return await self.from_caller(self.policy.verifier.verify(token), tool, arguments)

    async def from_caller(
        self, caller: Principal | None, tool: str, arguments: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """For a door of this process that knows already who is calling."""
        context = call_context(tool, arguments, Inside(caller))
        step: CallNext = self._run
        left_out = () if needs_a_span() else self._for_a_wire
        for middleware in reversed(self.middleware):
            if middleware not in left_out:
                step = partial(middleware, call_next=step)
        return _structured(await step(context))

    async def _run(self, context: ServerRequestContext[Any, Any]) -> HandlerResult:
        params = context.params or {}
        tool = self._tool(params["name"])
        _refuse_unknown(arguments_of(tool), params["arguments"])
        try:
            return answer_of(tool, await run(tool, params["arguments"], context.request))
        except ToolError as error:
            raise in_our_words(error) from error.__cause__

    def _tool(self, name: str) -> Tool:
        """Made again from its function at the first call."""
        if name not in self._called_inside:
            if name not in self._functions:
                raise ToolError(self.not_here.get(name, f"Unknown tool: {name}"))
            self._called_inside[name] = tool_of(self._functions[name], name)
        return self._called_inside[name]


def _refuse_unknown(declared: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """The framework drops arguments it does not know; a misspelt one would be as if it had not been given."""
    if problem := unknown_argument(given, declared):
        raise ToolError(problem)


def _structured(result: HandlerResult) -> dict[str, Any] | None:
    if isinstance(result, CallToolResult):
        return None if result.is_error else result.structured_content
    return result if isinstance(result, dict) else None
