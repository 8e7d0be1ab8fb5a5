"""Why a delivery is where it is, in plain English."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from postroom.approvals.model import ActionStatus
from postroom.delivery.afterwards.rules import CorrectionAct, How, KeptCorrection
from postroom.delivery.model import WaitKind, WaitReason
from postroom.delivery.reading.record import (
    CallMade,
    DeliveryStanding,
    KeptLetter,
    KeptNews,
    KeptRefusal,
    TracedDelivery,
)
from postroom.delivery.rules.breaker import Circuit, CircuitState
from postroom.kernel.values.errors import shortened
from postroom.kernel.values.ids import SECOND_US, record
from postroom.kernel.values.zones import duration, relative
from postroom.message.delivery import AttemptResult, QuarantineReason, Status
from postroom.message.inbound import NewsKind

_HAPPENED: Final = {
    NewsKind.BOUNCED: "it bounced",
    NewsKind.FAILED: "it failed after all",
    NewsKind.DELAYED: "it is delayed",
    NewsKind.READ: "it was read",
    NewsKind.DELETED: "it was deleted",
}
_BY: Final = {How.EDIT: "by an edit", How.DELETE: "by deleting it", How.CORRECTION: "by another message in its thread"}
_VERBS: Final = {CorrectionAct.REVISE: "revised", CorrectionAct.RECALL: "recalled"}
_OVERDUE_US: Final = 60 * SECOND_US
_TOO_LONG_US: Final = 120 * SECOND_US
_REFUSED_BY: Final = {
    "provider": "the provider had asked us to slow down",
    "global_in_flight": "too many deliveries were under way at once",
    "global": "the household had sent as many messages as it may in a minute",
    "channel": "the channel had sent as many messages as it may in a minute",
    "recipient": "this person had been sent as many messages as we allow in a minute",
    "circuit": "the channel was paused after repeated failures",
}


# -- One paragraph on a delivery --


@record
class ApprovalStanding:
    """How a person decided on it, or has yet to."""

    status: ActionStatus
    expires_at_us: int
    decided_by: str | None = None
    decided_at_us: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """
    What is known besides the delivery's own record; None where nobody could be asked.

    `ahead` is how many deliveries to the same address go first, `closed` why nothing more is sent there.
    """

    circuit: Circuit | None = None
    throttle_seconds: float | None = None
    approval: ApprovalStanding | None = None
    ahead: int | None = None
    max_attempts: int | None = None
    closed: str | None = None


def why(traced: TracedDelivery, now_us: int, around: Around | None = None) -> str:
    around = around or Around()
    delivery, attempts = traced.delivery, traced.attempts
    match delivery.status:
        case Status.AWAITING_APPROVAL:
            told = _awaiting(around, now_us)
        case Status.PENDING:
            told = _pending(delivery, attempts, around, now_us)
        case Status.IN_PROGRESS:
            told = _in_progress(delivery, attempts, now_us)
        case Status.DELIVERED:
            told = _delivered(delivery, attempts, around, now_us)
        case Status.FAILED:
            told = _failed(traced, around, now_us)
        case Status.DEAD_LETTERED:
            told = _dead_lettered(delivery, attempts, traced.letter, now_us)
        case unreachable:
            assert_never(unreachable)
    corrected = _words_of_corrections(traced.corrections, traced.corrects, now_us)
    return " ".join([*told, *corrected, *_later(traced.news, now_us), *_closed(around), *_replayed(delivery)])


def why_refused(refusal: KeptRefusal, now_us: int) -> str:
    """For a request that was turned away at the door and never became a delivery."""
    reason = _REFUSED_BY.get(refusal.limit_type or "", refusal.error_message)
    when = relative(refusal.created_at_us, now_us)
    told = [f"It was refused {when}, before anything was stored, because {reason}."]
    if refusal.retry_after_seconds:
        told.append(f"The caller was told to try again after {duration(refusal.retry_after_seconds)}.")
    told.append("Nothing was sent, and the same request may be made again.")
    return " ".join(told)


def _awaiting(around: Around, now_us: int) -> list[str]:
    told = ["It has not been sent: a person must approve it first."]
    if around.approval is not None:
        expires_us = around.approval.expires_at_us
        told.append(
            f"Without an answer the request ends by itself {relative(expires_us, now_us)}."
            if expires_us > now_us
            else "Its time for an answer is over, so it will end without being sent."
        )
    return told


def _pending(delivery: DeliveryStanding, attempts: Sequence[CallMade], around: Around, now_us: int) -> list[str]:
    told = _waiting(delivery, attempts, around)
    next_us = delivery.not_before_us
    if next_us > now_us:
        return [*told, f"The next try is {relative(next_us, now_us)}."]
    if around.ahead:
        before = "1 message" if around.ahead == 1 else f"{around.ahead} messages"
        return [*told, f"Messages to one address leave one by one, and {before} to the same address must go first."]
    since_us = max(next_us, delivery.updated_at_us)
    if now_us - since_us > _OVERDUE_US:
        late = duration((now_us - since_us) / SECOND_US)
        return [*told, f"It has been due for {late}, so check that a messenger or a worker is running."]
    return [*told, "It is due now and will be taken by the next free worker."]


def _waiting(delivery: DeliveryStanding, attempts: Sequence[CallMade], around: Around) -> list[str]:
    """The recorded reason first; what the circuit and the provider say now explains it."""
    channel = delivery.channel
    match delivery.waiting:
        case None:
            pass
        case WaitReason(kind=WaitKind.CIRCUIT):
            return [f"It waits because {_paused(channel, around.circuit)}. Waiting uses up none of its attempts."]
        case WaitReason(kind=WaitKind.THROTTLE | WaitKind.PACE, asked_seconds=asked_seconds):
            cut = f" ({shortened(asked_seconds)})" if asked_seconds is not None else ""
            return [f"It waits because {channel} asked us to slow down{cut}. Waiting uses up none of its attempts."]
        case WaitReason(kind=WaitKind.DOUBT | WaitKind.SILENCE) if attempts:
            doubt = f"{_attempt_count(delivery, around)} left doubt ({_error(attempts[-1])})"
            return [f"{doubt}, so {channel} will be asked whether it arrived before it is sent again."]
        case WaitReason(kind=WaitKind.RETRY) if attempts:
            return [f"{_attempt_count(delivery, around)} failed ({_error(attempts[-1])}), so it will be tried again."]
        case other:
            return [f"It is stored and waits: {other.words(channel)}."]
    if around.throttle_seconds:
        return [f"It is stored and waits: {channel} asked us to slow down for {duration(around.throttle_seconds)}."]
    if around.circuit and around.circuit.state is CircuitState.OPEN:
        return [f"It is stored and waits: {_paused(channel, around.circuit)}."]
    return ["It is stored and waits for its turn."]


def _in_progress(delivery: DeliveryStanding, attempts: Sequence[CallMade], now_us: int) -> list[str]:
    since_us = delivery.updated_at_us
    told = [f"It is being sent: attempt {delivery.attempts + 1} began {relative(since_us, now_us)}."]
    if attempts:
        told.append(f"The attempt before ended badly ({_error(attempts[-1])}).")
    if now_us - since_us > _TOO_LONG_US:
        told.append("That is longer than any call may take; if its worker is gone, another one takes it over.")
    return told


def _delivered(delivery: DeliveryStanding, attempts: Sequence[CallMade], around: Around, now_us: int) -> list[str]:
    when = relative(delivery.ended_at_us, now_us)
    told = [f"It was delivered over {delivery.channel} {when}, {_which_attempt(attempts)}."]
    if (waited := _waited_for_approval(delivery, around)) is not None:
        told.append(f"Before that it waited {duration(waited)} for an approval.")
    if delivery.provider_delivery_id:
        told.append(f"The provider's own name for it is {delivery.provider_delivery_id}.")
    failures = [one for one in attempts if one.outcome is not AttemptResult.SUCCESS]
    if failures:
        told.append(f"Before that, the last failure was: {_error(failures[-1])}.")
    return [*told, *_asked(delivery, attempts), *_duplicate(delivery)]


def _waited_for_approval(delivery: DeliveryStanding, around: Around) -> float | None:
    approval = around.approval
    if approval is None or approval.status is not ActionStatus.APPROVED or approval.decided_at_us is None:
        return None
    waited_us = approval.decided_at_us - delivery.created_at_us
    return waited_us / SECOND_US if waited_us >= SECOND_US else None


def _failed(traced: TracedDelivery, around: Around, now_us: int) -> list[str]:
    delivery, attempts = traced.delivery, traced.attempts
    when = relative(delivery.ended_at_us, now_us)
    message = _why_sentence(delivery.terminal_error_message or delivery.terminal_error_class or "no reason")
    if (withdrawn := _words_of_withdrawal(traced.corrections, now_us)) is not None:
        return withdrawn
    approval = around.approval
    if approval and approval.status is ActionStatus.EXPIRED:
        return [f"It was not sent: nobody approved it in time, and the request ended {when}."]
    if approval and approval.status is ActionStatus.REJECTED:
        reason = f" The reason given: {_why_sentence(approval.reason)}" if approval.reason else ""
        return [f"It was not sent: {approval.decided_by or 'a person'} rejected it {when}.{reason}"]
    if not attempts:
        return [f"It was not sent and ended {when}: {message}"]
    told = f"It failed {when}, {_which_attempt(attempts)}: {message}"
    return [told, "Such an error is final: sending the same again would fail again.", *_duplicate(delivery)]


def _dead_lettered(
    delivery: DeliveryStanding, attempts: Sequence[CallMade], letter: KeptLetter | None, now_us: int
) -> list[str]:
    when = relative(delivery.ended_at_us, now_us)
    if letter and letter.quarantine_reason is QuarantineReason.OUTCOME_UNCERTAIN:
        told = [
            f"It was put aside {when}: {delivery.channel} was handed the message and never answered.",
            *_asked(delivery, attempts),
            "It may have arrived, and sending it again could deliver it twice, so a person should decide.",
        ]
    else:
        last = f"; the last one ended with: {_error(attempts[-1])}" if attempts else ""
        given_up = f"It was given up {when} after {_times(delivery.attempts, 'attempt')}{last}."
        told = [given_up, *_asked(delivery, attempts), *_duplicate(delivery)]
    return [*told, *_letter(letter, now_us)]


def _letter(letter: KeptLetter | None, now_us: int) -> list[str]:
    if letter and letter.discarded_at_us is not None:
        reason = _why_sentence(letter.discard_reason or "no reason was given")
        return [f"It was discarded {relative(letter.discarded_at_us, now_us)}: {reason}"]
    if letter and letter.replay_count:
        return [f"It has been replayed {_times(letter.replay_count, 'time')}."]
    return ["It stays with the dead letters until somebody replays or discards it."]


def _replayed(delivery: DeliveryStanding) -> list[str]:
    if delivery.replay_of is None:
        return []
    return [f"This is replay {delivery.replay_number} of delivery {delivery.replay_of}."]


def _asked(delivery: DeliveryStanding, attempts: Sequence[CallMade]) -> list[str]:
    """The last answer is the one that counted."""
    last = next((one.asked for one in reversed(attempts) if one.asked), None)
    return [] if last is None else [asked_first(delivery.channel, last)]


def _later(news: Sequence[KeptNews], now_us: int) -> list[str]:
    return [_why_sentence(said_later(one.kind, one.words, relative(one.at_us, now_us))) for one in news]


def _closed(around: Around) -> list[str]:
    return [_why_sentence(f"Nothing more is sent to this address: {around.closed}")] if around.closed else []


def _duplicate(delivery: DeliveryStanding) -> list[str]:
    if not delivery.possible_duplicate:
        return []
    return ["One call ended without a clear answer, so the person may have received it twice."]


def waiting_words(delivery: DeliveryStanding) -> str:
    """What a delivery waits for, in a person's words."""
    if delivery.waiting is None:
        return ""
    is_paused = delivery.waiting.kind is WaitKind.CIRCUIT
    return _paused(delivery.channel) if is_paused else delivery.waiting.words(delivery.channel)


def _paused(channel: str, circuit: Circuit | None = None) -> str:
    if circuit is None or circuit.state is CircuitState.CLOSED:
        return f"{channel} was paused after repeated failures"
    failed = f"{channel} is paused after {_times(circuit.failures, 'failure')} in a row"
    return f"{failed}, the last one: {circuit.reason}" if circuit.reason else failed


def _which_attempt(attempts: Sequence[CallMade]) -> str:
    return "at the first attempt" if len(attempts) <= 1 else f"after {len(attempts)} calls"


def _attempt_count(delivery: DeliveryStanding, around: Around) -> str:
    many = f"Attempt {delivery.attempts}"
    return f"{many} of {around.max_attempts}" if around.max_attempts else many


def _error(attempt: CallMade) -> str:
    if attempt.outcome is AttemptResult.UNCERTAIN:
        return f"no clear answer, {attempt.error_message}" if attempt.error_message else "no clear answer"
    return attempt.error_message or attempt.error_class or str(attempt.outcome)


def _times(many: int, what: str) -> str:
    return f"{many} {what}" if many == 1 else f"{many} {what}s"


def _why_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def asked_first(channel: str, answer: str) -> str:
    """For an attempt before which the provider was asked."""
    return f"We asked {channel} whether it had arrived: {answer}."


def said_later(kind: NewsKind, words: str, when: str = "") -> str:
    """The provider's words follow as they are."""
    told = f"The provider said{f' {when}' if when else ''} that {_HAPPENED[kind]}"
    return f"{told}: {words}" if words else f"{told}."


# -- Its corrections --


def _is_withdrawal(correction: KeptCorrection) -> bool:
    return correction.act is CorrectionAct.RECALL and correction.how is How.IN_PLACE


def _words_of_withdrawal(corrections: Sequence[KeptCorrection], now_us: int) -> list[str] | None:
    """None when it was not; otherwise that is why it ended."""
    one = next((one for one in corrections if _is_withdrawal(one)), None)
    if one is None:
        return None
    reason = f" The reason given: {one.reason.rstrip('.')}." if one.reason else ""
    return [f"It was not sent: {one.actor} withdrew it {relative(one.at_us, now_us)}.{reason}"]


def _words_of_corrections(
    corrections: Sequence[KeptCorrection], corrects: KeptCorrection | None, now_us: int
) -> list[str]:
    sentences = [_sentence(one, now_us) for one in corrections if not _is_withdrawal(one)]
    if corrects is not None:
        verb = "revises" if corrects.act is CorrectionAct.REVISE else "recalls"
        sentences.append(f"It {verb} delivery {corrects.delivery_id}, as {corrects.actor} asked.")
    return sentences


def _sentence(one: KeptCorrection, now_us: int) -> str:
    when = relative(one.at_us, now_us)
    if one.how is How.IN_PLACE:
        versions = f"version {one.version} replaced version {one.version - 1}"
        return f"Its text was revised before it was sent: {versions} {when}, by {one.actor}."
    state = str(one.status).replace("_", " ")
    return f"{one.actor} {_VERBS[one.act]} it {_BY[one.how]} {when}: delivery {one.carried_by}, {state}."
