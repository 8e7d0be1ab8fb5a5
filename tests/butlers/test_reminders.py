"""`remind`: what could not be sent then is refused now."""

from __future__ import annotations

import json

import pytest
from tests.support.kinds import KINDS

from postroom.butlers.acts import Remind
from postroom.butlers.daemon import plan_reminder, scheduled_answer
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import parse_text

NOW = parse_text("2026-11-15T12:00:00Z")
CHANNELS = KINDS


def plan(**arguments: object):
    given = {"message": "Water the plants", "channel": "telegram", **arguments}
    return plan_reminder(Remind(**given), butler="health", channels=CHANNELS, reminder_id="r1", now_us=NOW)


def test_a_delay_counts_from_now() -> None:
    answer = scheduled_answer(plan(delay_minutes=90))

    assert answer == {
        "id": "r1",
        "status": "scheduled",
        "remind_at": "2026-11-15T13:30:00.000000Z",
        "channel": "telegram",
        "message": "Water the plants",
    }


def test_a_moment_may_be_given_in_any_zone() -> None:
    assert scheduled_answer(plan(remind_at="2026-11-16T09:00:00+01:00"))["remind_at"] == "2026-11-16T08:00:00.000000Z"


def test_a_reminder_in_a_conversation_is_a_reply() -> None:
    context = {
        "request_id": "q",
        "source_channel": "telegram",
        "source_endpoint_identity": "bot",
        "source_sender_identity": "7",
        "source_thread_identity": "7:3",
    }

    work = json.loads(plan(delay_minutes=1, request_context=context).work)["notify"]

    assert (work["intent"], work["request_context"]) == ("reply", context)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param({}, "either 'delay_minutes' or 'remind_at'", id="neither"),
        pytest.param({"delay_minutes": 1, "remind_at": "2026-11-16T09:00:00Z"}, "either", id="both"),
        pytest.param({"delay_minutes": 0}, "delay_minutes", id="no-delay"),
        pytest.param({"delay_minutes": True}, "delay_minutes", id="a-truth-value"),
        pytest.param({"delay_minutes": float("nan")}, "delay_minutes", id="not-a-number"),
        pytest.param({"delay_minutes": 10**9}, "delay_minutes", id="too-far"),
        pytest.param({"remind_at": "tomorrow"}, "remind_at", id="not-a-time"),
        pytest.param({"remind_at": "2026-11-16T09:00:00"}, "remind_at", id="no-offset"),
        pytest.param({"remind_at": "2026-11-15T11:59:59Z"}, "in the future", id="in-the-past"),
        pytest.param({"remind_at": "9999-01-01T00:00:00Z"}, "too far", id="in-another-age"),
        pytest.param({"delay_minutes": 1, "channel": "sms"}, "Unsupported channel 'sms'", id="unknown-channel"),
        pytest.param({"delay_minutes": 1, "message": ""}, "Missing required 'message'", id="nothing-to-say"),
    ],
)
def test_a_reminder_that_could_not_be_sent_is_refused(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        plan(**arguments)


@pytest.mark.requirement("content:reminders-formatted")
def test_a_reminder_keeps_its_format() -> None:
    work = json.loads(plan(delay_minutes=1, message="**now**", format="markdown").work)["notify"]
    assert work["format"] == "markdown"
    assert "format" not in json.loads(plan(delay_minutes=1).work)["notify"]
    with pytest.raises(ValidationError, match="format"):
        plan(delay_minutes=1, format="html")
