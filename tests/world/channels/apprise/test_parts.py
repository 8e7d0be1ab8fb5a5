from __future__ import annotations

from typing import Any

import pytest

from postroom.domain.delivery import Intent, Message
from postroom.domain.errors import ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Button, Markup
from postroom.world.channels.apprise.parts import ServiceLimits, build

ROOMY = ServiceLimits(body=32_768, title=250)


def message(**changes: Any) -> Message:
    given: dict[str, Any] = {"delivery_id": DeliveryId("1"), "intent": Intent.SEND, "address": "-", "text": "Tea"}
    return Message(**(given | changes))


def test_the_subject_is_the_title_on_one_line_within_the_services_limit() -> None:
    [part] = build(message(subject="Tea\r\nis ready"), ServiceLimits(body=100, title=6))

    assert (part.text, part.title) == ("Tea", "Tea i…")


def test_a_long_text_is_cut_into_parts_and_only_the_first_has_the_title() -> None:
    parts = build(message(text="word " * 100, subject="Tea"), ServiceLimits(body=160, title=50))

    assert [part.title for part in parts] == ["Tea", *[""] * (len(parts) - 1)]
    assert max(len(part.text) for part in parts) <= 160
    assert " ".join(part.text for part in parts).split() == ["word"] * 100


def test_a_title_that_stands_in_the_text_takes_its_room_there() -> None:
    parts = build(message(text="word " * 100, subject="Tea is ready"), ServiceLimits(body=160, title=0))

    assert max(len(part.title) + len(part.text) for part in parts) <= 158


def test_links_stand_under_the_text_and_a_copy_is_marked() -> None:
    under = Markup(buttons=((Button(label="Yes", url="https://home.example/a/1"),),))
    [part] = build(message(markup=under, repeated=True), ROOMY)

    assert part.text == "Tea\n\nYes: https://home.example/a/1\n\n(possibly repeated)"


@pytest.mark.parametrize(
    "wrong",
    [
        {"address": "kitchen"},
        {"text": " "},
        {"text": "a\x00b"},
        {"subject": "a\x00b"},
        {"intent": Intent.REPLY, "thread": "1"},
        {"markup": Markup(buttons=((Button(label="Yes", token="canary"),),))},
    ],
    ids=repr,
)
def test_what_can_never_be_carried_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        build(message(**wrong), ROOMY)
