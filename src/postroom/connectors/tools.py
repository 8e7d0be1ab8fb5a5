"""MCP tools with which an assistant finds people, writes to them and reads what they answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,  # pydantic reads no other before Python 3.12
    cast,
)

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field
from typing_extensions import TypedDict

from postroom.connectors.household import Adapter, Direct
from postroom.intents.envelope import AssistantCall, refuse
from postroom.intents.model import RECEIPT, AgentIntent
from postroom.intents.routes import GatewayParts
from postroom.kernel.guard.http import Verifier
from postroom.kernel.guard.tools import Rule, caller
from postroom.kernel.serving.json_door import answered
from postroom.kernel.values.errors import Code, FieldError, Refused, failure_document
from postroom.kernel.values.fields import unsendable
from postroom.kernel.values.ids import is_uuid, to_text
from postroom.kernel.values.principal import Principal, Role
from postroom.people.model import InputMode
from postroom.people.names.resolve import Confirmation, Confirmer, Resolver

# What the tools answer.


class Problem(TypedDict):
    code: str
    message: str
    category: str
    retryable: bool
    fields: list[dict[str, str]]


class DecisionModeAnswer(TypedDict):
    """
    `decision_mode`: sent, resolved, needs_confirmation, needs_disambiguation or contact_not_found.

    `confirmation`: whether a name that was confirmed is remembered, or why not.
    """

    ok: bool
    decision_mode: NotRequired[str]
    resolution: NotRequired[dict[str, Any]]
    delivery: NotRequired[dict[str, Any] | None]
    confirmation: NotRequired[dict[str, Any] | None]
    error: NotRequired[Problem]


class ConfirmedAnswer(TypedDict):
    ok: bool
    agent_address: NotRequired[str]
    match_type: NotRequired[str]
    confirm_count: NotRequired[int]
    error: NotRequired[Problem]


class InboxListing(TypedDict):
    ok: bool
    threads: NotRequired[list[dict[str, Any]]]
    next_cursor: NotRequired[str | None]
    error: NotRequired[Problem]


class IntentState(TypedDict):
    """`status` is accepted, running, done or failed; `result` holds the answer once there is one."""

    ok: bool
    intent_id: NotRequired[str]
    status: NotRequired[str]
    lifecycle_status: NotRequired[str]
    waiting_reason: NotRequired[str | None]
    result: NotRequired[dict[str, Any] | None]
    updated_at: NotRequired[str]
    error: NotRequired[Problem]


# The tools.

Name = Annotated[
    str,
    Field(min_length=1, max_length=255, description="As the person said it, in any language"),
]
_Behalf = Annotated[str | None, Field(max_length=255, description="Agent address you speak for; your own by default")]
Mode = Annotated[Literal["text", "voice"], Field(description="voice when the person spoke")]

_ARGUMENTS: Final = {
    "to_agent": "recipient_address",
    "from_agent": "on_behalf_of",
    "payload.question": "message",
    "payload.context": "more_context",
    "payload.deadline_at": "deadline_at",
    "payload.workflow.macro_id": "macro_id",
    "payload.workflow.params": "macro_params",
}

_RESOLVE: Final = """\
Find out whom a name means, without sending anything.

`decision_mode` is `resolved` (certain), `needs_confirmation` (one uncertain match), `needs_disambiguation` (several) \
or `contact_not_found`. For the two in the middle, show the candidates to the person with their `hint` and let the \
person choose; then pass the `resolution_token` of the choice to send_message or confirm_recipient. \
Never choose yourself."""

SEND: Final = """\
Tell or ask somebody something. Give `recipient_name` as the person said it, or `recipient_address` when you know it.

The message goes out only when the recipient is certain (`decision_mode` = `sent`). Otherwise nothing was sent and the \
answer shows candidates: ask the person which one is meant, then call again with `confirm_send` = true and the \
`resolution_token` of that candidate. Pass `idempotency_key` when you may repeat the call. \
The answer's `delivery.intent_id` is what get_intent_status asks about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantParts:
    gateway: GatewayParts
    resolver: Resolver
    confirmer: Confirmer
    verifier: Verifier


def assistant(one: Principal) -> bool:
    """People and the assistants that act for them."""
    return one.role is Role.CONNECTOR or one.is_person


def add_tools(server: MCPServer[Any], parts: AssistantParts) -> dict[str, Rule]:
    """Adds the tools and tells who may call each."""
    _add_recipients(server, parts)
    _add_send(server, parts)
    _add_inbox(server, parts)
    names = ("resolve_contact", "confirm_recipient", "send_message", "list_inbox", "reply", "get_intent_status")
    return dict.fromkeys(names, assistant)


def _add_recipients(server: MCPServer[Any], parts: AssistantParts) -> None:
    @answered(failure_document)
    async def resolve_contact(
        context: Context[Any, Any], name: Name, on_behalf_of: _Behalf = None, input_mode: Mode = "text"
    ) -> DecisionModeAnswer:
        principal = caller(context, parts.verifier)
        _check_texts(name=name)
        owner = parts.gateway.agency.sender(principal, on_behalf_of, "on_behalf_of")
        found = await parts.resolver.resolve(owner, name, input_mode=InputMode(input_mode))
        return {"ok": True, "decision_mode": str(found.decision_mode), "resolution": found.document()}

    @answered(failure_document)
    async def confirm_recipient(
        context: Context[Any, Any],
        name: Name,
        resolution_token: Annotated[str, Field(min_length=8, max_length=128)],
        on_behalf_of: _Behalf = None,
    ) -> ConfirmedAnswer:
        """Remember whom the person meant by a name; call it only after the person has chosen among the candidates."""
        principal = caller(context, parts.verifier)
        _check_texts(name=name, resolution_token=resolution_token)
        owner = parts.gateway.agency.sender(principal, on_behalf_of, "on_behalf_of")
        asked = Confirmation(owner_agent=owner, query=name, resolution_token=resolution_token)
        memory = await parts.confirmer.confirm(asked, by_person=principal.is_person)
        return {
            "ok": True,
            "agent_address": memory.agent_address,
            "match_type": "memory",
            "confirm_count": memory.confirm_count,
        }

    reading = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    server.add_tool(resolve_contact, description=_RESOLVE, annotations=reading)
    server.add_tool(
        confirm_recipient,
        annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False),
    )


def _add_send(server: MCPServer[Any], parts: AssistantParts) -> None:
    @answered(failure_document)
    async def send_message(
        context: Context[Any, Any],
        message: Annotated[str, Field(min_length=1, max_length=2000)],
        recipient_name: Annotated[str | None, Field(max_length=255)] = None,
        recipient_address: Annotated[str | None, Field(max_length=255)] = None,
        more_context: Annotated[str | None, Field(max_length=5000, description="Background")] = None,
        deadline_at: Annotated[str | None, Field(max_length=64, description="RFC 3339")] = None,
        confirm_send: Annotated[bool, Field(description="true only after the person has confirmed")] = False,
        resolution_token: Annotated[str | None, Field(max_length=128)] = None,
        idempotency_key: Annotated[str | None, Field(min_length=8, max_length=128)] = None,
        macro_id: Annotated[str | None, Field(max_length=255)] = None,
        macro_params: dict[str, Any] | None = None,
        on_behalf_of: _Behalf = None,
        input_mode: Mode = "text",
    ) -> DecisionModeAnswer:
        principal = caller(context, parts.verifier)
        _check_texts(message=message, recipient_name=recipient_name, resolution_token=resolution_token)
        sender = parts.gateway.agency.sender(principal, on_behalf_of, "on_behalf_of")
        call = AssistantCall(
            from_agent=sender,
            to_agent=recipient_address,
            recipient_name=recipient_name,
            message=message,
            context=more_context,
            deadline_at=deadline_at,
            confirm_send=confirm_send,
            resolution_token=resolution_token,
            idempotency_key=idempotency_key,
            workflow_macro_id=macro_id,
            workflow_macro_params=macro_params,
            input_mode=InputMode(input_mode),
            connector="mcp",
        )
        try:
            answer = await _adapter(parts, principal).adapt(call)
        except Refused as error:
            raise error.renamed(_argument) from None
        answer.pop("envelope")
        return cast(DecisionModeAnswer, answer)

    server.add_tool(
        send_message,
        description=SEND,
        annotations=ToolAnnotations(destructive_hint=True, idempotent_hint=False, open_world_hint=True),
    )


def _adapter(parts: AssistantParts, principal: Principal) -> Adapter:
    direct = Direct(parts.gateway, parts.resolver, parts.confirmer, principal)
    return Adapter(household=direct, clock=parts.gateway.clock, mint=parts.gateway.mint)


def _add_inbox(server: MCPServer[Any], parts: AssistantParts) -> None:
    @answered(failure_document)
    async def list_inbox(
        context: Context[Any, Any],
        status: Annotated[Literal["pending", "active", "done"] | None, Field(description="all by default")] = None,
        cursor: Annotated[str | None, Field(max_length=64, description="next_cursor of the page before")] = None,
        limit: Annotated[int, Field(ge=1, le=50)] = 20,
        on_behalf_of: _Behalf = None,
    ) -> InboxListing:
        """What was asked of the person you act for, what that person asked others, and the answers; newest first."""
        principal = caller(context, parts.verifier)
        acting = parts.gateway.acting(principal, on_behalf_of, "on_behalf_of")
        page = await parts.gateway.threads.page(acting.agent, status, _cursor(cursor), limit)
        return cast(InboxListing, page.model_dump())

    @answered(failure_document)
    async def reply(
        context: Context[Any, Any],
        thread_id: Annotated[str, Field(max_length=64)],
        message: Annotated[str, Field(min_length=1, max_length=5000)],
        on_behalf_of: _Behalf = None,
    ) -> IntentState:
        """Answer a thread of the inbox that was put to the person you act for, in that person's words."""
        principal = caller(context, parts.verifier)
        _check_texts(message=message)
        acting = parts.gateway.acting(principal, on_behalf_of, "on_behalf_of")
        return _state(await parts.gateway.threads.reply(acting, _id(thread_id), message))

    @answered(failure_document)
    async def get_intent_status(
        context: Context[Any, Any], intent_id: Annotated[str, Field(max_length=64)], on_behalf_of: _Behalf = None
    ) -> IntentState:
        """What became of a message: accepted, running, done or failed; `result.answer` is what the person answered."""
        principal = caller(context, parts.verifier)
        acting = parts.gateway.acting(principal, on_behalf_of, "on_behalf_of")
        return _state(await parts.gateway.threads.visible(acting, _id(intent_id)))

    reading = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    server.add_tool(list_inbox, annotations=reading)
    server.add_tool(reply, annotations=ToolAnnotations(destructive_hint=True, open_world_hint=True))
    server.add_tool(get_intent_status, annotations=reading)


def _state(intent: AgentIntent) -> IntentState:
    return {
        "ok": True,
        "status": RECEIPT[intent.status],
        "intent_id": intent.id,
        "lifecycle_status": str(intent.status),
        "waiting_reason": intent.waiting_reason and str(intent.waiting_reason),
        "result": dict(intent.result) if intent.result is not None else None,
        "updated_at": to_text(intent.updated_at_us),
    }


def _check_texts(**texts: str | None) -> None:
    """Over HTTP the bodies check this; a tool's arguments come as they were sent."""
    refuse(unsendable(texts, ""))


def _argument(field: str) -> str:
    """A field of the envelope by the argument of send_message it came from."""
    for inside, given in _ARGUMENTS.items():
        if field == inside or field.startswith((f"{inside}.", f"{inside}[")):
            return given + field.removeprefix(inside)
    return field


def _id(text: str) -> str:
    if not is_uuid(text):
        raise Refused(Code.INTENT_NOT_FOUND, "there is no such intent")
    return text.lower()


def _cursor(text: str | None) -> str | None:
    if text is None:
        return None
    if not is_uuid(text):
        error = "is not the next_cursor of a page before"
        raise Refused.of(Code.SCHEMA_INVALID, [FieldError("cursor", error, "invalid")])
    return text.lower()
