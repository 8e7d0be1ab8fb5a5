"""A butler's MCP server: the core tools every butler has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import WithJsonSchema

from postroom.butler.notify import NotifyArguments, notify
from postroom.domain.principal import Principal
from postroom.domain.time import SECOND_US
from postroom.guard.caller import caller
from postroom.guard.http import Verifier
from postroom.guard.tool_policy import ToolPolicy, butler
from postroom.ports import Clock, Peer

CORE_TOOL_NAMES: Final = ("notify", "status")

NOTIFY_DESCRIPTION: Final = """\
Deliver a message to a person over Telegram or e-mail, reply in the conversation a request came from, \
or react to a message with an emoji.

Give `channel` and `message`. Without `recipient` the household's owner gets it; a recipient is an address \
on the channel or the exact name of a known contact. For `intent="reply"` and `intent="react"` pass the \
`request_context` of the inbound request; inside a session that was routed to you it is already known and can be \
left out. Pass `idempotency_key` when you may repeat the call: the message \
is then sent once.

The answer's `status` is `ok` (delivered), `accepted` (stored, still being tried: ask later by \
`delivery.delivery_id`), `pending_approval` (a person must agree first), `deferred`, or `error` with \
`error_class` and `retryable`. Accepted messages are never lost; do not send them again."""

Text = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]})]
Channel = Annotated[Any, WithJsonSchema({"type": "string", "description": "telegram or email"})]
IntentName = Annotated[Any, WithJsonSchema({"type": "string", "enum": ["send", "reply", "react"]})]
PriorityName = Annotated[
    Any, WithJsonSchema({"anyOf": [{"type": "string", "enum": ["high", "medium", "low"]}, {"type": "null"}]})
]
Uncertain = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [{"type": "string", "enum": ["resend", "hold"]}, {"type": "null"}],
            "description": "when nobody can know whether it arrived: send again, or hold for a person",
        }
    ),
]
Wait = Annotated[
    Any,
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0, "maximum": 600}, {"type": "null"}]}),
]
RequestContextArgument = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {
                        name: {"type": "string"}
                        for name in (
                            "request_id",
                            "source_channel",
                            "source_endpoint_identity",
                            "source_sender_identity",
                            "source_thread_identity",
                            "received_at",
                        )
                    },
                    "required": [
                        "request_id",
                        "source_channel",
                        "source_endpoint_identity",
                        "source_sender_identity",
                    ],
                },
                {"type": "string", "description": "the same object as JSON"},
                {"type": "null"},
            ]
        }
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ButlerIdentity:
    name: str
    description: str
    port: int


SessionContext = Callable[[Principal, object], dict[str, Any] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ButlerParts:
    """What a butler needs from the household."""

    switchboard: Peer
    verifier: Verifier
    clock: Clock
    mint: Callable[[int], str]
    channels: frozenset[str]
    notify_wait_seconds: float
    session_context: SessionContext = lambda _caller, _intent: None


def build_server(identity: ButlerIdentity, parts: ButlerParts) -> MCPServer[Any]:
    policy = ToolPolicy(dict.fromkeys(CORE_TOOL_NAMES, butler(identity.name)), parts.verifier)
    server: MCPServer[Any] = MCPServer(
        identity.name, description=identity.description, log_level="WARNING", middleware=[policy]
    )
    _add_notify(server, identity, parts)
    _add_status(server, identity, parts)
    return server


def _add_notify(server: MCPServer[Any], identity: ButlerIdentity, parts: ButlerParts) -> None:
    async def notify_tool(
        context: Context[Any, Any],
        channel: Channel = None,
        message: Text = None,
        recipient: Text = None,
        subject: Text = None,
        intent: IntentName = "send",
        emoji: Text = None,
        request_context: RequestContextArgument = None,
        idempotency_key: Text = None,
        priority: PriorityName = None,
        wait_seconds: Wait = None,
        on_uncertain: Uncertain = None,
    ) -> dict[str, Any]:
        if request_context is None:
            request_context = parts.session_context(caller(context, parts.verifier), intent)
        return await notify(
            NotifyArguments(
                channel=channel,
                message=message,
                recipient=recipient,
                subject=subject,
                intent=intent,
                emoji=emoji,
                request_context=request_context,
                idempotency_key=idempotency_key,
                priority=priority,
                on_uncertain=on_uncertain,
                wait_seconds=wait_seconds,
            ),
            origin_butler=identity.name,
            request_id=parts.mint(parts.clock.now_us()),
            channels=parts.channels,
            switchboard=parts.switchboard,
            default_wait_seconds=parts.notify_wait_seconds,
        )

    server.add_tool(
        notify_tool,
        name="notify",
        description=NOTIFY_DESCRIPTION,
        annotations=ToolAnnotations(destructive_hint=True, idempotent_hint=False, open_world_hint=True),
    )


def _add_status(server: MCPServer[Any], identity: ButlerIdentity, parts: ButlerParts) -> None:
    started_us = parts.clock.now_us()

    async def status() -> dict[str, Any]:
        """Who this butler is, whether it is well, and since when."""
        return {
            "name": identity.name,
            "description": identity.description,
            "port": identity.port,
            "health": "ok",
            "modules": {},
            "uptime_seconds": round((parts.clock.now_us() - started_us) / SECOND_US, 3),
        }

    server.add_tool(status, annotations=ToolAnnotations(read_only_hint=True))
