from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from postroom.domain.delivery import Format, Intent, Message
from postroom.domain.errors import ValidationError
from postroom.domain.ids import DeliveryId, first_id_at
from postroom.domain.markup import Button, Markup, Revision
from postroom.domain.time import to_us
from postroom.world.channels.webhook.event import address, build

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ID = DeliveryId(first_id_at(to_us(datetime(2026, 2, 28, 8, 30, 0, 250_000, tzinfo=UTC))))
LINK = "https://home.example/a/canary-link"


def message(**changes: Any) -> Message:
    given: dict[str, Any] = {"delivery_id": ID, "intent": Intent.SEND, "address": "kitchen", "text": "Tea is ready"}
    return Message(**(given | changes))


def told(**changes: Any) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(build(message(**changes), NOW).body)
    return event


@pytest.mark.requirement("house:webhook-standard")
def test_a_message_is_one_object_of_this_shape() -> None:
    assert told(subject="Tea", origin_butler="general") == {
        "type": "message.sent",
        "timestamp": "2026-02-28T08:30:00.250000Z",
        "data": {
            "delivery_id": ID,
            "to": "kitchen",
            "from": "general",
            "intent": "send",
            "message": "Tea is ready",
            "subject": "Tea",
            "thread": None,
            "emoji": None,
            "buttons": [],
            "revises": None,
        },
    }


@pytest.mark.requirement("house:webhook-standard")
def test_a_second_attempt_has_the_same_bytes_and_the_same_id() -> None:
    later = datetime(2026, 3, 2, tzinfo=UTC)

    assert build(message(), NOW) == build(message(), later)
    assert build(message(), NOW).id == ID


def test_an_id_that_says_no_time_is_dated_now() -> None:
    assert told(delivery_id=DeliveryId("0198c0de"))["timestamp"] == "2026-03-01T12:00:00.000000Z"


def test_a_reply_names_what_it_answers_and_a_reaction_its_emoji() -> None:
    reply = told(intent=Intent.REPLY, thread="their-17")["data"]
    reaction = told(intent=Intent.REACT, thread="their-17", emoji="👍", text="")["data"]

    assert (reply["intent"], reply["thread"], reply["message"]) == ("reply", "their-17", "Tea is ready")
    assert (reaction["intent"], reaction["thread"], reaction["emoji"], reaction["message"]) == (
        "react",
        "their-17",
        "👍",
        None,
    )


def test_an_edit_is_an_event_of_its_own_that_names_what_it_replaces() -> None:
    revises = Revision(delivery_id=DeliveryId("0198c0df"), provider_ids=("their-17",))
    event = told(revises=revises, text="Tea is cold")

    assert event["type"] == "message.revised"
    assert event["data"]["revises"] == {"delivery_id": "0198c0df", "ids": ["their-17"]}
    assert event["data"]["message"] == "Tea is cold"
    assert told(revises=revises, text="")["data"]["message"] is None


def test_a_button_is_its_label_and_its_link_and_never_a_token() -> None:
    rows = ((Button(label="Yes", url=LINK), Button(label="No", url=f"{LINK}/2")),)

    assert told(markup=Markup(buttons=rows))["data"]["buttons"] == [
        {"label": "Yes", "url": LINK},
        {"label": "No", "url": f"{LINK}/2"},
    ]
    with pytest.raises(ValidationError, match="must be a link"):
        told(markup=Markup(buttons=((Button(label="Yes", token="q1:canary"),),)))


def test_a_message_that_may_be_a_copy_says_so() -> None:
    assert told(repeated=True)["data"]["message"] == "Tea is ready\n\n(possibly repeated)"


@pytest.mark.parametrize(
    "text",
    ['{"type":"message.revised"}', '"}]} \u2028', "<script>alert(1)</script>", "\x1b[31m\x07", "@everyone 🍵 ـهٰ"],
)
def test_hostile_text_arrives_exactly_as_it_is(text: str) -> None:
    event = told(text=text, subject=text, address="kitchen")

    assert (event["type"], event["data"]["message"], event["data"]["subject"]) == ("message.sent", text, text)


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": " \n"},
        {"text": "a\x00b"},
        {"subject": "a\ud800"},
        {"thread": "\x00"},
        {"address": "a\nb"},
        {"address": "a" * 201},
        {"intent": Intent.REACT, "thread": "1", "emoji": "ok"},
        {"intent": Intent.REACT, "thread": "1", "emoji": None},
        {"intent": Intent.REACT, "thread": None, "emoji": "👍"},
    ],
    ids=repr,
)
def test_what_can_never_be_carried_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        build(message(**wrong), NOW)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("kitchen", "kitchen"),
        (" Ada Lovelace ", "Ada Lovelace"),
        ("#ops@example.org/7", "#ops@example.org/7"),
        ("  ", None),
    ],
)
def test_any_name_of_one_line_is_an_address(text: str, canonical: str | None) -> None:
    assert address(text) == canonical


@pytest.mark.requirement("content:plain-exact")
def test_markdown_goes_out_as_it_was_written_and_says_so() -> None:
    data = told(text="**Tea**", format=Format.MARKDOWN)["data"]

    assert (data["message"], data["format"]) == ("**Tea**", "markdown")
    assert "format" not in told()["data"]
