"""What the tools with which agents ask are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context

from postroom.domain.principal import Principal
from postroom.doors.asks.client_forms import ClientForms
from postroom.doors.guard.caller import Inside, caller, caller_of
from postroom.doors.guard.http import Verifier
from postroom.work.questions.asking import Asking


@dataclass(frozen=True, slots=True, kw_only=True)
class AskToolParts:
    """`verifier` knows the tokens of whoever comes to this server; `state_key` seals what clients keep for us."""

    forms: ClientForms
    verifier: Verifier
    state_key: bytes

    @property
    def asking(self) -> Asking:
        return self.forms.asking

    def who(self, context: Context[Any, Any] | Inside) -> Principal:
        return caller(context, self.verifier)

    def name_of(self, context: ServerRequestContext[Any, Any]) -> str | None:
        principal = caller_of(context, self.verifier)
        return None if principal is None else str(principal)
