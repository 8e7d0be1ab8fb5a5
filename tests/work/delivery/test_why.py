"""Why a delivery is where it is, told from its record."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.domain.delivery import AttemptResult, QuarantineReason, Status
from postroom.domain.patience import shortened
from postroom.domain.time import seconds, to_text
from postroom.work.delivery.why import Around, why, why_refused

NOW = seconds(1_800_000_000)


def at(offset_seconds: float) -> str:
    return to_text(NOW + seconds(offset_seconds))


def row(status: str, **more: Any) -> dict[str, Any]:
    ended = status in ("delivered", "failed", "dead_lettered")
    return {
        "status": status,
        "channel": "telegram",
        "attempts": 0,
        "possible_duplicate": False,
        "waiting_reason": None,
        "terminal_error_class": None,
        "terminal_error_message": None,
        "provider_delivery_id": None,
        "not_before": at(-30),
        "created_at": at(-60),
        "updated_at": at(-30),
        "terminal_at": at(-30) if ended else None,
        "replay_of": None,
        "replay_number": None,
        **more,
    }


def attempt(outcome: str, message: str | None = None) -> dict[str, Any]:
    return {"outcome": outcome, "error_class": "timeout" if message else None, "error_message": message}


def news(kind: str, seconds_ago: float, words: str = "") -> dict[str, Any]:
    return {"kind": kind, "event_id": "e", "words": words, "at": at(seconds_ago)}


def asked(outcome: str, answer: str, message: str | None = None) -> dict[str, Any]:
    return attempt(outcome, message) | {"asked": answer}


OPEN = {"state": "open", "consecutive_failures": 5, "trip_reason": "connection refused"}
GONE = attempt("retryable_error", "connection refused")

CASES = [
    pytest.param(
        row("delivered", attempts=1, provider_delivery_id="77"),
        [attempt("success")],
        Around(),
        "It was delivered over telegram 30 seconds ago, at the first attempt. The provider's own name for it is 77.",
        id="delivered at once",
    ),
    pytest.param(
        row("delivered", attempts=2, possible_duplicate=True),
        [attempt("uncertain", "it did not answer"), attempt("success")],
        Around(),
        "It was delivered over telegram 30 seconds ago, after 2 calls. Before that, the last failure was: no clear "
        "answer, it did not answer. One call ended without a clear answer, so the person may have received it twice.",
        id="delivered, perhaps twice",
    ),
    pytest.param(
        row("pending", waiting_reason="the circuit of telegram is open", not_before=at(40)),
        [],
        Around(circuit=OPEN),
        "It waits because telegram is paused after 5 failures in a row, the last one: connection refused. "
        "Waiting uses up none of its attempts. The next try is in 40 seconds.",
        id="circuit open",
    ),
    pytest.param(
        row("pending", waiting_reason="throttled by the provider: 429", not_before=at(5)),
        [attempt("retryable_error", "429")],
        Around(throttle_seconds=5.0),
        "It waits because telegram asked us to slow down. Waiting uses up none of its attempts. "
        "The next try is in 5 seconds.",
        id="throttled",
    ),
    pytest.param(
        row("pending", waiting_reason=f"throttled by the provider: 429{shortened(10**9)}", not_before=at(3600)),
        [attempt("retryable_error", "429")],
        Around(throttle_seconds=3600.0),
        "It waits because telegram asked us to slow down (it asked for a wait of 11574 days, which is cut to 1 hour "
        "and asked again then). Waiting uses up none of its attempts. The next try is in 1 hour.",
        id="throttled for years",
    ),
    pytest.param(
        row("pending", attempts=1, waiting_reason="retry after timeout: connection refused", not_before=at(3)),
        [GONE],
        Around(max_attempts=3),
        "Attempt 1 of 3 failed (connection refused), so it will be tried again. The next try is in 3 seconds.",
        id="between attempts",
    ),
    pytest.param(
        row("pending", attempts=1, waiting_reason="ask whether it arrived after timeout: it was cut", not_before=at(3)),
        [attempt("uncertain", "it was cut")],
        Around(max_attempts=3),
        "Attempt 1 of 3 left doubt (no clear answer, it was cut), so telegram will be asked whether it arrived before "
        "it is sent again. The next try is in 3 seconds.",
        id="to be asked about",
    ),
    pytest.param(
        row("delivered", attempts=1, provider_delivery_id="77"),
        [attempt("uncertain", "it was cut"), asked("success", "it was there")],
        Around(),
        "It was delivered over telegram 30 seconds ago, after 2 calls. The provider's own name for it is 77. Before "
        "that, the last failure was: no clear answer, it was cut. We asked telegram whether it had arrived: it was "
        "there.",
        id="found there",
    ),
    pytest.param(
        row("dead_lettered", attempts=1, dead_letter={"quarantine_reason": "outcome_uncertain"}),
        [attempt("uncertain", "it was cut"), asked("uncertain", "no answer (it is closed)", "it is closed")],
        Around(),
        "It was put aside 30 seconds ago: telegram was handed the message and never answered. We asked telegram "
        "whether it had arrived: no answer (it is closed). It may have arrived, and sending it again could deliver it "
        "twice, so a person should decide. It stays with the dead letters until somebody replays or discards it.",
        id="held without an answer",
    ),
    pytest.param(
        row("dead_lettered", attempts=3, dead_letter={"quarantine_reason": "retries_exhausted"}),
        [asked("retryable_error", "it was not there", "telegram does not have it")],
        Around(),
        "It was given up 30 seconds ago after 3 attempts; the last one ended with: telegram does not have it. We asked "
        "telegram whether it had arrived: it was not there. It stays with the dead letters until somebody replays or "
        "discards it.",
        id="given up and not there",
    ),
    pytest.param(
        row("delivered", news=[news("bounced", -10, "550 no such user"), news("read", -5)]),
        [attempt("success")],
        Around(),
        "It was delivered over telegram 30 seconds ago, at the first attempt. The provider said 10 seconds ago that it "
        "bounced: 550 no such user. The provider said 5 seconds ago that it was read.",
        id="late news",
    ),
    pytest.param(
        row("pending"),
        [],
        Around(ahead=2),
        "It is stored and waits for its turn. Messages to one address leave in order, and 2 earlier messages to the "
        "same address must go first.",
        id="behind others",
    ),
    pytest.param(
        row("pending", not_before=at(-600), updated_at=at(-600)),
        [],
        Around(),
        "It is stored and waits for its turn. It has been due for 10 minutes, so check that a messenger or a worker "
        "is running.",
        id="nobody takes it",
    ),
    pytest.param(
        row("in_progress"), [], Around(), "It is being sent: attempt 1 began 30 seconds ago.", id="being sent"
    ),
    pytest.param(
        row("awaiting_approval"),
        [],
        Around(approval={"status": "pending", "expires_at": at(7200)}),
        "It has not been sent: a person must approve it first. Without an answer the request ends by itself in 2 "
        "hours.",
        id="awaiting approval",
    ),
    pytest.param(
        row("failed", terminal_error_message="rejected"),
        [],
        Around(approval={"status": "rejected", "decided_by": "operator", "reason": "wrong person"}),
        "It was not sent: operator rejected it 30 seconds ago. The reason given: wrong person.",
        id="rejected by a person",
    ),
    pytest.param(
        row("failed", attempts=1, terminal_error_message="chat not found"),
        [attempt("non_retryable_error", "chat not found")],
        Around(),
        "It failed 30 seconds ago, at the first attempt: chat not found. Such an error is final: sending the same "
        "again would fail again.",
        id="final error",
    ),
    pytest.param(
        row("dead_lettered", attempts=3, dead_letter={"quarantine_reason": "retries_exhausted", "replay_count": 0}),
        [GONE, GONE, GONE],
        Around(),
        "It was given up 30 seconds ago after 3 attempts; the last one ended with: connection refused. It stays with "
        "the dead letters until somebody replays or discards it.",
        id="attempts used up",
    ),
    pytest.param(
        row("dead_lettered", attempts=1),
        [attempt("uncertain")],
        Around(
            dead_letter={
                "quarantine_reason": "outcome_uncertain",
                "discarded_at": at(-10),
                "discard_reason": "she told me that it came",
            }
        ),
        "It was put aside 30 seconds ago: telegram was handed the message and never answered. It may have arrived, and "
        "sending it again could deliver it twice, so a person should decide. It was discarded 10 seconds ago: she told "
        "me that it came.",
        id="held and discarded",
    ),
]


@pytest.mark.requirement("chan:asking-is-told")
@pytest.mark.parametrize(("delivery", "attempts", "around", "paragraph"), CASES)
def test_each_state_is_told_in_plain_words(
    delivery: dict[str, Any], attempts: list[dict[str, Any]], around: Around, paragraph: str
) -> None:
    assert why(delivery, attempts, NOW, around) == paragraph


def test_a_delivery_as_the_trace_shows_it_has_its_attempts_in_place_of_their_number() -> None:
    told = why(row("dead_lettered", attempts=[GONE, GONE]), [GONE, GONE], NOW)

    assert "after 2 attempts" in told


def test_a_replay_says_what_it_repeats() -> None:
    told = why(row("pending", replay_of="the-first", replay_number=2), [], NOW)

    assert told.endswith("This is replay 2 of delivery the-first.")


def test_a_refusal_names_the_limit_and_says_that_nothing_was_sent() -> None:
    refusal = {
        "created_at": at(-5),
        "limit_type": "recipient",
        "error_message": "too many",
        "retry_after_seconds": 6.0,
    }

    assert why_refused(refusal, NOW) == (
        "It was refused 5 seconds ago, before anything was stored, because this person had been sent as many messages "
        "as we allow in a minute. The caller was told to try again after 6 seconds. Nothing was sent, and the same "
        "request may be made again."
    )


@given(
    status=st.sampled_from(list(Status)),
    attempts=st.lists(st.builds(attempt, st.sampled_from(list(AttemptResult)), st.none() | st.text()), max_size=4),
    reason=st.none() | st.sampled_from(["the circuit of telegram is open", "telegram asked us to wait", "odd"]),
    duplicate=st.booleans(),
    quarantine=st.none() | st.sampled_from(list(QuarantineReason)),
    circuit=st.none() | st.just(OPEN),
)
def test_whatever_the_record_holds_there_is_an_answer(
    status: Status, attempts: list[Any], reason: str | None, duplicate: bool, quarantine: Any, circuit: Any
) -> None:
    letter = {"quarantine_reason": quarantine, "replay_count": 1} if quarantine else None
    delivery = row(status, attempts=len(attempts), waiting_reason=reason, possible_duplicate=duplicate)

    told = why(delivery, attempts, NOW, Around(circuit=circuit, dead_letter=letter))

    assert told.startswith(("It ", "Attempt "))
    assert told.endswith(".")
