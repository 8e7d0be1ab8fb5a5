"""One delivery's life, line by line."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.delivery_rows import a_call, a_delivery

from postroom.approvals.model import ApprovalEventType
from postroom.delivery.model import WaitKind, WaitReason
from postroom.delivery.reading.record import CallMade, KeptLetter, KeptNews, KeptRefusal, TracedDelivery
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import AttemptResult, QuarantineReason, Status
from postroom.message.inbound import NewsKind
from postroom.message.outgoing import AnswerStatus
from postroom.overview.story import ApprovalLine, DeliveryFile, Hop
from postroom.overview.timeline import timeline
from postroom.overview.why import Around

NOW = 1_800_000_000_000_000
SECOND = 1_000_000


def at(seconds: float) -> int:
    return NOW + round(seconds * SECOND)


def traced(attempts: tuple[CallMade, ...] = (), **changes: Any) -> TracedDelivery:
    stood: dict[str, Any] = {"created_at_us": at(-60), "terminal_at_us": at(-50), "not_before_us": at(-60)}
    beside = {name: changes.pop(name) for name in ("news", "letter") if name in changes}
    delivery = a_delivery(**stood | {"provider_delivery_id": "77"} | changes)
    return TracedDelivery(delivery=delivery, attempts=attempts, **beside)


def file(told: TracedDelivery, **more: Any) -> DeliveryFile:
    return DeliveryFile(traced=told, around=Around(), **more)


def attempt(
    number: int, when: float, outcome: AttemptResult, error: str | None = None, asked: str | None = None
) -> CallMade:
    return a_call(outcome, error, attempt_number=number, started_at_us=at(when), asked=asked)


def test_a_delivery_is_told_from_the_call_to_the_receipt() -> None:
    hop = Hop(
        request_id="r",
        source_butler="health",
        part="switchboard",
        channel="telegram",
        intent="send",
        status=AnswerStatus.OK,
        created_at_us=at(-61),
        delivery_id="d-1",
    )
    refusal = KeptRefusal(
        id="x",
        idempotency_key="",
        request_id="r",
        origin_butler="health",
        channel="telegram",
        intent="send",
        target_identity="1000",
        error_class="overload_rejected",
        error_message="too many",
        limit_type="recipient",
        retry_after_seconds=6.0,
        trace_id=None,
        created_at_us=at(-90),
        handed_by=None,
    )
    attempts = (
        attempt(2, -51, AttemptResult.SUCCESS),
        attempt(1, -59, AttemptResult.RETRYABLE_ERROR, "refused"),
    )

    told = [one.title for one in timeline(file(traced(attempts), hops=[hop], refusals=[refusal]), NOW)]

    assert told == [
        "Refused by a limit",
        "health asked for it",
        "Admitted and stored",
        "Attempt 1: Failed, may be retried",
        "Attempt 2: Success",
        "Delivered",
    ]


def test_what_is_still_to_come_stands_last() -> None:
    reason = WaitReason(kind=WaitKind.CIRCUIT, detail="open")
    waiting = traced(status=Status.PENDING, terminal_at_us=None, not_before_us=at(30), waiting=reason)

    last = timeline(file(waiting), NOW)[-1]

    said = "telegram was paused after repeated failures"
    assert (last.title, last.detail, last.tone) == ("The next try", said, "wait")


def test_decisions_discards_and_replays_are_part_of_the_story() -> None:
    letter = KeptLetter(
        id="l",
        quarantine_reason=QuarantineReason.RETRIES_EXHAUSTED,
        discarded_at_us=at(-5),
        discard_reason="not needed",
    )
    dead = traced(status=Status.DEAD_LETTERED, provider_delivery_id=None, letter=letter)
    again = {"delivery_id": DeliveryId("again"), "replay_of": DeliveryId("me"), "replay_number": 1}
    replay = a_delivery(**again, status=Status.FAILED, created_at_us=at(-20))
    approved = ApprovalLine(type=ApprovalEventType.ACTION_APPROVED, actor="operator", reason=None, at_us=at(-55))

    told = timeline(file(dead, siblings=[replay], approval_events=[approved]), NOW)

    assert [one.title for one in told] == [
        "Admitted and stored",
        "Approved",
        "Dead letter",
        "Replay 1: Failed",
        "Discarded",
    ]
    assert told[3].delivery_id == "again"


@pytest.mark.requirement("chan:asking-is-told", "chan:late-news")
def test_what_was_asked_and_what_came_later_is_told() -> None:
    looked = attempt(2, -51, AttemptResult.SUCCESS, asked="it was there")
    news = (
        KeptNews(kind=NewsKind.READ, event_id="1", words="", at_us=at(-20)),
        KeptNews(kind=NewsKind.BOUNCED, event_id="2", words="mailbox <full>", at_us=at(-10)),
    )

    told = timeline(file(traced((looked,), news=news)), NOW)

    assert [(one.title, one.tone, one.detail) for one in told if one.title in ("Attempt 2: Success", "Late news")] == [
        (
            "Attempt 2: Success",
            "good",
            "We asked telegram whether it had arrived: it was there. The call took 12 ms.",
        ),
        ("Late news", "good", "The provider said that it was read."),
        ("Late news", "bad", "The provider said that it bounced: mailbox <full>"),
    ]
