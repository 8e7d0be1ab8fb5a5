"""
Arguments as a model sees them, and as they reach us.

The schema says what is right. What is wrong still reaches the tool, so that the
answer is one of ours instead of the framework's. Texts must be declared `str`:
the framework reads any other argument that looks like JSON as JSON, and a
message such as `[1, 2]` would arrive as a list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import getdoc
from typing import Annotated, Any, Final, cast

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import SkipValidation, WithJsonSchema

from postroom.butlers.messenger.answers import (
    CircuitStatus,
    CorrectionBody,
    DeadLetterDiscard,
    DeadLetterInspection,
    DeadLetterList,
    DeadLetterReplay,
    DeliveryAttempts,
    DeliverySearch,
    DeliveryStats,
    DeliveryStatus,
    DeliveryTrace,
    DryRunAnswer,
    NotifyResponse,
    QueueDepth,
    RateLimitStatus,
    Validation,
)
from postroom.delivery.afterwards.corrections import Corrections
from postroom.delivery.afterwards.dead_letters import DeadLetters
from postroom.delivery.afterwards.rules import correction_object, read_correction
from postroom.delivery.notify import deliver_envelope
from postroom.delivery.plane import Plane
from postroom.delivery.reading.counts import DeliveryHealth
from postroom.delivery.reading.file import DEFAULT_LIMIT, MAX_LIMIT, GroupBy
from postroom.kernel.guard.http import Verifier
from postroom.kernel.guard.tools import caller
from postroom.kernel.running.clock import Clock
from postroom.kernel.serving.json_door import answered
from postroom.kernel.values.errors import ErrorClass, FieldError, ValidationError, error_sentence
from postroom.kernel.values.principal import Principal, sender_of
from postroom.message.delivery import Intent, Status
from postroom.message.wire import NOTIFY_V1, notify_error
from postroom.overview.dry_run import DryRun, validate
from postroom.overview.tracking import Tracking
from postroom.settings.written import SPOKEN

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


def _optional(**schema: Any) -> WithJsonSchema:
    told = {"description": schema.pop("description")} if "description" in schema else {}
    return WithJsonSchema({"anyOf": [schema, {"type": "null"}], **told})


_TIME = "RFC 3339 with an offset, such as 2026-01-31T08:00:00Z; included in the range"

Uuid = Annotated[Any, WithJsonSchema({"type": "string", "format": "uuid"})]
Text = Annotated[str, SkipValidation, WithJsonSchema({"type": "string"})]
_OptionalText = Annotated[str, SkipValidation, _optional(type="string")]
Word = Annotated[Any, _optional(type="string")]
_ChannelName = Annotated[Any, _optional(type="string", description=f"the name of a channel, such as {SPOKEN}")]
IntentName = Annotated[Any, _optional(type="string", enum=[*Intent])]
StatusName = Annotated[Any, _optional(type="string", enum=[*Status])]
_ErrorClassName = Annotated[Any, _optional(type="string", enum=[*ErrorClass])]
_GroupName = Annotated[Any, _optional(type="string", enum=[*GroupBy])]
_ScopeName = Annotated[Any, _optional(type="string", enum=["bot", "user"])]
Moment = Annotated[Any, _optional(type="string", format="date-time", description=_TIME)]
Limit = Annotated[
    Any, WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT})
]
Cursor = Annotated[Any, _optional(type="string", description="next_cursor of the page before, for the next page")]
Flag = Annotated[Any, WithJsonSchema({"type": "boolean"})]
Envelope = Annotated[Any, WithJsonSchema({"type": "object", "description": "a notify.v1 envelope"})]
ChatId = Annotated[
    Any, WithJsonSchema({"type": ["string", "integer"], "description": "a Telegram chat id or @username"})
]
_MessageId = Annotated[
    Any, WithJsonSchema({"type": ["string", "integer"], "description": "the number of a message in that chat"})
]


# What became of a delivery.


def add_tracking_tools(server: MCPServer[Any], tracking: Tracking) -> None:
    _add_lookup_tools(server, tracking)
    _add_search_tool(server, tracking)


def _add_lookup_tools(server: MCPServer[Any], tracking: Tracking) -> None:
    @answered(error_sentence)
    async def messenger_delivery_status(delivery_id: Uuid) -> DeliveryStatus:
        """
        What has become of one delivery.

        `status` is `awaiting_approval`, `pending` (stored; `waiting_reason` and `next_attempt_at` tell what it waits
        for), `in_progress`, `delivered`, `failed` (final) or `dead_lettered` (attempts used up: see `dead_letter_id`).
        Also the latest attempt with latency, outcome and error, and the provider's own id once there is one.
        `possible_duplicate` says that the person may have received it twice. The message itself is not shown.
        """
        return cast(DeliveryStatus, await tracking.status(delivery_id))

    @answered(error_sentence)
    async def messenger_delivery_attempts(delivery_id: Uuid) -> DeliveryAttempts:
        """
        Every call that was made to the provider for one delivery, in order.

        `outcome` is `success`, `retryable_error`, `non_retryable_error` or `uncertain` (handed over, no answer: it may
        have arrived). `provider_response` is the provider's own id of what it accepted; of
        a call that failed, the status and the short words it refused with, or why no answer came.
        """
        return cast(DeliveryAttempts, await tracking.attempts(delivery_id))

    @answered(error_sentence)
    async def messenger_delivery_trace(request_id: Text) -> DeliveryTrace:
        """
        Everything that happened on behalf of one upstream request, oldest first.

        All deliveries it led to (replays too), each with content, envelope, attempts, receipts and dead letter; who
        called which part, and when (`hops`); and requests that a limit turned away before they were stored
        (`refusals`). A delivery's `request_id` is in messenger_delivery_status and in every notify answer.
        """
        return cast(DeliveryTrace, await tracking.trace(request_id))

    for tool in (messenger_delivery_status, messenger_delivery_attempts, messenger_delivery_trace):
        server.add_tool(tool, description=getdoc(tool), annotations=_READS)


def _add_search_tool(server: MCPServer[Any], tracking: Tracking) -> None:
    @answered(error_sentence)
    async def messenger_delivery_search(
        origin_butler: Word = None,
        channel: _ChannelName = None,
        intent: IntentName = None,
        status: StatusName = None,
        since: Moment = None,
        until: Moment = None,
        limit: Limit = DEFAULT_LIMIT,
        cursor: Cursor = None,
    ) -> DeliverySearch:
        """
        Find deliveries, newest first, by any combination of filters.

        `since` and `until` are about when a delivery was stored, both ends included. At most `limit` (1 to 500) are
        returned; when `next_cursor` is not null there are more: call again with the same filters and that cursor.
        """
        return cast(
            DeliverySearch,
            await tracking.search(
                origin_butler=origin_butler,
                channel=channel,
                intent=intent,
                status=status,
                since=since,
                until=until,
                limit=limit,
                cursor=cursor,
            ),
        )

    server.add_tool(messenger_delivery_search, description=getdoc(messenger_delivery_search), annotations=_READS)


# Deliveries that were given up.


def add_dead_letter_tools(server: MCPServer[Any], dead_letters: DeadLetters) -> None:
    _add_reading_tools(server, dead_letters)
    _add_repairing_tools(server, dead_letters)


def _add_reading_tools(server: MCPServer[Any], dead_letters: DeadLetters) -> None:
    @answered(error_sentence)
    async def messenger_dead_letter_list(
        channel: _ChannelName = None,
        origin_butler: Word = None,
        error_class: _ErrorClassName = None,
        since: Moment = None,
        limit: Limit = DEFAULT_LIMIT,
        include_discarded: Flag = False,
        cursor: Cursor = None,
    ) -> DeadLetterList:
        """
        Deliveries that were given up, newest first: why, after how many attempts, and whether each can be replayed.

        `quarantine_reason` is `retries_exhausted` or `outcome_uncertain` (it may have arrived, and the policy was not
        to risk a second copy). Discarded ones are left out unless `include_discarded` is true. When `next_cursor` is
        not null there are more: call again with the same filters and that cursor.
        """
        return cast(
            DeadLetterList,
            await dead_letters.list(
                channel=channel,
                origin_butler=origin_butler,
                error_class=error_class,
                since=since,
                limit=limit,
                include_discarded=include_discarded,
                cursor=cursor,
            ),
        )

    @answered(error_sentence)
    async def messenger_dead_letter_inspect(dead_letter_id: Uuid) -> DeadLetterInspection:
        """
        One dead letter in full: the original envelope, every attempt, earlier replays.

        `replay_eligibility_assessment` says whether it can be replayed now and why not; with
        `requires_accept_duplicate` a replay is possible but may reach the person a second time.
        """
        return cast(DeadLetterInspection, await dead_letters.inspect(dead_letter_id))

    for tool in (messenger_dead_letter_list, messenger_dead_letter_inspect):
        server.add_tool(tool, description=getdoc(tool), annotations=_READS)


def _add_repairing_tools(server: MCPServer[Any], dead_letters: DeadLetters) -> None:
    @answered(error_sentence)
    async def messenger_dead_letter_replay(dead_letter_id: Uuid, accept_duplicate: Flag = False) -> DeadLetterReplay:
        """
        Send a dead letter again: a new delivery is stored as `pending` and goes out on the ordinary path.

        For people only. Refused, with `reasons`, when the letter was discarded, or while an earlier replay is on its
        way or has arrived. When an attempt's outcome is uncertain the message may have arrived already: pass
        `accept_duplicate=true` to send it all the same. Follow `replayed_delivery_id` with messenger_delivery_status.
        """
        return cast(DeadLetterReplay, await dead_letters.replay(dead_letter_id, accept_duplicate=accept_duplicate))

    @answered(error_sentence)
    async def messenger_dead_letter_discard(dead_letter_id: Uuid, reason: Text) -> DeadLetterDiscard:
        """
        Give a dead letter up for good, with a reason. It keeps its record but can never be replayed.

        For people only. A second discard is an error that shows when and why the first one was made.
        """
        return cast(DeadLetterDiscard, await dead_letters.discard(dead_letter_id, reason))

    server.add_tool(
        messenger_dead_letter_replay,
        description=getdoc(messenger_dead_letter_replay),
        annotations=ToolAnnotations(destructive_hint=True, idempotent_hint=False, open_world_hint=True),
    )
    server.add_tool(
        messenger_dead_letter_discard,
        description=getdoc(messenger_dead_letter_discard),
        annotations=ToolAnnotations(destructive_hint=True, idempotent_hint=False, open_world_hint=False),
    )


# Whether the delivery plane is well, and what it would do, without touching it.


def add_envelope_tools(server: MCPServer[Any], dry_run: DryRun) -> None:
    @answered(error_sentence)
    async def messenger_validate_notify(notify_request: Envelope) -> Validation:
        """
        Check a notify.v1 envelope with the validator every door uses. Nothing is stored or sent.

        `errors` lists every field that is wrong: `field` is its path, `error` a sentence, `code` for programs.
        """
        return cast(Validation, validate(notify_request, dry_run.known_channels))

    @answered(error_sentence)
    async def messenger_dry_run(notify_request: Envelope) -> DryRunAnswer:
        """
        Say what would happen to a notify.v1 envelope right now. Nothing is stored, sent or counted.

        Validates it, finds the target and the adapter, and asks the limits and the circuit as a real request would.
        `rate_limit_headroom` is in tokens per tier: a send or a reaction takes one, a reply half of one. When
        `would_be_admitted` is false, `refusal` is the error the real request would get. `duplicate_of` names the
        delivery that would answer instead, because the same request was made before. With `may_need_approval` a person
        is asked first, unless a standing rule decides. `would_be_held` says until when and why the person's attention
        policy would hold it; it is left out when it would leave now.
        """
        return cast(DryRunAnswer, await dry_run.run(notify_request))

    for tool in (messenger_validate_notify, messenger_dry_run):
        server.add_tool(tool, description=getdoc(tool), annotations=_READS)


def add_health_tools(server: MCPServer[Any], health: DeliveryHealth) -> None:
    @answered(error_sentence)
    async def messenger_circuit_status(channel: _ChannelName = None) -> CircuitStatus:
        """
        The circuit breaker of each channel, or of one.

        `closed`: deliveries go out. `open`: the provider failed too often (`trip_reason`, `trip_timestamp`); new
        requests are refused and stored ones wait for `retry_after_seconds`. `half-open`: a few probes decide.
        `recovery` holds the settings.
        """
        return cast(CircuitStatus, await health.circuits(channel))

    @answered(error_sentence)
    async def messenger_rate_limit_status(
        channel: _ChannelName = None, identity_scope: _ScopeName = None
    ) -> RateLimitStatus:
        """
        What is left of the rate limits: for the household, for each channel and identity, and in flight.

        `available` and `consumed` are tokens, `refill_rate` tokens per second; `window_reset_seconds` until the bucket
        is full again. `provider_throttles` are channels whose provider told us to wait. Looking takes no token.
        """
        return cast(RateLimitStatus, await health.rate_limits(channel, identity_scope))

    @answered(error_sentence)
    async def messenger_queue_depth(channel: _ChannelName = None) -> QueueDepth:
        """
        How many deliveries are stored and not decided yet: pending and in_progress, by status and by channel.

        `oldest_age_seconds` is how long the oldest of them has been waiting.
        """
        return cast(QueueDepth, await health.queue_depth(channel))

    @answered(error_sentence)
    async def messenger_delivery_stats(
        since: Moment = None, until: Moment = None, group_by: _GroupName = None
    ) -> DeliveryStats:
        """
        Figures over the deliveries stored in a window of time (the last 24 hours by default).

        `success_rate` is over finished deliveries only; `retry_rate` is the share of attempted ones that took more
        than one attempt; a rate of nothing is null. p50 and p95 are nearest-rank percentiles over single provider
        calls. `group_by` adds the same figures per `channel`, `intent`, `origin_butler`, `outcome` (the delivery's
        status) or `error_class` (of its final error, `none` without one); every delivery is in exactly one group.
        """
        return cast(DeliveryStats, await health.statistics(since, until, group_by))

    for tool in (
        messenger_circuit_status,
        messenger_rate_limit_status,
        messenger_queue_depth,
        messenger_delivery_stats,
    ):
        server.add_tool(tool, description=getdoc(tool), annotations=_READS)


# Corrections: for the sender of a message and the owner.

LONGEST_WAIT_SECONDS: Final = 600.0
_ACTS: Final = ToolAnnotations(destructive_hint=True, idempotent_hint=True, open_world_hint=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionDesk:
    """Asked over the wire: whose deliveries a caller knows is decided by the caller's token alone."""

    corrections: Corrections
    clock: Clock
    mint: Callable[[int], str]
    wait_seconds: float

    async def by(self, who: Principal, given: Mapping[str, Any], wait_seconds: object = None) -> dict[str, Any]:
        """The owner and the operator know every delivery; for one who sends nothing, none exists."""
        sender = None if who.is_owner else sender_of(who) or str(who)
        return await self.correct(given, actor=str(who), sender=sender, wait_seconds=wait_seconds)

    async def correct(
        self,
        given: Mapping[str, Any],
        *,
        actor: str,
        sender: str | None,
        wait_seconds: object = None,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        try:
            asked = read_correction(given, actor=actor, sender=sender)
            patience = self._patience(wait_seconds)
        except ValidationError as error:
            return notify_error(error) | {"revises": None, "delivery_id": None, "how": None}
        request_id = request_id or self.mint(self.clock.now_us())
        return correction_object(await self.corrections.correct(asked, request_id=request_id, wait_seconds=patience))

    def _patience(self, asked: object) -> float:
        if asked is None:
            return self.wait_seconds
        if isinstance(asked, bool) or not isinstance(asked, int | float) or not 0 <= asked <= LONGEST_WAIT_SECONDS:
            limit = f"must be a number of seconds from 0 to {LONGEST_WAIT_SECONDS:.0f}"
            raise ValidationError.of([FieldError("wait_seconds", limit, "out_of_range")])
        return float(asked)


def add_correction_tools(server: MCPServer[Any], desk: CorrectionDesk, verifier: Verifier) -> None:
    async def revise_delivery(
        context: Context[Any, Any],
        delivery_id: Uuid,
        message: Text,
        subject: _OptionalText = "",
        format: Word = None,
        idempotency_key: _OptionalText = "",
        wait_seconds: Word = None,
    ) -> CorrectionBody:
        """
        Give a message another text: in place while it has not been sent, else by an edit, else by a correction in
        its thread. The new text is approved as a new message would be.

        For its sender and the owner. `status` is `revised`, `corrected`, `awaiting_approval`,
        `accepted`, `too_late` or `error`; `revises` and `delivery_id` name the message and what corrects it.
        """
        given = {
            "act": "revise",
            "delivery_id": delivery_id,
            "message": message,
            "subject": subject or None,
            "format": format,
            "idempotency_key": idempotency_key or None,
        }
        return cast(CorrectionBody, await desk.by(caller(context, verifier), given, wait_seconds))

    async def recall_delivery(
        context: Context[Any, Any],
        delivery_id: Uuid,
        reason: _OptionalText = "",
        idempotency_key: _OptionalText = "",
        wait_seconds: Word = None,
    ) -> CorrectionBody:
        """
        Take a message back: withdrawn while it has not been sent, else deleted where the channel can, else by a word
        in its thread. `reason` is kept with it and shown to people here, never to the recipient.

        For its sender and the owner. `status` is `withdrawn`, `recalled`, `corrected`,
        `awaiting_approval`, `accepted`, `too_late` or `error`.
        """
        given = {
            "act": "recall",
            "delivery_id": delivery_id,
            "reason": reason or None,
            "idempotency_key": idempotency_key or None,
        }
        return cast(CorrectionBody, await desk.by(caller(context, verifier), given, wait_seconds))

    for tool in (revise_delivery, recall_delivery):
        server.add_tool(tool, description=getdoc(tool), annotations=_ACTS)


# The messenger's own ways to reach people; each is a notify.v1 on the one delivery path.

ORIGIN: Final = "messenger"
_SENDS = ToolAnnotations(destructive_hint=True, idempotent_hint=False, open_world_hint=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelTools:
    plane: Plane
    clock: Clock
    mint: Callable[[int], str]
    wait_seconds: float

    async def send(self, channel: str, recipient: object, **content: object) -> NotifyResponse:
        """A missing recipient is a mistake here: these tools never mean "the owner"."""
        named = "" if recipient is None else recipient
        return await self._deliver(_envelope(channel, Intent.SEND, recipient=named, **content), self._request_id())

    async def answer(
        self, channel: str, intent: Intent, *, sender: object, thread: object, **content: object
    ) -> NotifyResponse:
        """In a conversation: there is no inbound request to name, so this call is its own."""
        request_id = self._request_id()
        context = {
            "request_id": request_id,
            "source_channel": channel,
            "source_endpoint_identity": ORIGIN,
            "source_sender_identity": sender,
            "source_thread_identity": thread,
        }
        envelope = _envelope(channel, intent, **content) | {"request_context": context}
        return await self._deliver(envelope, request_id)

    def _request_id(self) -> str:
        return self.mint(self.clock.now_us())

    async def _deliver(self, envelope: dict[str, Any], request_id: str) -> NotifyResponse:
        answer = await deliver_envelope(self.plane, envelope, request_id=request_id, wait_seconds=self.wait_seconds)
        return cast(NotifyResponse, answer)


def add_channel_tools(server: MCPServer[Any], tools: ChannelTools) -> None:
    _add_telegram_tools(server, tools)
    _add_email_tools(server, tools)


def _add_telegram_tools(server: MCPServer[Any], tools: ChannelTools) -> None:
    async def telegram_send_message(chat_id: ChatId, text: Text) -> NotifyResponse:
        """
        Send a text to a Telegram chat. The text is sent as it is: no markup is read from it.

        Answers a notify_response.v1: `ok` (delivered), `accepted` (stored and still being tried: do not send it
        again, ask messenger_delivery_status), `pending_approval`, or `error` with `error_class` and `retryable`.
        """
        return await tools.send("telegram", _written(chat_id), message=text)

    async def telegram_reply_to_message(chat_id: ChatId, message_id: _MessageId, text: Text) -> NotifyResponse:
        """Send a text to a Telegram chat as a reply to one message in it. Answers a notify_response.v1."""
        thread = f"{_written(chat_id)}:{_written(message_id)}"
        return await tools.answer("telegram", Intent.REPLY, sender=_written(chat_id), thread=thread, message=text)

    async def telegram_react_to_message(chat_id: ChatId, message_id: _MessageId, emoji: Text) -> NotifyResponse:
        """Set one emoji as the reaction to a message in a Telegram chat. Answers a notify_response.v1."""
        thread = f"{_written(chat_id)}:{_written(message_id)}"
        return await tools.answer(
            "telegram", Intent.REACT, sender=_written(chat_id), thread=thread, message="", emoji=emoji
        )

    for tool in (telegram_send_message, telegram_reply_to_message, telegram_react_to_message):
        server.add_tool(tool, description=getdoc(tool), annotations=_SENDS)


def _add_email_tools(server: MCPServer[Any], tools: ChannelTools) -> None:
    async def email_send_message(to: Text, subject: Text, body: Text) -> NotifyResponse:
        """
        Send a plain-text e-mail to one address.

        Answers a notify_response.v1: `ok` (handed to the mail server), `accepted` (stored and still being tried: do
        not send it again, ask messenger_delivery_status), `pending_approval`, or `error` with `error_class`.
        """
        return await tools.send("email", to, subject=subject, message=body)

    async def email_reply_to_thread(
        to: Text, thread_id: Text, body: Text, subject: _OptionalText = ""
    ) -> NotifyResponse:
        """
        Answer in an e-mail thread; `thread_id` is the Message-ID of the mail that is answered.

        The subject becomes `Re: …`. Answers a notify_response.v1.
        """
        return await tools.answer(
            "email", Intent.REPLY, sender=to, thread=thread_id, message=body, subject=subject or None
        )

    for tool in (email_send_message, email_reply_to_thread):
        server.add_tool(tool, description=getdoc(tool), annotations=_SENDS)


def _envelope(channel: str, intent: Intent, **content: object) -> dict[str, Any]:
    given = {name: value for name, value in content.items() if value is not None}
    delivery = {"intent": str(intent), "channel": channel, **given}
    return {"schema_version": NOTIFY_V1, "origin_butler": ORIGIN, "delivery": delivery}


def _written(number: object) -> object:
    """Chat and message ids are numbers to some callers and texts to others."""
    return str(number) if isinstance(number, int) and not isinstance(number, bool) else number
