"""Why a delivery is where it is, in plain English, and what its sender is told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, assert_never

from postroom.attention.model import is_notice_id
from postroom.delivery.afterwards.rules import CorrectionAct, How
from postroom.delivery.model import Snapshot, outcome_of
from postroom.delivery.reading.file import read_uuid
from postroom.delivery.rules.breaker import CircuitState
from postroom.delivery.rules.retry import ASKS_FIRST
from postroom.delivery.seams import Ledger
from postroom.kernel.values.errors import ErrorClass, PostroomError, ValidationError, said_so
from postroom.kernel.values.ids import SECOND_US, DeliveryId, parse_text
from postroom.kernel.values.zones import duration, relative
from postroom.message.delivery import AttemptResult, DeliveryFailure, Intent, QuarantineReason, Status
from postroom.message.inbound import NewsKind
from postroom.message.wire import notify_error, notify_response

if TYPE_CHECKING:  # to say why asks no store of notices
    from postroom.attention.attention import NoticeOutcomes
    from postroom.overview.story import StoredDeliveries

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
_CIRCUIT: Final = "the circuit of"  # how the record begins the reason of a paused channel
_REFUSED_BY: Final = {
    "provider": "the provider had asked us to slow down",
    "global_in_flight": "too many deliveries were under way at once",
    "global": "the household had sent as many messages as it may in a minute",
    "channel": "the channel had sent as many messages as it may in a minute",
    "recipient": "this person had been sent as many messages as we allow in a minute",
    "circuit": "the channel was paused after repeated failures",
}
Row = Mapping[str, Any]


# -- One paragraph on a delivery --


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """
    What is known besides the delivery's own record; None where nobody could be asked.

    `circuit` is the channel's entry of `messenger_circuit_status`, `throttle_seconds`
    its entry of `provider_throttles`, `approval` a pending action (`status`,
    `expires_at`, `decided_by`, `decided_at`, `reason`), `dead_letter` a row of the
    dead letters, `ahead` how many deliveries to the same address go first, `corrections` what was asked to
    put it right, and `corrects` the correction that it carries itself.
    """

    circuit: Row | None = None
    throttle_seconds: float | None = None
    approval: Row | None = None
    dead_letter: Row | None = None
    ahead: int | None = None
    max_attempts: int | None = None
    corrections: Sequence[Row] = ()
    corrects: Row | None = None
    closed: str | None = None
    """Why nothing more is sent to its address."""


def why(delivery: Row, attempts: Sequence[Row], now_us: int, around: Around | None = None) -> str:
    """`delivery` and `attempts` as the trace shows them: texts for times, the delivery's columns by name."""
    around = around or Around()
    match Status(delivery["status"]):
        case Status.AWAITING_APPROVAL:
            told = _awaiting(around, now_us)
        case Status.PENDING:
            told = _pending(delivery, attempts, around, now_us)
        case Status.IN_PROGRESS:
            told = _in_progress(delivery, attempts, now_us)
        case Status.DELIVERED:
            told = _delivered(delivery, attempts, around, now_us)
        case Status.FAILED:
            told = _failed(delivery, attempts, around, now_us)
        case Status.DEAD_LETTERED:
            told = _dead_lettered(delivery, attempts, around, now_us)
        case unreachable:
            assert_never(unreachable)
    corrected = _words_of_corrections(around.corrections, around.corrects, now_us)
    return " ".join([*told, *corrected, *_later(delivery, now_us), *_closed(around), *_replayed(delivery)])


def why_refused(refusal: Row, now_us: int) -> str:
    """For a request that was turned away at the door and never became a delivery."""
    reason = _REFUSED_BY.get(str(refusal.get("limit_type")), str(refusal["error_message"]))
    when = relative(parse_text(refusal["created_at"]), now_us)
    told = [f"It was refused {when}, before anything was stored, because {reason}."]
    if wait := refusal.get("retry_after_seconds"):
        told.append(f"The caller was told to try again after {duration(wait)}.")
    told.append("Nothing was sent, and the same request may be made again.")
    return " ".join(told)


def _awaiting(around: Around, now_us: int) -> list[str]:
    told = ["It has not been sent: a person must approve it first."]
    if around.approval and around.approval.get("expires_at"):
        expires_us = _moment(around.approval["expires_at"])
        told.append(
            f"Without an answer the request ends by itself {relative(expires_us, now_us)}."
            if expires_us > now_us
            else "Its time for an answer is over, so it will end without being sent."
        )
    return told


def _pending(delivery: Row, attempts: Sequence[Row], around: Around, now_us: int) -> list[str]:
    told = _waiting(delivery, attempts, around)
    next_us = _next_attempt_us(delivery)
    if next_us is not None and next_us > now_us:
        return [*told, f"The next try is {relative(next_us, now_us)}."]
    if around.ahead:
        before = "1 message" if around.ahead == 1 else f"{around.ahead} messages"
        return [*told, f"Messages to one address leave one by one, and {before} to the same address must go first."]
    since_us = max(next_us or 0, _moment(delivery["updated_at"]))
    if now_us - since_us > _OVERDUE_US:
        late = duration((now_us - since_us) / SECOND_US)
        return [*told, f"It has been due for {late}, so check that a messenger or a worker is running."]
    return [*told, "It is due now and will be taken by the next free worker."]


def _waiting(delivery: Row, attempts: Sequence[Row], around: Around) -> list[str]:
    """The recorded reason first; what the circuit and the provider say now explains it."""
    reason, channel = str(delivery.get("waiting_reason") or ""), delivery["channel"]
    if reason.startswith(_CIRCUIT):
        return [f"It waits because {_paused(channel, around.circuit)}. Waiting uses up none of its attempts."]
    if reason.startswith("throttled by the provider") or reason.endswith("asked us to wait"):
        cut = f" ({said})" if (said := said_so(reason)) else ""
        return [f"It waits because {channel} asked us to slow down{cut}. Waiting uses up none of its attempts."]
    if attempts and reason.startswith(ASKS_FIRST):
        doubt = f"{_attempt_count(delivery, around)} left doubt ({_error(attempts[-1])})"
        return [f"{doubt}, so {channel} will be asked whether it arrived before it is sent again."]
    if attempts and reason.startswith("retry after"):
        return [f"{_attempt_count(delivery, around)} failed ({_error(attempts[-1])}), so it will be tried again."]
    if reason:
        return [f"It is stored and waits: {reason}."]
    if around.throttle_seconds:
        return [f"It is stored and waits: {channel} asked us to slow down for {duration(around.throttle_seconds)}."]
    if around.circuit and around.circuit.get("state") == CircuitState.OPEN:
        return [f"It is stored and waits: {_paused(channel, around.circuit)}."]
    return ["It is stored and waits for its turn."]


def _in_progress(delivery: Row, attempts: Sequence[Row], now_us: int) -> list[str]:
    since_us = _moment(delivery["updated_at"])
    told = [f"It is being sent: attempt {_used(delivery) + 1} began {relative(since_us, now_us)}."]
    if attempts:
        told.append(f"The attempt before ended badly ({_error(attempts[-1])}).")
    if now_us - since_us > _TOO_LONG_US:
        told.append("That is longer than any call may take; if its worker is gone, another one takes it over.")
    return told


def _delivered(delivery: Row, attempts: Sequence[Row], around: Around, now_us: int) -> list[str]:
    when = relative(_moment(delivery.get("terminal_at") or delivery["updated_at"]), now_us)
    told = [f"It was delivered over {delivery['channel']} {when}, {_which_attempt(attempts)}."]
    if (waited := _waited_for_approval(delivery, around)) is not None:
        told.append(f"Before that it waited {duration(waited)} for an approval.")
    if provider_id := delivery.get("provider_delivery_id"):
        told.append(f"The provider's own name for it is {provider_id}.")
    failures = [one for one in attempts if one["outcome"] != AttemptResult.SUCCESS]
    if failures:
        told.append(f"Before that, the last failure was: {_error(failures[-1])}.")
    return [*told, *_asked(delivery, attempts), *_duplicate(delivery)]


def _waited_for_approval(delivery: Row, around: Around) -> float | None:
    approval = around.approval or {}
    if approval.get("status") != "approved" or not approval.get("decided_at"):
        return None
    waited_us = _moment(approval["decided_at"]) - _moment(delivery["created_at"])
    return waited_us / SECOND_US if waited_us >= SECOND_US else None


def _failed(delivery: Row, attempts: Sequence[Row], around: Around, now_us: int) -> list[str]:
    when = relative(_moment(delivery.get("terminal_at") or delivery["updated_at"]), now_us)
    message = _why_sentence(
        delivery.get("terminal_error_message") or delivery.get("terminal_error_class") or "no reason"
    )
    if (withdrawn := _words_of_withdrawal(around.corrections, now_us)) is not None:
        return withdrawn
    approval = around.approval
    if approval and approval.get("status") in ("rejected", "expired"):
        if approval["status"] == "expired":
            return [f"It was not sent: nobody approved it in time, and the request ended {when}."]
        reason = f" The reason given: {_why_sentence(approval['reason'])}" if approval.get("reason") else ""
        return [f"It was not sent: {approval.get('decided_by') or 'a person'} rejected it {when}.{reason}"]
    if not attempts:
        return [f"It was not sent and ended {when}: {message}"]
    told = f"It failed {when}, {_which_attempt(attempts)}: {message}"
    return [told, "Such an error is final: sending the same again would fail again.", *_duplicate(delivery)]


def _dead_lettered(delivery: Row, attempts: Sequence[Row], around: Around, now_us: int) -> list[str]:
    letter = around.dead_letter or delivery.get("dead_letter") or {}
    when = relative(_moment(delivery.get("terminal_at") or delivery["updated_at"]), now_us)
    if letter.get("quarantine_reason") == QuarantineReason.OUTCOME_UNCERTAIN:
        told = [
            f"It was put aside {when}: {delivery['channel']} was handed the message and never answered.",
            *_asked(delivery, attempts),
            "It may have arrived, and sending it again could deliver it twice, so a person should decide.",
        ]
    else:
        last = f"; the last one ended with: {_error(attempts[-1])}" if attempts else ""
        given_up = f"It was given up {when} after {_times(_used(delivery), 'attempt')}{last}."
        told = [given_up, *_asked(delivery, attempts), *_duplicate(delivery)]
    return [*told, *_letter(letter, now_us)]


def _letter(letter: Row, now_us: int) -> list[str]:
    if letter.get("discarded_at"):
        reason = _why_sentence(letter.get("discard_reason") or "no reason was given")
        return [f"It was discarded {relative(_moment(letter['discarded_at']), now_us)}: {reason}"]
    if letter.get("replay_count"):
        return [f"It has been replayed {_times(letter['replay_count'], 'time')}."]
    return ["It stays with the dead letters until somebody replays or discards it."]


def _replayed(delivery: Row) -> list[str]:
    if not delivery.get("replay_of"):
        return []
    return [f"This is replay {delivery['replay_number']} of delivery {delivery['replay_of']}."]


def _asked(delivery: Row, attempts: Sequence[Row]) -> list[str]:
    """The last answer is the one that counted."""
    last = next((one for one in reversed(attempts) if one.get("asked")), None)
    return [] if last is None else [asked_first(delivery["channel"], last)]


def _later(delivery: Row, now_us: int) -> list[str]:
    news = delivery.get("news") or ()
    return [_why_sentence(said_later(one, relative(_moment(one["at"]), now_us))) for one in news]


def _closed(around: Around) -> list[str]:
    return [_why_sentence(f"Nothing more is sent to this address: {around.closed}")] if around.closed else []


def _duplicate(delivery: Row) -> list[str]:
    if not delivery.get("possible_duplicate"):
        return []
    return ["One call ended without a clear answer, so the person may have received it twice."]


def waiting_words(delivery: Row) -> str:
    """What a delivery waits for, as the record has it but in a person's words."""
    reason = str(delivery.get("waiting_reason") or "")
    return _paused(delivery["channel"]) if reason.startswith(_CIRCUIT) else reason


def _paused(channel: str, circuit: Row | None = None) -> str:
    if not circuit or circuit.get("state") == CircuitState.CLOSED:
        return f"{channel} was paused after repeated failures"
    failed = f"{channel} is paused after {_times(circuit['consecutive_failures'], 'failure')} in a row"
    return f"{failed}, the last one: {circuit['trip_reason']}" if circuit.get("trip_reason") else failed


def _which_attempt(attempts: Sequence[Row]) -> str:
    return "at the first attempt" if len(attempts) <= 1 else f"after {len(attempts)} calls"


def _used(delivery: Row) -> int:
    """The trace has the attempts themselves under the name of their number."""
    attempts = delivery["attempts"]
    return attempts if isinstance(attempts, int) else len(attempts)


def _attempt_count(delivery: Row, around: Around) -> str:
    many = f"Attempt {_used(delivery)}"
    return f"{many} of {around.max_attempts}" if around.max_attempts else many


def _error(attempt: Row) -> str:
    if attempt["outcome"] == AttemptResult.UNCERTAIN:
        return f"no clear answer, {attempt['error_message']}" if attempt.get("error_message") else "no clear answer"
    return str(attempt.get("error_message") or attempt.get("error_class") or attempt["outcome"])


def _next_attempt_us(delivery: Row) -> int | None:
    moment = delivery.get("next_attempt_at") or delivery.get("not_before")
    return _moment(moment) if moment else None


def _moment(value: str) -> int:
    return parse_text(value)


def _times(many: int, what: str) -> str:
    return f"{many} {what}" if many == 1 else f"{many} {what}s"


def _why_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def asked_first(channel: str, attempt: Mapping[str, Any]) -> str:
    """For an attempt before which the provider was asked."""
    return f"We asked {channel} whether it had arrived: {attempt['asked']}."


def said_later(news: Mapping[str, Any], when: str = "") -> str:
    """The provider's words follow as they are."""
    told = f"The provider said{f' {when}' if when else ''} that {_HAPPENED[NewsKind(news['kind'])]}"
    return f"{told}: {news['words']}" if news["words"] else f"{told}."


# -- Its corrections, from the rows that the trace shows --


def _is_withdrawal(correction: Row) -> bool:
    return bool(correction["act"] == CorrectionAct.RECALL and correction["how"] == How.IN_PLACE)


def _words_of_withdrawal(corrections: Sequence[Row], now_us: int) -> list[str] | None:
    """None when it was not; otherwise that is why it ended."""
    one = next((one for one in corrections if _is_withdrawal(one)), None)
    if one is None:
        return None
    reason = f" The reason given: {one['reason'].rstrip('.')}." if one.get("reason") else ""
    return [f"It was not sent: {one['actor']} withdrew it {_when(one, now_us)}.{reason}"]


def _words_of_corrections(corrections: Sequence[Row], corrects: Row | None, now_us: int) -> list[str]:
    sentences = [_sentence(one, now_us) for one in corrections if not _is_withdrawal(one)]
    if corrects is not None:
        verb = "revises" if corrects["act"] == CorrectionAct.REVISE else "recalls"
        sentences.append(f"It {verb} delivery {corrects['delivery_id']}, as {corrects['actor']} asked.")
    return sentences


def _sentence(one: Row, now_us: int) -> str:
    when = _when(one, now_us)
    if one["how"] == How.IN_PLACE:
        versions = f"version {one['version']} replaced version {one['version'] - 1}"
        return f"Its text was revised before it was sent: {versions} {when}, by {one['actor']}."
    verb, by = _VERBS[CorrectionAct(one["act"])], _BY[How(one["how"])]
    state = str(one["status"]).replace("_", " ")
    return f"{one['actor']} {verb} it {by} {when}: delivery {one['delivery_id']}, {state}."


def _when(one: Row, now_us: int) -> str:
    return relative(parse_text(one["at"]), now_us)


# -- What became of a delivery, for the butler that sent it and for no other --


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderStatus:
    record: StoredDeliveries
    replays: Ledger
    notices: NoticeOutcomes | None = None

    async def answer(self, sender: str, delivery_id: object) -> dict[str, Any]:
        """A delivery of somebody else's is as unknown as one that never was. An id may be a notice's as well."""
        try:
            if isinstance(delivery_id, str) and is_notice_id(delivery_id):
                return await self._of_notice(sender, delivery_id)
            known = read_uuid(delivery_id, "delivery_id")
            found = await self._found(known)
            if found is None or found["origin_butler"] != sender:
                raise ValidationError(f"Delivery {known} not found")
            answer = _as_answer(found, await self.record.approval(known))
            answer["delivery"]["news"] = [_news(one) for one in await self.record.news(found["delivery_id"])]
            return answer
        except PostroomError as error:
            return notify_error(error)

    async def _of_notice(self, sender: str, notice_id: str) -> dict[str, Any]:
        outcome = await self.notices.of(sender, notice_id) if self.notices is not None else None
        if outcome is None:
            raise ValidationError(f"Notice {notice_id} not found")
        return notify_response(outcome)

    async def _found(self, delivery_id: str) -> dict[str, Any] | None:
        found = await self.record.delivery(delivery_id)
        if found is None or found["status"] != Status.DEAD_LETTERED:
            return found
        latest = await self.replays.find(found["idempotency_key"])
        return found if latest is None or latest.id == delivery_id else await self.record.delivery(latest.id)


def _as_answer(row: Row, approval: Row | None) -> dict[str, Any]:
    answer = notify_response(outcome_of(_snapshot(row), request_id=row["request_id"]))
    answer["delivery"] |= {
        "attempts": row["attempts"],
        "possible_duplicate": bool(row["possible_duplicate"]),
        "last_error": _last_error(row),
        "next_attempt_at": row["next_attempt_at"],
        "approval": _decision(approval) if approval else None,
    }
    return answer


def _last_error(row: Row) -> dict[str, Any] | None:
    """Of the last call that was made; of the delivery itself when none was."""
    if last := row["latest_attempt"]:
        failed = last["outcome"] != AttemptResult.SUCCESS
        return {"class": last["error_class"], "message": last["error_message"]} if failed else None
    failure = _failure(row)
    return {"class": str(failure.error_class), "message": failure.message} if failure else None


def _news(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in ("kind", "words", "at")}


def _decision(approval: Row) -> dict[str, Any]:
    """Not who decided: that is for people."""
    return {name: approval[name] for name in ("status", "reason", "decided_at", "expires_at")}


def _snapshot(row: Row) -> Snapshot:
    return Snapshot(
        id=DeliveryId(row["delivery_id"]),
        idempotency_key=row["idempotency_key"],
        fingerprint="",
        request_id=row["request_id"],
        origin_butler=row["origin_butler"],
        channel=row["channel"],
        intent=Intent(row["intent"]),
        status=Status(row["status"]),
        attempts=row["attempts"],
        possible_duplicate=bool(row["possible_duplicate"]),
        not_before_us=0,
        waiting_reason=row["waiting_reason"],
        provider_delivery_id=row["provider_delivery_id"],
        failure=_failure(row),
    )


def _failure(row: Row) -> DeliveryFailure | None:
    error_class = row["terminal_error_class"]
    return DeliveryFailure(ErrorClass(error_class), row["terminal_error_message"] or "") if error_class else None
