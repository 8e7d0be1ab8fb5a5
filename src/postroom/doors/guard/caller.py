"""The principal behind an MCP call, whether it came over HTTP or from inside the process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST

from postroom.domain.principal import PRINCIPAL, TOKEN_META, Principal
from postroom.doors.guard.http import Verifier


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
