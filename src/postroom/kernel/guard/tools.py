"""MCP tools behind a policy: who is calling, who may call what, and the way in from the same process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
)

from postroom.kernel.guard.http import Verifier
from postroom.kernel.running.process import package_version
from postroom.kernel.running.telemetry import needs_a_span
from postroom.kernel.serving.mcp import (
    OwnWordsServer,
    Tool,
    add_tool,
    answer_of,
    call_context,
    in_our_words,
    run,
    tool_named,
)
from postroom.kernel.values.principal import PRINCIPAL, TOKEN_META, Principal, Role

# Which principal may call which tool; a tool without a rule may be called by nobody.

Rule = Callable[[Principal], bool]


def butler(*names: str) -> Rule:
    """The named butlers, and the operator."""
    return lambda one: one.role is Role.OPERATOR or (one.role is Role.BUTLER and one.name in names)


def any_butler(one: Principal) -> bool:
    return one.role in (Role.BUTLER, Role.OPERATOR)


def anyone(_: Principal) -> bool:
    return True


def sends(one: Principal) -> bool:
    return one.role in (Role.BUTLER, Role.PROGRAM)


def no_one(_: Principal) -> bool:
    return False


def approver(names: Collection[str]) -> Rule:
    """The owner and the operator, and the people who are named. No other token decides for the household."""
    return lambda one: one.is_owner or (one.is_person and one.name in names)


def answers_for_themselves(names: Collection[str]) -> Rule:
    """Who may decide what was put to them: a person. A user's token may be a program's, so it must be named."""
    return lambda one: one.role is Role.PERSON or approver(names)(one)


class ToolPolicy:
    """Stands in front of every tool of one server."""

    def __init__(self, rules: Mapping[str, Rule], verifier: Verifier) -> None:
        self.rules = dict(rules)
        self.verifier = verifier

    def allow(self, rules: Mapping[str, Rule]) -> None:
        """For tools that are added to the server later."""
        self.rules |= rules

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.method == "tools/call":
            name = str((ctx.params or {}).get("name"))
            principal = caller_of(ctx, self.verifier)
            if not self.allows(principal, name):
                raise MCPError(code=INVALID_REQUEST, message=f"{principal or 'nobody'} may not call {name[:80]}")
        answer = await call_next(ctx)
        if ctx.method == "tools/list" and isinstance(answer, dict):  # as the wire has it
            principal = caller_of(ctx, self.verifier)
            shown = [one for one in answer.get("tools", ()) if self.allows(principal, one["name"])]
            answer = {**answer, "tools": shown}
        return answer

    def allows(self, principal: Principal | None, tool: str) -> bool:
        rule = self.rules.get(tool)
        return principal is not None and rule is not None and rule(principal)


# Who is calling, over HTTP or from inside the process.


@dataclass(frozen=True, slots=True)
class Inside:
    """
    Another part of this process, whose token has been looked at.

    It stands where a request and a tool's context stand otherwise: all our tools want from theirs is the caller.
    """

    caller: Principal | None


def caller_of(context: ServerRequestContext[Any, Any], verifier: Verifier) -> Principal | None:
    if isinstance(context.request, Inside):
        return context.request.caller
    if context.request is not None:
        principal = context.request.scope.get(PRINCIPAL)
    else:
        meta: Any = context.meta or {}
        principal = verifier.verify(str(meta.get(TOKEN_META, "")))
    return principal if isinstance(principal, Principal) else None


def caller(context: Context[Any, Any] | Inside, verifier: Verifier) -> Principal:
    principal = context.caller if isinstance(context, Inside) else caller_of(context.request_context, verifier)
    if principal is None:
        raise MCPError(code=INVALID_REQUEST, message="a valid token is required")
    return principal


# An MCP server behind the policy of its tools, and the way in for other parts of the same process.

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
    ) -> None:
        self.policy = policy
        self.not_here: dict[str, str] = {}  # tools that one may look for here, each with what to do instead
        super().__init__(name, description=description, version=package_version(), log_level="WARNING")
        self._for_a_wire = tuple(self.middleware)
        self.middleware.append(policy)

    def add_made(self, tool: Tool, rule: Rule) -> None:
        """One that says itself what is wrong with its arguments, and who may call it."""
        add_tool(self, tool)
        self.policy.allow({tool.name: rule})

    def point_elsewhere(self, told: Mapping[str, str]) -> None:
        """What to do instead of tools that one may look for here: they are not listed, and who calls one hears it."""
        for name in told:
            if tool_named(self, name) is not None:
                self.remove_tool(name)
        self.not_here |= told
        self.policy.allow(dict.fromkeys(told, anyone))

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        if name in self.not_here:
            raise ToolError(self.not_here[name])
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
        if (tool := tool_named(self, params["name"])) is None:
            raise ToolError(self.not_here.get(params["name"], f"Unknown tool: {params['name']}"))
        try:
            return answer_of(tool, await run(tool, params["arguments"], context.request))
        except ToolError as error:
            raise in_our_words(error) from error.__cause__


def _structured(result: HandlerResult) -> dict[str, Any] | None:
    if isinstance(result, CallToolResult):
        return None if result.is_error else result.structured_content
    return result if isinstance(result, dict) else None
