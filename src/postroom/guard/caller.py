"""The principal behind an MCP call, whether it came over HTTP or from inside the process."""

from __future__ import annotations

from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST

from postroom.domain.principal import TOKEN_META, Principal
from postroom.guard.http import PRINCIPAL, Verifier


def caller_of(context: ServerRequestContext[Any, Any], verifier: Verifier) -> Principal | None:
    if context.request is not None:
        principal = context.request.scope.get(PRINCIPAL)
    else:
        meta: Any = context.meta or {}
        principal = verifier.verify(str(meta.get(TOKEN_META, "")))
    return principal if isinstance(principal, Principal) else None


def caller(context: Context[Any, Any], verifier: Verifier) -> Principal:
    principal = caller_of(context.request_context, verifier)
    if principal is None:
        raise MCPError(code=INVALID_REQUEST, message="a valid token is required")
    return principal
