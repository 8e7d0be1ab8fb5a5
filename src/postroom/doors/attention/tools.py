"""`ack`, `snooze`, `mute`, `away` and `withdraw` as MCP tools: for whom, the token says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import SkipValidation, WithJsonSchema

from postroom.domain.attention_wish import MAX_NAME_CHARACTERS
from postroom.domain.error_shapes import failure_document
from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.fields import Fields
from postroom.domain.principal import Principal
from postroom.doors.attention.acts import AttentionActs
from postroom.doors.attention.arguments import MINUTE, given_only
from postroom.doors.guard.answered import answered
from postroom.doors.guard.caller import caller
from postroom.doors.guard.http import Verifier

PERSONS_TOOLS: Final = ("ack", "snooze", "mute", "away")  # in a person's name
AGENTS_TOOLS: Final = ("withdraw",)
_CHANGES: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)

ACK: Final = "Say that the person has seen a notice. Only with the person's own token; an agent's is refused."
SNOOZE: Final = (
    "Show a notice later: `until`, or after `for_seconds`; an hour by default. Only with the person's own token."
)
MUTE: Final = (
    "Show nothing of an `agent`, a `thread` or a `category`: `until`, or for `for_seconds`; an hour by default. "
    "Only with the person's own token."
)
AWAY: Final = (
    "The person is away `until` then: notices wait, or go to the `delegate`. `back` ends it. "
    "Only with the person's own token."
)
WITHDRAW: Final = (
    "Take back a message of your own that is no longer true: by its `notice_id`, or all that you sent with "
    "`supersedes` = `key`. What was not shown yet never is; what was shown is corrected where the channel can."
)


# Not validated by the framework, so that a wrong type gets our answer and not its.
Text = Annotated[str, SkipValidation, WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]})]
Until = Annotated[
    str,
    SkipValidation,
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "RFC 3339 with an offset"}),
]
Seconds = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "integer", "minimum": MINUTE}, {"type": "null"}]})]
Back = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "null"}]})]
Names = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]})]
Whose = Annotated[
    str,
    SkipValidation,
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "the caller by default"}),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionToolParts:
    """`verifier` knows the tokens of those who come to this server."""

    acts: AttentionActs
    verifier: Verifier

    def who(self, context: Context[Any, Any]) -> Principal:
        return caller(context, self.verifier)


def add_attention_tools(server: MCPServer[Any], parts: AttentionToolParts) -> None:
    _add_notice_tools(server, parts)
    _add_person_tools(server, parts)
    _add_withdraw(server, parts)


def _add_notice_tools(server: MCPServer[Any], parts: AttentionToolParts) -> None:
    @answered(failure_document)
    async def ack(context: Context[Any, Any], notice_id: Text = "") -> dict[str, Any]:
        return _done(notice=await parts.acts.ack(parts.who(context), _needed("notice_id", notice_id)))

    @answered(failure_document)
    async def snooze(
        context: Context[Any, Any], notice_id: Text = "", until: Until = "", for_seconds: Seconds = None
    ) -> dict[str, Any]:
        when = given_only({"until": until, "for_seconds": for_seconds})
        return _done(notice=await parts.acts.snooze(parts.who(context), _needed("notice_id", notice_id), when))

    server.add_tool(ack, description=ACK, annotations=_CHANGES)
    server.add_tool(snooze, description=SNOOZE, annotations=_CHANGES)


def _add_person_tools(server: MCPServer[Any], parts: AttentionToolParts) -> None:
    @answered(failure_document)
    async def mute(
        context: Context[Any, Any],
        agent: Text = "",
        thread: Text = "",
        category: Text = "",
        until: Until = "",
        for_seconds: Seconds = None,
        person: Whose = "",
    ) -> dict[str, Any]:
        what = {"agent": agent, "thread": thread, "category": category, "until": until, "for_seconds": for_seconds}
        return _done(**await parts.acts.mute(parts.who(context), _optional("person", person), given_only(what)))

    @answered(failure_document)
    async def away(
        context: Context[Any, Any],
        until: Until = "",
        delegate: Text = "",
        let_pass: Names = None,
        back: Back = None,
        person: Whose = "",
    ) -> dict[str, Any]:
        what = given_only({"until": until, "delegate": delegate, "let_pass": let_pass, "back": back})
        return _done(**await parts.acts.away(parts.who(context), _optional("person", person), what))

    server.add_tool(mute, description=MUTE, annotations=_CHANGES)
    server.add_tool(away, description=AWAY, annotations=_CHANGES)


def _add_withdraw(server: MCPServer[Any], parts: AttentionToolParts) -> None:
    @answered(failure_document)
    async def withdraw(context: Context[Any, Any], notice_id: Text = "", key: Text = "") -> dict[str, Any]:
        one, several = _optional("notice_id", notice_id), _optional("key", key)
        if (one is None) == (several is None):
            raise ValidationError.of([FieldError("notice_id", "either this or a key is needed", "required")])
        if one is not None:
            return _done(notices=[await parts.acts.withdraw(parts.who(context), one)])
        return _done(notices=await parts.acts.withdraw_key(parts.who(context), several or ""))

    server.add_tool(withdraw, description=WITHDRAW, annotations=_CHANGES)


def _done(**answer: Any) -> dict[str, Any]:
    return {"ok": True, **answer}


def _needed(name: str, value: object) -> str:
    if (given := _optional(name, value)) is None:
        raise ValidationError.of([FieldError(name, "is required", "required")])
    return given


def _optional(name: str, value: object) -> str | None:
    given = Fields({name: value if value != "" else None})
    text = given.optional_text(name, maximum=MAX_NAME_CHARACTERS)
    given.finish()
    return text
