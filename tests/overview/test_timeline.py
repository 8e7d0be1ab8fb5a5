"""One delivery's life, line by line."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.kernel.values.ids import to_text
from postroom.overview.timeline import timeline

NOW = 1_800_000_000_000_000
SECOND = 1_000_000


def at(seconds: float) -> str:
    return to_text(NOW + round(seconds * SECOND))


def file(**more: Any) -> dict[str, Any]:
    delivery = {
        "delivery_id": "me",
        "status": "delivered",
        "channel": "telegram",
        "created_at": at(-60),
        "terminal_at": at(-50),
        "terminal_error_message": None,
        "provider_delivery_id": "77",
        "not_before": at(-60),
        "waiting_reason": None,
        "replay_of": None,
        "replay_number": None,
        "receipts": [],
        "dead_letter": None,
        **more.pop("delivery", {}),
    }
    empty: dict[str, Any] = {"attempts": [], "siblings": [], "hops": [], "refusals": [], "approval_events": []}
    return {"delivery": delivery, **empty, **more}


def attempt(number: int, when: float, outcome: str, error: str | None = None) -> dict[str, Any]:
    return {
        "attempt_number": number,
        "started_at": at(when),
        "latency_ms": 12.0,
        "outcome": outcome,
        "error_class": "timeout" if error else None,
        "error_message": error,
        "provider_response": None,
    }


def test_a_delivery_is_told_from_the_call_to_the_receipt() -> None:
    hop = {
        "created_at": at(-61),
        "source_butler": "health",
        "part": "switchboard",
        "delivery_id": "d-1",
        "error_message": None,
    }
    refusal = {
        "created_at": at(-90),
        "limit_type": "recipient",
        "error_message": "too many",
        "retry_after_seconds": 6.0,
    }
    attempts = [attempt(2, -51, "success"), attempt(1, -59, "retryable_error", "refused")]

    told = [one.title for one in timeline(file(hops=[hop], refusals=[refusal], attempts=attempts), NOW)]

    assert told == [
        "Refused by a limit",
        "health asked for it",
        "Admitted and stored",
        "Attempt 1: Failed, may be retried",
        "Attempt 2: Success",
        "Delivered",
    ]


def test_what_is_still_to_come_stands_last() -> None:
    reason = "the circuit of telegram is open"
    waiting = {"status": "pending", "terminal_at": None, "not_before": at(30), "waiting_reason": reason}

    last = timeline(file(delivery=waiting), NOW)[-1]

    said = "telegram was paused after repeated failures"
    assert (last.title, last.detail, last.tone) == ("The next try", said, "wait")


def test_decisions_discards_and_replays_are_part_of_the_story() -> None:
    dead = {
        "status": "dead_lettered",
        "dead_letter": {"discarded_at": at(-5), "discard_reason": "not needed"},
        "provider_delivery_id": None,
    }
    replay = {
        "delivery_id": "again",
        "replay_of": "me",
        "replay_number": 1,
        "status": "failed",
        "created_at": at(-20),
    }
    events = [{"type": "action_approved", "actor": "operator", "reason": None, "at": at(-55)}]

    told = timeline(file(delivery=dead, siblings=[replay], approval_events=events), NOW)

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
    looked = attempt(2, -51, "success") | {"asked": "it was there"}
    news = [
        {"kind": "read", "event_id": "1", "words": "", "at": at(-20)},
        {"kind": "bounced", "event_id": "2", "words": "mailbox <full>", "at": at(-10)},
    ]

    told = timeline(file(attempts=[looked], delivery={"news": news}), NOW)

    assert [(one.title, one.tone, one.detail) for one in told if one.title in ("Attempt 2: Success", "Late news")] == [
        (
            "Attempt 2: Success",
            "good",
            "We asked telegram whether it had arrived: it was there. The call took 12 ms.",
        ),
        ("Late news", "good", "The provider said that it was read."),
        ("Late news", "bad", "The provider said that it bounced: mailbox <full>"),
    ]
