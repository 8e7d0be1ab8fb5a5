"""
The messenger's tools, whose arguments the work judges in sentences of its own.

A limit that is too high is lowered and not refused; the schema says what is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import TypedDict

from postroom.delivery.reading.file import DEFAULT_LIMIT, MAX_LIMIT, GroupBy
from postroom.kernel.acts.declaration import READS, Act, Answer, Call, Hints, Tool, act, said
from postroom.kernel.acts.reading import Whatever, judged, needed
from postroom.kernel.values.errors import ErrorClass, PostroomError
from postroom.kernel.values.principal import EVERYONE, Kind
from postroom.message.acts import Recall, Revise
from postroom.message.delivery import Intent, Status
from postroom.message.outgoing import MAX_ADDRESS_CHARACTERS, MAX_SUBJECT_CHARACTERS
from postroom.message.wire import MAX_MESSAGE_CHARACTERS, notify_error
from postroom.overview.tracking import validate
from postroom.settings.written import SPOKEN

if TYPE_CHECKING:
    from postroom.butlers.messenger.desk import MessengerDesk

    Desk = Call[MessengerDesk]

DESCRIPTION: Final = "Outbound delivery execution plane for Telegram and Email"

# Answers, as deep as a model is told them; instead of each an error may come, so no key is ever required.


class DeliveryStatus(TypedDict, total=False):
    error: str
    delivery_id: str
    request_id: str
    idempotency_key: str
    origin_butler: str
    channel: str
    intent: str
    target_identity: str
    status: str
    priority: str
    on_uncertain: str
    attempts: int
    possible_duplicate: bool
    waiting_reason: str | None
    next_attempt_at: str | None
    provider_delivery_id: str | None
    latest_attempt: dict[str, Any] | None
    terminal_error_class: str | None
    terminal_error_message: str | None
    dead_letter_id: str | None
    replay_of: str | None
    replay_number: int | None
    created_at: str
    updated_at: str
    terminal_at: str | None


class DeliverySearch(TypedDict, total=False):
    error: str
    deliveries: list[dict[str, Any]]
    count: int
    limit: int
    next_cursor: str | None


class DeliveryAttempts(TypedDict, total=False):
    error: str
    delivery_id: str
    attempts: list[dict[str, Any]]
    total_attempts: int


class DeliveryTrace(TypedDict, total=False):
    """`hops`: who called, by which part, and when; `refusals`: what was turned away unstored."""

    error: str
    request_id: str
    hops: list[dict[str, Any]]
    deliveries: list[dict[str, Any]]
    delivery_count: int
    refusals: list[dict[str, Any]]


class DeadLetterList(TypedDict, total=False):
    error: str
    dead_letters: list[dict[str, Any]]
    count: int
    limit: int
    include_discarded: bool
    next_cursor: str | None


class DeadLetterInspection(TypedDict, total=False):
    error: str
    dead_letter_id: str
    delivery_id: str
    original_delivery_id: str
    request_id: str
    idempotency_key: str
    origin_butler: str
    channel: str
    intent: str
    target_identity: str
    quarantine_reason: str
    error_class: str | None
    error_summary: str | None
    total_attempts: int
    first_attempt_at: str | None
    last_attempt_at: str | None
    original_request_envelope: dict[str, Any]
    all_attempt_outcomes: list[dict[str, Any]]
    replay_eligible: bool
    requires_accept_duplicate: bool
    replay_count: int
    replays: list[dict[str, Any]]
    replay_eligibility_assessment: dict[str, Any]
    discarded_at: str | None
    discard_reason: str | None
    created_at: str


class DeadLetterReplay(TypedDict, total=False):
    error: str
    reasons: list[str]
    status: str
    replayed_delivery_id: str
    original_dead_letter_id: str
    replay_number: int
    idempotency_key: str
    delivery_status: str
    possible_duplicate: bool
    message: str


class DeadLetterDiscard(TypedDict, total=False):
    error: str
    status: str
    dead_letter_id: str
    discarded_at: str
    discard_reason: str
    message: str


class Validation(TypedDict, total=False):
    error: str
    valid: bool
    errors: list[dict[str, Any]]


class DryRunAnswer(TypedDict, total=False):
    error: str
    valid: bool
    errors: list[dict[str, Any]]
    intent: str
    channel_adapter: str
    target_identity: str
    rate_limit_headroom: dict[str, float]
    in_flight: int
    circuit: str
    duplicate_of: dict[str, Any] | None
    may_need_approval: bool
    would_be_held: dict[str, Any]
    would_be_admitted: bool
    refusal: dict[str, Any]


class CircuitStatus(TypedDict, total=False):
    error: str
    circuits: dict[str, dict[str, Any]]


RateLimitStatus = TypedDict(
    "RateLimitStatus",
    {
        "error": str,
        "global": dict[str, Any],
        "channels": dict[str, dict[str, Any]],
        "recipient": dict[str, Any],
        "in_flight": dict[str, Any],
        "provider_throttles": dict[str, dict[str, Any]],
    },
    total=False,
)


class QueueDepth(TypedDict, total=False):
    error: str
    total_in_flight: int
    by_status: dict[str, int]
    by_channel: dict[str, int]
    oldest_age_seconds: float | None


class DeliveryStats(TypedDict, total=False):
    error: str
    time_window: dict[str, Any]
    total_deliveries: int
    success_count: int
    failed_count: int
    dead_lettered_count: int
    unfinished_count: int
    success_rate: float | None
    retry_rate: float | None
    total_attempts: int
    p50_latency_ms: float | None
    p95_latency_ms: float | None
    group_by: str
    groups: dict[str, dict[str, Any]]


class NotifyResponse(TypedDict, total=False):
    """notify_response.v1"""

    schema_version: str
    status: str
    request_context: dict[str, Any]
    delivery: dict[str, Any]
    error: dict[str, Any]
    error_message: str
    error_class: str
    retryable: bool
    action_id: str


# The record, and whether the delivery plane is well: for the messenger itself.

_MESSENGER: Final = frozenset({Kind.OPERATOR, Kind.ITSELF})
_TIME: Final = "RFC 3339 with an offset, such as 2026-01-31T08:00:00Z; included in the range."
_TEXT: Final = {"type": "string"}
_UUID: Final = {"type": "string", "format": "uuid"}


class _Looks(Act[Answer]):
    @classmethod
    def refused(cls, error: PostroomError) -> Mapping[str, Any]:
        return {"error": error.message}


class _OfDelivery(_Looks[Answer]):
    delivery_id: Whatever = needed("As the answer of `notify` named it.", **_UUID)


class _OfDeadLetter(_Looks[Answer]):
    dead_letter_id: Whatever = needed("As messenger_dead_letter_list shows it.", **_UUID)


class _OfChannel(_Looks[Answer]):
    channel: Whatever = judged(f"The name of a channel, such as {SPOKEN}.", **_TEXT)


class _OfEnvelope(_Looks[Answer]):
    notify_request: Whatever = needed("A notify.v1 envelope.", type="object")


class _Page(_OfChannel[Answer]):
    origin_butler: Whatever = judged("Who sent it.", **_TEXT)
    since: Whatever = judged(_TIME, type="string", format="date-time")
    limit: Whatever = judged("How many.", type="integer", minimum=1, maximum=MAX_LIMIT, default=DEFAULT_LIMIT)
    cursor: Whatever = judged("`next_cursor` of the page before, with the same filters.", **_TEXT)


@act(by=_MESSENGER, tool=Tool("messenger_delivery_status", READS))
class DeliveryState(_OfDelivery[DeliveryStatus]):
    """
    What has become of one delivery: its status, what it waits for, its latest attempt, the provider's own id,
    and whether the person may have received it twice. The message itself is not shown.
    """

    async def do(self, call: Desk) -> Any:
        return await call.work.tracking.status(self.delivery_id)


@act(by=_MESSENGER, tool=Tool("messenger_delivery_attempts", READS))
class ListAttempts(_OfDelivery[DeliveryAttempts]):
    """
    Every call that was made to the provider for one delivery, in order. `uncertain` means: handed over, no
    answer, so it may have arrived.
    """

    async def do(self, call: Desk) -> Any:
        return await call.work.tracking.attempts(self.delivery_id)


@act(by=_MESSENGER, tool=Tool("messenger_delivery_trace", READS))
class TraceRequest(_Looks[DeliveryTrace]):
    """
    Everything that happened on behalf of one upstream request, oldest first: its deliveries with content,
    attempts and receipts, who called which part, and what a limit turned away.
    """

    request_id: Whatever = needed("As every answer of `notify` names it.", **_TEXT)

    async def do(self, call: Desk) -> Any:
        return await call.work.tracking.trace(self.request_id)


@act(by=_MESSENGER, tool=Tool("messenger_delivery_search", READS))
class SearchDeliveries(_Page[DeliverySearch]):
    """
    Find deliveries, newest first, by any combination of filters; `since` and `until` are about when one was
    stored.
    """

    intent: Whatever = judged("What was wanted.", enum=list(Intent), **_TEXT)
    status: Whatever = judged("How it stands.", enum=list(Status), **_TEXT)
    until: Whatever = judged(_TIME, type="string", format="date-time")

    async def do(self, call: Desk) -> Any:
        return await call.work.tracking.search(**self.model_dump())


@act(by=_MESSENGER, tool=Tool("messenger_dead_letter_list", READS))
class ListDeadLetters(_Page[DeadLetterList]):
    """
    Deliveries that were given up, newest first: why, after how many attempts, and whether each can be replayed.
    """

    error_class: Whatever = judged("Of the last error.", enum=list(ErrorClass), **_TEXT)
    include_discarded: Whatever = judged("Those that were discarded, too.", type="boolean", default=False)

    async def do(self, call: Desk) -> Any:
        return await call.work.dead_letters.list(**self.model_dump())


@act(by=_MESSENGER, tool=Tool("messenger_dead_letter_inspect", READS))
class InspectDeadLetter(_OfDeadLetter[DeadLetterInspection]):
    """
    One dead letter in full: the original envelope, every attempt, earlier replays, and whether it can be
    replayed now.
    """

    async def do(self, call: Desk) -> Any:
        return await call.work.dead_letters.inspect(self.dead_letter_id)


@act(by=_MESSENGER, tool=Tool("messenger_validate_notify", READS))
class ValidateNotify(_OfEnvelope[Validation]):
    """Check a notify.v1 envelope with the validator of every door. Nothing is stored or sent."""

    async def do(self, call: Desk) -> Any:
        return validate(self.notify_request, call.work.dry_run.known_channels)


@act(by=_MESSENGER, tool=Tool("messenger_dry_run", READS))
class DryRunNotify(_OfEnvelope[DryRunAnswer]):
    """
    Say what would happen to a notify.v1 envelope right now: limits, circuit, approval, and until when it would
    be held. Nothing is stored, sent or counted.
    """

    async def do(self, call: Desk) -> Any:
        return await call.work.dry_run.run(self.notify_request)


@act(by=_MESSENGER, tool=Tool("messenger_circuit_status", READS))
class ShowCircuits(_OfChannel[CircuitStatus]):
    """
    The circuit breaker of each channel, or of one: `closed`, `open` (refused until `retry_after_seconds`) or
    `half-open`.
    """

    async def do(self, call: Desk) -> Any:
        return await call.work.health.circuits(self.channel)


@act(by=_MESSENGER, tool=Tool("messenger_rate_limit_status", READS))
class ShowRateLimits(_OfChannel[RateLimitStatus]):
    """
    What is left of the rate limits: for the household, for each channel and identity, and in flight. Looking
    takes no token.
    """

    identity_scope: Whatever = judged("Of one identity.", enum=["bot", "user"], **_TEXT)

    async def do(self, call: Desk) -> Any:
        return await call.work.health.rate_limits(self.channel, self.identity_scope)


@act(by=_MESSENGER, tool=Tool("messenger_queue_depth", READS))
class ShowQueue(_OfChannel[QueueDepth]):
    """How many deliveries are stored and not decided yet, by status and by channel, and how old the oldest is."""

    async def do(self, call: Desk) -> Any:
        return await call.work.health.queue_depth(self.channel)


@act(by=_MESSENGER, tool=Tool("messenger_delivery_stats", READS))
class CountDeliveries(_Looks[DeliveryStats]):
    """
    Figures over the deliveries stored in a window of time (the last 24 hours by default): success, retries and
    latency.
    """

    since: Whatever = judged(_TIME, type="string", format="date-time")
    until: Whatever = judged(_TIME, type="string", format="date-time")
    group_by: Whatever = judged("The same figures for each of them.", enum=list(GroupBy), **_TEXT)

    async def do(self, call: Desk) -> Any:
        return await call.work.health.statistics(self.since, self.until, self.group_by)


# Repairing: a replay reaches somebody again, and a discard is for good. Who decides for the household may.

_REPLAYS: Final = Hints(destroys=True, open_world=True)
_DISCARDS: Final = Hints(destroys=True)


@act(by=EVERYONE, tool=Tool("messenger_dead_letter_replay", _REPLAYS))
class ReplayDeadLetter(_OfDeadLetter[DeadLetterReplay]):
    """
    Send a dead letter again, for people only: a new delivery on the ordinary path. Refused, with `reasons`,
    when it was discarded or an earlier replay is under way or has arrived.
    """

    accept_duplicate: Whatever = judged("Also if it may have arrived.", type="boolean", default=False)

    async def do(self, call: Desk) -> Any:
        return await call.work.dead_letters.replay(self.dead_letter_id, accept_duplicate=self.accept_duplicate)


@act(by=EVERYONE, tool=Tool("messenger_dead_letter_discard", _DISCARDS))
class DiscardDeadLetter(_OfDeadLetter[DeadLetterDiscard]):
    """
    Give a dead letter up for good, with a reason, for people only. It keeps its record but can never be
    replayed.
    """

    reason: Whatever = needed("Why; it is kept.", **_TEXT)

    async def do(self, call: Desk) -> Any:
        return await call.work.dead_letters.discard(self.dead_letter_id, self.reason)


# Corrections: for the sender of a message and the owner.


class _AtTheMessenger:
    @classmethod
    def refused(cls, error: PostroomError) -> Mapping[str, Any]:
        return notify_error(error) | {"revises": None, "delivery_id": None, "how": None}

    async def corrected(self: Any, call: Call[Any], kind: str) -> Any:
        given = self.model_dump(exclude={"wait_seconds"}, exclude_none=True)
        return await call.work.corrections.by(call.caller, {"act": kind, **given}, self.wait_seconds)


_CORRECTS: Final = Hints(destroys=True, repeats=True, open_world=True)
_CORRECTED: Final = ("status", "message", "delivery_id")


@act(by=EVERYONE, tool=Tool("revise_delivery", _CORRECTS, answers=_CORRECTED))
class ReviseDelivery(_AtTheMessenger, Revise):
    """
    Give a message another text: in place, by an edit, or by a correction in its thread. For its sender and the
    owner.
    """


@act(by=EVERYONE, tool=Tool("recall_delivery", _CORRECTS, without=("notice_id",), answers=_CORRECTED))
class RecallDelivery(_AtTheMessenger, Recall):
    """
    Take a message back: withdraw it, delete it where the channel can, or say so in its thread. For its sender
    and the owner.
    """


# The messenger's own ways to reach people: no other butler reaches them past the switchboard.

_SENDS: Final = Hints(destroys=True, open_world=True)
_TOLD: Final = ("status", "delivery", "error_message")
"""Of an answer, what a model goes by."""


_IN_CHAT: Final = {
    "recipient": "chat_id",
    "message": "text",
    "request_context.source_sender_identity": "chat_id",
    "request_context.source_thread_identity": "message_id",
}
_IN_MAIL: Final = {
    "recipient": "to",
    "message": "body",
    "request_context.source_sender_identity": "to",
    "request_context.source_thread_identity": "thread_id",
}


class _Sends(Act[Answer]):
    @classmethod
    def refused(cls, error: PostroomError) -> Mapping[str, Any]:
        return notify_error(error)


class _InChat(_Sends[Answer]):
    chat_id: str | int = needed("A Telegram chat id or @username.")


class _ToMessage(_InChat[Answer]):
    message_id: str | int = needed("The number of a message in that chat.")

    async def answered(self, call: Desk, intent: Intent, **content: object) -> Any:
        chat = str(self.chat_id)
        thread = f"{chat}:{self.message_id}"
        return await call.work.channel_tools.answer("telegram", intent, _IN_CHAT, sender=chat, thread=thread, **content)


@act(by=_MESSENGER, tool=Tool("telegram_send_message", _SENDS, answers=_TOLD))
class SendTelegram(_InChat[NotifyResponse]):
    """
    Send a text to a Telegram chat, as it is: no markup is read from it. `accepted` means stored and still being
    tried: do not send it again.
    """

    text: str = said("What it says.", ..., max_length=MAX_MESSAGE_CHARACTERS)

    async def do(self, call: Desk) -> Any:
        return await call.work.channel_tools.send("telegram", str(self.chat_id), _IN_CHAT, message=self.text)


@act(by=_MESSENGER, tool=Tool("telegram_reply_to_message", _SENDS, answers=_TOLD))
class ReplyOnTelegram(_ToMessage[NotifyResponse]):
    """Send a text to a Telegram chat as a reply to one message in it."""

    text: str = said("What it says.", ..., max_length=MAX_MESSAGE_CHARACTERS)

    async def do(self, call: Desk) -> Any:
        return await self.answered(call, Intent.REPLY, message=self.text)


@act(by=_MESSENGER, tool=Tool("telegram_react_to_message", _SENDS, answers=_TOLD))
class ReactOnTelegram(_ToMessage[NotifyResponse]):
    """Set one emoji as the reaction to a message in a Telegram chat."""

    emoji: str = said("One emoji.", ..., max_length=32)

    async def do(self, call: Desk) -> Any:
        return await self.answered(call, Intent.REACT, message="", emoji=self.emoji)


class _Mail(_Sends[Answer]):
    to: str = said("One address.", ..., max_length=MAX_ADDRESS_CHARACTERS)
    body: str = said("What it says.", ..., max_length=MAX_MESSAGE_CHARACTERS)


@act(by=_MESSENGER, tool=Tool("email_send_message", _SENDS, answers=_TOLD))
class SendMail(_Mail[NotifyResponse]):
    """
    Send a plain-text e-mail to one address. `accepted` means stored and still being tried: do not send it
    again.
    """

    subject: str = said("Its subject.", ..., max_length=MAX_SUBJECT_CHARACTERS)

    async def do(self, call: Desk) -> Any:
        return await call.work.channel_tools.send("email", self.to, _IN_MAIL, subject=self.subject, message=self.body)


@act(by=_MESSENGER, tool=Tool("email_reply_to_thread", _SENDS, answers=_TOLD))
class ReplyByMail(_Mail[NotifyResponse]):
    """Answer in an e-mail thread; the subject becomes `Re: …`."""

    thread_id: str = said("The Message-ID of the mail that is answered.", ..., max_length=1000)
    subject: str | None = said("Instead of the thread's.", max_length=MAX_SUBJECT_CHARACTERS)

    async def do(self, call: Desk) -> Any:
        content = {"message": self.body, "subject": self.subject}
        return await call.work.channel_tools.answer(
            "email", Intent.REPLY, _IN_MAIL, sender=self.to, thread=self.thread_id, **content
        )


RECORD: Final = (
    DeliveryState,
    ListAttempts,
    TraceRequest,
    SearchDeliveries,
    ListDeadLetters,
    InspectDeadLetter,
    ValidateNotify,
    DryRunNotify,
    ShowCircuits,
    ShowRateLimits,
    ShowQueue,
    CountDeliveries,
)
REPAIRING: Final = (ReplayDeadLetter, DiscardDeadLetter)
CORRECTING: Final = (ReviseDelivery, RecallDelivery)
CHANNEL: Final = (SendTelegram, ReplyOnTelegram, ReactOnTelegram, SendMail, ReplyByMail)
ACTS: Final = (*RECORD, *REPAIRING, *CORRECTING, *CHANNEL)
