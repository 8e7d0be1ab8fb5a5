from __future__ import annotations

from dataclasses import replace

from tests.domain.test_session import session

from postroom.domain.session import SessionStatus
from postroom.doors.butler.session_answers import accepted, details, route_accepted, summary


def test_a_request_that_is_stored_is_accepted_under_its_id() -> None:
    stored = replace(session(None), status=SessionStatus.QUEUED)

    assert accepted(stored) == {"status": "accepted", "session_id": "s1", "session_status": "queued"}
    answer = route_accepted(stored, {"request_id": "r1"}, 1.23456)
    assert answer["schema_version"] == "route_response.v1"
    assert (answer["status"], answer["inbox_id"], answer["request_context"]) == ("accepted", "s1", {"request_id": "r1"})
    assert answer["timing"] == {"duration_ms": 1.235}


def test_a_list_does_not_tell_what_was_said_and_details_do() -> None:
    failed = replace(
        session({"request_id": "r1"}),
        status=SessionStatus.FAILED,
        started_us=1_000_000,
        finished_us=3_500_000,
        error_class="timeout",
        error_message="too late",
        transcript={"text": "canary"},
    )

    assert "canary" not in str(summary(failed))
    assert summary(failed)["duration_ms"] == 2_500.0
    assert summary(failed)["error"] == {"class": "timeout", "message": "too late"}
    assert details(failed)["transcript"] == {"text": "canary"}
    assert details(failed)["prompt"] == "canary"
