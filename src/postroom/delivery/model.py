"""The words of delivery: what is written down, the right to try it, how a try ends, and what is left of it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from operator import attrgetter
from typing import Any, Final

from postroom.kernel.values.errors import RETRYABLE, ErrorClass, PostroomError, error_of
from postroom.kernel.values.ids import SECOND_US, DeadLetterId, DeliveryId, record
from postroom.message.attachment import Attachment
from postroom.message.delivery import (
    AttemptResult,
    DeliveryFailure,
    Format,
    Intent,
    Message,
    OnUncertain,
    Priority,
    ProviderAnswer,
    QuarantineReason,
    Receipt,
    Status,
    folded,
)
from postroom.message.markup import Markup, Revision
from postroom.message.outgoing import AnswerStatus, Outcome, answer_to

PRIORITY_RANK: dict[Priority, int] = {Priority.HIGH: 0, Priority.MEDIUM: 1, Priority.LOW: 2}
FIRST_FENCE = 1  # of whoever wrote the row; every claim on it has a higher one, even the first on one left pending
DATED_AHEAD_US: Final = 60 * SECOND_US
"""As far as the clocks of two hosts may disagree: what is dated further ahead is from a clock that was set back."""
REACHES_BACK_US: Final = 86_400 * SECOND_US
"""How long ago a call may have been that such a clock has dated."""


@record
class Carried:
    """What every attempt at a delivery has to know of it, from the first to the last."""

    id: DeliveryId
    request_id: str
    origin_butler: str
    channel: str
    intent: Intent
    address: str
    thread: str | None
    message: str
    subject: str | None
    emoji: str | None
    priority: Priority
    on_uncertain: OnUncertain
    created_at_us: int
    trace_id: str | None = None
    markup: Markup | None = None
    revises: Revision | None = None
    replay_of: DeliveryId | None = None
    format: Format = Format.PLAIN
    attachments: tuple[Attachment, ...] = ()

    @property
    def order_key(self) -> str:
        """Those with the same key leave one by one: each sender's in the order they came, several senders' in turns."""
        return f"{self.channel}:{folded(self.address)}"

    @property
    def file_bytes(self) -> int:
        return sum(one.size for one in self.attachments) if self.attachments else 0

    def carried(self) -> dict[str, Any]:
        """By name, for another that carries the same."""
        return dict(zip(_CARRIED, _carried(self), strict=True))

    def to_message(self, *, repeated: bool = False) -> Message:
        return Message(
            delivery_id=self.replay_of or self.id,  # one message under one key, however often it is sent
            intent=self.intent,
            address=self.address,
            text=self.message,
            subject=self.subject,
            emoji=self.emoji,
            thread=self.thread,
            origin_butler=self.origin_butler,
            priority=self.priority,
            repeated=repeated,
            markup=self.markup,
            revises=self.revises,
            format=self.format,
            attachments=self.attachments,
        )


_CARRIED: Final = tuple(field.name for field in fields(Carried))
_carried: Final = attrgetter(*_CARRIED)


@record
class NewDelivery(Carried):
    """
    A delivery that is about to be written down. `status` is pending, or awaiting_approval.

    `asker` and `repeats` are those of its message; what is `urgent` has a part in the recipient's reserve.
    """

    idempotency_key: str
    fingerprint: str
    target_identity: str
    envelope: str
    status: Status = Status.PENDING
    replay_number: int | None = None
    asker: str | None = None
    repeats: bool = False
    urgent: bool = False
    handed_by: str | None = None

    @property
    def agent(self) -> str:
        """Whose words they are: rules, quotas and limits are about that agent."""
        return self.asker or self.origin_butler

    def claimed(self, *, sending: bool) -> Claim:
        """The claim of whoever wrote the row, and leased it in doing so."""
        return Claim(
            **self.carried(),
            fence=FIRST_FENCE,
            attempts=0,
            calls=0,
            parts_done=0,
            sending=sending,
            possible_duplicate=False,
        )


@record
class Lease:
    """Until when a row is its writer's; `sending` when the call is made as soon as the row stands."""

    until_us: int
    sending: bool = False


@record
class Claim(Carried):
    """
    The right to make the next attempt, good until the lease ends or the fence moves on.

    `doubtful_since_us`: the first call that left nobody knowing whether the next part arrived began then.
    """

    fence: int
    attempts: int
    calls: int
    parts_done: int
    sending: bool
    possible_duplicate: bool
    doubtful_since_us: int | None = None

    @property
    def is_edit(self) -> bool:
        """The next part changes what stands already, and the same edit twice is one edit; what is added comes last."""
        return self.revises is not None and (self.revises.deletes or self.parts_done < len(self.revises.worded))


@record
class Inserted:
    """`claim` is there when the row was written already leased to the one who wrote it."""

    created: bool
    snapshot: Snapshot
    claim: Claim | None = None


class WaitKind(StrEnum):
    CIRCUIT = "circuit"  # the channel is paused after failures
    THROTTLE = "throttle"  # the provider refused it as too much
    PACE = "pace"  # the channel asks for time between messages to one address
    RETRY = "retry"
    DOUBT = "doubt"  # nobody knows whether it arrived, so the provider is asked first
    SILENCE = "silence"  # it was asked and could not say
    OURSELVES = "ourselves"  # something of this household was away


_WAITING_WORDS: Final = {
    WaitKind.CIRCUIT: "the circuit of {channel} is {detail}",
    WaitKind.THROTTLE: "throttled by the provider: {detail}",
    WaitKind.PACE: "{channel} asked us to wait",
    WaitKind.RETRY: "retry after {detail}",
    WaitKind.DOUBT: "ask whether it arrived after {detail}",
    WaitKind.SILENCE: "ask whether it arrived: {detail}",
    WaitKind.OURSELVES: "{detail}",
}


@record
class WaitReason:
    """Why a stored delivery is not on its way, as it was decided; `asked_seconds` are more than what was granted."""

    kind: WaitKind
    detail: str = ""
    asked_seconds: float | None = None

    def words(self, channel: str) -> str:
        """The `waiting_reason` of every answer."""
        return _WAITING_WORDS[self.kind].format(channel=channel, detail=self.detail)


@record
class Snapshot:
    """A delivery as anyone may see it: no content. Who waits for one is told without its key and its fingerprint."""

    id: DeliveryId
    request_id: str
    origin_butler: str
    channel: str
    intent: Intent
    status: Status
    not_before_us: int
    idempotency_key: str = ""
    fingerprint: str = ""
    attempts: int = 0
    possible_duplicate: bool = False
    waiting: WaitReason | None = None
    provider_delivery_id: str | None = None
    in_one_part: bool = False
    failure: DeliveryFailure | None = None


@record
class SentMessage:
    """
    A delivery that has arrived: where, for whom, and the provider's names for its parts, in order.

    `conversation`: where they stand, as the receipts said; None when that is the address. `files`: how many of the
    last parts are files. `more` were added by revisions, and `gone` taken away again.
    """

    id: DeliveryId
    origin_butler: str
    channel: str
    address: str
    provider_ids: tuple[str, ...]
    conversation: str | None = None
    files: int = 0
    more: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def revision(self, *, deletes: bool = False) -> Revision:
        return Revision(
            delivery_id=self.id,
            provider_ids=self.provider_ids,
            conversation=self.conversation,
            files=self.files,
            deletes=deletes,
            more=self.more,
            gone=self.gone,
        )


@record
class SendAttempt:
    """
    One call to a provider, as it is kept; `asked` when it was asked first whether the message was there already.

    `response`: of a call that failed, what the provider answered, or why no answer came.
    """

    started_at_us: int
    completed_at_us: int
    outcome: AttemptResult
    failure: DeliveryFailure | None = None
    response: str | None = None
    asked: ProviderAnswer | None = None

    @property
    def latency_ms(self) -> float:
        return (self.completed_at_us - self.started_at_us) / 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    id: DeadLetterId
    reason: QuarantineReason


@record
class Settlement:
    """How a claim ended. Written only while the fence still stands."""

    claim: Claim
    status: Status
    at_us: int
    not_before_us: int
    attempts: int
    attempt: SendAttempt | None = None
    receipt: Receipt | None = None
    failure: DeliveryFailure | None = None
    possible_duplicate: bool = False
    doubtful_since_us: int | None = None
    waiting: WaitReason | None = None
    quarantine: Quarantine | None = None

    def snapshot(self) -> Snapshot:
        """What a waiting caller is told, without reading the row again."""
        claim = self.claim
        return Snapshot(
            id=claim.id,
            request_id=claim.request_id,
            origin_butler=claim.origin_butler,
            channel=claim.channel,
            intent=claim.intent,
            status=self.status,
            attempts=self.attempts,
            possible_duplicate=self.possible_duplicate,
            not_before_us=self.not_before_us,
            waiting=self.waiting,
            provider_delivery_id=self.receipt.provider_id if self.receipt else None,
            in_one_part=self.receipt is not None and claim.parts_done == 0,
            failure=self.failure,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A request that was turned away: a trace of it, but its key stays unused."""

    id: str
    idempotency_key: str
    request_id: str
    origin_butler: str
    channel: str
    intent: Intent
    target_identity: str
    failure: DeliveryFailure
    limit_type: str | None
    trace_id: str | None
    created_at_us: int
    handed_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedCall:
    """A call of the switchboard that led to nothing; of an envelope that may be anything, what can be read from it."""

    request_id: str
    source: str
    channel: object
    intent: object
    failure: DeliveryFailure
    at_us: int


def outcome_of(snapshot: Snapshot, *, request_id: str) -> Outcome:
    """A failed delivery is never wrapped in an `ok`."""
    status = answer_to(snapshot.status)
    failed = status is AnswerStatus.ERROR
    return Outcome(
        status=status,
        request_id=request_id,
        channel=snapshot.channel,
        delivery_id=snapshot.id,
        delivery_status=snapshot.status,
        provider_delivery_id=snapshot.provider_delivery_id,
        in_one_part=snapshot.in_one_part,
        possible_duplicate=snapshot.possible_duplicate,
        waiting_reason=snapshot.waiting.words(snapshot.channel) if snapshot.waiting else None,
        error=_failure(snapshot) if failed else None,
        retryable=failed and _is_retryable(snapshot),
    )


def _failure(snapshot: Snapshot) -> PostroomError:
    failure = snapshot.failure or DeliveryFailure(ErrorClass.INTERNAL, "")
    return error_of(failure.error_class, failure.message)


def _is_retryable(snapshot: Snapshot) -> bool:
    """A dead letter is kept for replay, so sending it anew would make a second one."""
    failure = snapshot.failure
    return failure is not None and failure.error_class in RETRYABLE and snapshot.status is Status.FAILED


# -- Dead letters: a delivery that was given up, and what may become of it ---


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierReplay:
    delivery_id: DeliveryId
    number: int
    status: Status


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """
    One dead letter together with its lineage.

    The lineage is the original delivery and everything replayed from it. When
    any attempt in it is uncertain, the person may already have the message.
    """

    id: DeadLetterId
    delivery_id: DeliveryId
    original_delivery_id: DeliveryId
    request_id: str
    idempotency_key: str
    origin_butler: str
    channel: str
    intent: Intent
    target_identity: str
    quarantine_reason: QuarantineReason
    error_class: str | None
    error_summary: str | None
    total_attempts: int
    replay_count: int
    discarded_at_us: int | None
    discard_reason: str | None
    created_at_us: int
    replays: tuple[EarlierReplay, ...]
    uncertain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The new delivery a replay makes; its content is the dead letter's own."""

    delivery_id: DeliveryId
    number: int
    idempotency_key: str
    possible_duplicate: bool
    at_us: int
    trace_id: str | None


@dataclass(frozen=True, slots=True)
class ReplayRefused:
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Discard:
    """`fresh` is false when the letter had been discarded before; the data are then the first one's."""

    at_us: int
    reason: str
    fresh: bool
