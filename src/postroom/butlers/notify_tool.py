"""`notify`, `notify_status`, `remind`, `revise` and `recall` of every butler, as a model sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import SkipValidation, WithJsonSchema

from postroom.attention.model import is_notice_id
from postroom.butlers.daemon import Butler, RemindArguments
from postroom.delivery.notify import NotifyArguments
from postroom.delivery.notify import wait_seconds as patience
from postroom.kernel.guard.tools import caller
from postroom.kernel.values.errors import DeliveryTimeout, PostroomError, ValidationError
from postroom.kernel.values.ids import is_uuid
from postroom.kernel.values.principal import Principal, SessionPrincipal
from postroom.message.delivery import Format, Intent
from postroom.message.wire import MAX_MARKDOWN_CHARACTERS, WISH_SCHEMAS, argument_error, notify_error
from postroom.settings.written import SPOKEN

_NOTIFY_DESCRIPTION: Final = """\
Deliver a message to a person over {channels}, reply in the conversation a request came from, \
or react to a message with an emoji.

Give `channel` and `message`; the channel `auto` is the first that reaches the person, in the order they chose, and \
the answer names it. Without `recipient` the household's owner gets it; a recipient is an address \
on the channel or the exact name of a known contact. For `intent="reply"` and `intent="react"` pass the \
`request_context` of the inbound request; inside a session that was routed to you it is already known and can be \
left out. Pass `idempotency_key` when you may repeat the call: the message \
is then sent once. `message` is shown to the letter, unless `format="markdown"` says that it is Markdown; \
a reply within a session is Markdown anyway. \
`attachments` are files that go with it: a `path` below your outbox folder, an `upload_id`, or small `data` in base64 \
with a `name`; they are copied at once, so they may change or go afterwards.

The answer's `status` is `ok` (delivered), `accepted` (stored, still being tried: ask later with \
`notify_status` and `delivery.delivery_id`), `deferred` (stored, and shown to the person later, by their own wishes: \
`until` says when, `reasons` why; ask with `notify_status` and `notice_id`), `muted` (the person mutes such \
messages: stored, and not sent), `pending_approval` (a person must agree \
first), or `error` with `error_message`, `error_class` and `retryable`. What is accepted or deferred is never lost; \
do not send it again."""
# Declared `str`, because the framework reads any other argument that looks like JSON as JSON: a message such as
# `[1, 2]` would arrive as a list. Not validated by it, so that a wrong type gets our answer and not its.
Text = Annotated[str, SkipValidation, WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]})]
Channel = Annotated[
    Any, WithJsonSchema({"type": "string", "description": f"the name of a channel, such as {SPOKEN}, or auto"})
]
IntentName = Annotated[Any, WithJsonSchema({"type": "string", "enum": ["send", "reply", "react"]})]
_PriorityName = Annotated[
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
FormatName = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [{"type": "string", "enum": ["plain", "markdown"]}, {"type": "null"}],
            "description": "how `message` is written: plain is shown to the letter, and is the default except for a "
            "reply within a session, which is markdown",
        }
    ),
]
_Attachments = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "array",
                    "maxItems": 10,
                    "items": {
                        "type": "object",
                        "properties": {
                            "path": {"type": "string", "description": "a file below your outbox folder"},
                            "upload_id": {
                                "type": "string",
                                "description": "of an upload, or of a file a person sent",
                            },
                            "data": {"type": "string", "description": "the bytes in base64, at most 256 KiB of them"},
                            "name": {"type": "string", "description": "what the person sees it called"},
                            "media_type": {"type": "string"},
                        },
                        "additionalProperties": False,
                    },
                },
                {"type": "null"},
            ],
            "description": "files that go with the message, each by exactly one of path, upload_id and data",
        }
    ),
]
Wait = Annotated[
    Any,
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0, "maximum": 600}, {"type": "null"}]}),
]
UrgencyName = Annotated[Any, WithJsonSchema({"anyOf": [WISH_SCHEMAS["urgency"], {"type": "null"}]})]
Category = Annotated[str, SkipValidation, WithJsonSchema({"anyOf": [WISH_SCHEMAS["category"], {"type": "null"}]})]
Thread = Annotated[str, SkipValidation, WithJsonSchema({"anyOf": [WISH_SCHEMAS["thread"], {"type": "null"}]})]
Supersedes = Annotated[str, SkipValidation, WithJsonSchema({"anyOf": [WISH_SCHEMAS["supersedes"], {"type": "null"}]})]
_NeedsAck = Annotated[Any, WithJsonSchema({"anyOf": [WISH_SCHEMAS["needs_ack"], {"type": "null"}]})]
_Expires = Annotated[Any, WithJsonSchema({"anyOf": [WISH_SCHEMAS["expires_in_seconds"], {"type": "null"}]})]
Minutes = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "null"}]})]
_RequestContextArgument = Annotated[
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

_STATUS_DESCRIPTION: Final = """\
What has become of a message you sent with `notify`, by the `delivery.delivery_id` or the `notice_id` of its \
answer. Changes nothing.

The answer is that of `notify` as it would be now: `ok`, `accepted`, `pending_approval`, or `error` with \
`error_message`, `error_class` and `retryable`. Its `delivery` also has `attempts` (calls made so far), `last_error` \
of the latest one, `next_attempt_at`, `possible_duplicate` (the person may have received it twice) and `approval` with \
`status` (`pending`, `approved`, `rejected`, `expired`) and the `reason` a person gave for a rejection. Of a notice: \
`notice_state`, and while it is `deferred` `until` and `reasons`; `muted` is final. Only your own are found."""

_REMIND_DESCRIPTION: Final = """\
Store a message now and have it delivered at a moment: after `delay_minutes`, or at `remind_at` (RFC 3339 with \
an offset). It is sent even if this session, the model or the household is restarted meanwhile."""


def _one_of(names: Sequence[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def given(text: object) -> object:
    """An empty text is one that was not given."""
    return None if text == "" else text


_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_SENDS = ToolAnnotations(destructive_hint=True, idempotent_hint=False, open_world_hint=True)


def add_notify_tool(server: MCPServer[Any], butler: Butler) -> None:
    def inside_session(context: Context[Any, Any], intent: object) -> dict[str, Any] | None:
        """The request a routed session answers is what its notify belongs to."""
        return butler.sessions.notify_context(caller(context, butler.verifier), intent) if butler.sessions else None

    async def notify(
        context: Context[Any, Any],
        channel: Channel = None,
        message: Text = "",
        recipient: Text = "",
        subject: Text = "",
        intent: IntentName = "send",
        emoji: Text = "",
        request_context: _RequestContextArgument = None,
        idempotency_key: Text = "",
        priority: _PriorityName = None,
        wait_seconds: Wait = None,
        on_uncertain: Uncertain = None,
        format: FormatName = None,
        attachments: _Attachments = None,
        urgency: UrgencyName = None,
        category: Category = "",
        thread: Thread = "",
        supersedes: Supersedes = "",
        needs_ack: _NeedsAck = None,
        expires_in_seconds: _Expires = None,
    ) -> dict[str, Any]:
        return await butler.notify(
            NotifyArguments(
                channel=channel,
                message=given(message),
                recipient=given(recipient),
                subject=given(subject),
                intent=intent,
                emoji=given(emoji),
                request_context=inside_session(context, intent) if request_context is None else request_context,
                idempotency_key=given(idempotency_key),
                priority=priority,
                on_uncertain=on_uncertain,
                wait_seconds=wait_seconds,
                format=format or _of_a_model(caller(context, butler.verifier), intent, message),
                attachments=attachments,
                urgency=urgency,
                category=given(category),
                thread=given(thread),
                supersedes=given(supersedes),
                needs_ack=needs_ack,
                expires_in_seconds=expires_in_seconds,
            )
        )

    described = _NOTIFY_DESCRIPTION.format(channels=_one_of(list(butler.notifier.channels)))
    server.add_tool(notify, description=described, annotations=_SENDS)


def _of_a_model(one: Principal | None, intent: object, message: object) -> str | None:
    """Models write Markdown, asked for or not; what is too long to be read as such stays plain."""
    if intent != Intent.REPLY or not isinstance(message, str) or len(message) > MAX_MARKDOWN_CHARACTERS:
        return None
    return str(Format.MARKDOWN) if isinstance(one, SessionPrincipal) else None


def add_status_and_remind(server: MCPServer[Any], butler: Butler) -> None:
    async def notify_status(delivery_id: Text = "", notice_id: Text = "") -> dict[str, Any]:
        return await butler.notify_status(given(delivery_id), given(notice_id))

    async def remind(
        message: Text = "",
        channel: Channel = None,
        delay_minutes: Minutes = None,
        remind_at: Text = "",
        recipient: Text = "",
        subject: Text = "",
        request_context: _RequestContextArgument = None,
        format: FormatName = None,
    ) -> dict[str, Any]:
        return await butler.remind(
            RemindArguments(
                message=given(message),
                channel=channel,
                delay_minutes=delay_minutes,
                remind_at=given(remind_at),
                recipient=given(recipient),
                subject=given(subject),
                request_context=request_context,
                format=format,
            )
        )

    server.add_tool(notify_status, description=_STATUS_DESCRIPTION, annotations=_READS)
    server.add_tool(remind, description=_REMIND_DESCRIPTION, annotations=_SENDS)


# Correcting what was sent.

REVISE_DESCRIPTION: Final = """\
Give a message you sent with `notify` another text, by the `delivery.delivery_id` of its answer.

While it has not been sent it is changed in place; what was sent is edited where the channel can, or a reply in the \
same thread that begins with "Correction:" puts it right. Only your own messages are found. A text to somebody who \
needs an approval is approved anew. The same call again changes nothing more; of several revisions the last accepted \
one stands.

The answer's `status` is `revised`, `corrected` (by another message in the thread), `awaiting_approval` (a person must \
agree to the new text first), `accepted` (stored, still being tried), `too_late` (nothing was changed; `message` says \
why), or `error` with `error_message`, `error_class` and `retryable`. `revises` is the message, `delivery_id` what \
corrects it (the message itself when `how` is `in_place`; else `how` is `edit` or `correction`)."""

_RECALL_DESCRIPTION: Final = """\
Take back a message you sent with `notify`, by the `delivery.delivery_id` of its answer, or by its `notice_id` \
while it waits.

While it has not been sent it is withdrawn and never sent; what was sent is deleted where the channel can, or a reply \
in the same thread asks to disregard it. People may have read it all the same. `reason` is kept for the household and \
not shown to the recipient. Only your own messages are found; a second recall is the first one.

The answer's `status` is `withdrawn` (before it was sent), `recalled`, `corrected` (by another message in the thread), \
`awaiting_approval`, `accepted` (stored, still being tried), `too_late` (`message` says why), or `error` with \
`error_message`, `error_class` and `retryable`. `revises` is the message, `delivery_id` what carries the recall, `how` \
is `in_place`, `delete`, `edit` or `correction`."""

_ACTS: Final = ToolAnnotations(destructive_hint=True, idempotent_hint=True, open_world_hint=True)
_MARGIN_SECONDS: Final = 20.0


def add_correction_tools(server: MCPServer[Any], butler: Butler) -> None:
    async def revise(
        delivery_id: Text = "",
        message: Text = "",
        subject: Text = "",
        format: FormatName = None,
        idempotency_key: Text = "",
        wait_seconds: Wait = None,
    ) -> dict[str, Any]:
        asked = {
            "act": "revise",
            "delivery_id": given(delivery_id),
            "message": given(message),
            "subject": given(subject),
            "format": format,
            "idempotency_key": given(idempotency_key),
        }
        return await _correct(butler, asked, wait_seconds)

    async def recall(
        delivery_id: Text = "",
        notice_id: Text = "",
        reason: Text = "",
        idempotency_key: Text = "",
        wait_seconds: Wait = None,
    ) -> dict[str, Any]:
        asked = {
            "act": "recall",
            "delivery_id": given(delivery_id) if notice_id == "" else given(notice_id),
            "reason": given(reason),
            "idempotency_key": given(idempotency_key),
        }
        return await _correct(butler, asked, wait_seconds)

    server.add_tool(revise, description=REVISE_DESCRIPTION, annotations=_ACTS)
    server.add_tool(recall, description=_RECALL_DESCRIPTION, annotations=_ACTS)


async def _correct(butler: Butler, asked: Mapping[str, Any], wait_seconds: object) -> dict[str, Any]:
    """The switchboard knows who asks; whose delivery it is, the messenger."""
    delivery_id = asked["delivery_id"]
    is_notice = asked["act"] == "recall" and is_notice_id(delivery_id)
    if not is_notice and not (isinstance(delivery_id, str) and is_uuid(delivery_id.strip())):
        return argument_error(ValidationError("Invalid delivery_id format: it is a UUID"))
    try:
        wait = patience(wait_seconds, butler.notifier.default_wait_seconds)
        call = {"correction": {name: value for name, value in asked.items() if value is not None}, "wait_seconds": wait}
        return await butler.notifier.switchboard.call("correct_delivery", call, wait + _MARGIN_SECONDS)
    except DeliveryTimeout as error:
        silent = "the switchboard gave no answer; the same call again is safe, it corrects once"
        return notify_error(type(error)(silent))
    except PostroomError as error:
        return notify_error(error)
