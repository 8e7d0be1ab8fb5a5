"""Which principal may call which tool; a tool without a rule may be called by nobody."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST

from postroom.domain.principal import Principal, Role
from postroom.doors.guard.caller import caller_of
from postroom.doors.guard.http import Verifier

Rule = Callable[[Principal], bool]


def butler(*names: str) -> Rule:
    """The named butlers, and the operator."""
    return lambda one: one.role is Role.OPERATOR or (one.role is Role.BUTLER and one.name in names)


def any_butler(one: Principal) -> bool:
    return one.role in (Role.BUTLER, Role.OPERATOR)


def anyone(_: Principal) -> bool:
    return True


def no_one(_: Principal) -> bool:
    return False


def person(one: Principal) -> bool:
    return one.is_person


def program(one: Principal) -> bool:
    return one.role is Role.PROGRAM


def approver(names: Collection[str]) -> Rule:
    """The owner and the operator, and the people who are named. No other token decides for the household."""
    return lambda one: one.is_owner or (one.is_person and one.name in names)


def answers_for_themselves(names: Collection[str]) -> Rule:
    """Who may decide what was put to them: a person. A user's token may be a program's, so it must be named."""
    return lambda one: one.role is Role.PERSON or approver(names)(one)


def operator(one: Principal) -> bool:
    return one.role is Role.OPERATOR


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
        return await call_next(ctx)

    def allows(self, principal: Principal | None, tool: str) -> bool:
        rule = self.rules.get(tool)
        return principal is not None and rule is not None and rule(principal)
