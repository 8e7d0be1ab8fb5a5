"""A message becomes the calls that publish it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.domain.delivery import REPEAT_MARK, Intent, Message, Priority
from postroom.domain.errors import ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Button, Markup, Revision
from postroom.world.channels.ntfy.call import NtfyCall
from postroom.world.channels.ntfy.publish import address, build, sequence_id

ANSWERS = "https://ntfy.example/answers"
YES, NO = Button(label="Yes", token="t-yes"), Button(label="No", token="t-no")


def calls(text: str = "Hi", **changes: Any) -> list[NtfyCall]:
    given: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "anna", "text": text}
    return list(build(Message(**(given | changes)), ANSWERS))


@pytest.mark.parametrize("topic", ["anna", "Anna_Phone-2", "a" * 64])
def test_a_topic_is_an_address_as_it_is_written(topic: str) -> None:
    assert address(f" {topic} ") == topic


@pytest.mark.parametrize("text", ["", "a" * 65, "anna/json", "anna,ben", "ä", "a b", "anna\n"])
def test_anything_else_is_not(text: str) -> None:
    assert address(text) is None


def test_the_title_is_the_subject_or_who_speaks() -> None:
    assert calls()[0].body.keys() == {"topic", "message", "priority", "sequence_id"}
    assert calls(origin_butler="health")[0].body["title"] == "health"
    with_subject = calls(origin_butler="health", subject="Pills\n now")[0].body
    assert (with_subject["title"], with_subject["tags"]) == ("Pills now", ["health"])


@pytest.mark.parametrize(("priority", "number"), [("high", 4), ("medium", 3), ("low", 2)])
def test_priorities_are_numbers_there(priority: str, number: int) -> None:
    assert calls(priority=Priority(priority))[0].body["priority"] == number


@pytest.mark.requirement("house:ntfy-one-name")
def test_the_same_part_has_the_same_name_for_ever_and_no_other_has_it() -> None:
    parts, others = calls("word " * 2000), calls("word " * 2000, delivery_id=DeliveryId("d2"))
    names = [call.sequence_id for call in parts]

    assert names == [call.sequence_id for call in calls("word " * 2000, repeated=True)][: len(names)]
    assert len({*names, *(call.sequence_id for call in others)}) == len(parts) + len(others)
    assert all(re.fullmatch(r"[-_A-Za-z0-9]{1,64}", name) for name in names)
    assert [call.body["sequence_id"] for call in parts] == names


def test_what_may_be_a_second_copy_says_so_under_the_same_name() -> None:
    [first], [again] = calls(), calls(repeated=True)
    assert (again.sequence_id, again.text) == (first.sequence_id, f"Hi\n\n{REPEAT_MARK}")


def test_buttons_post_their_token_and_the_topic_of_the_card_to_the_answers() -> None:
    [call] = calls(markup=Markup(buttons=((YES, NO), (Button(label="Open", url="https://home.example/x"),))))

    assert call.body["actions"] == [
        {
            "action": "http",
            "label": label,
            "url": ANSWERS,
            "method": "POST",
            "body": f"{token} anna",
            "clear": True,
        }
        for label, token in (("Yes", "t-yes"), ("No", "t-no"))
    ] + [{"action": "view", "label": "Open", "url": "https://home.example/x"}]


def test_links_without_a_place_stand_below_the_text() -> None:
    links = tuple(Button(label=f"L{number}", url=f"https://home.example/{number}") for number in range(3))
    [call] = calls(markup=Markup(buttons=((YES,), links, (Button(label="Mail", url="mailto:a@b.c"),))))

    assert [action["label"] for action in call.body["actions"]] == ["Yes", "L0", "L1"]
    assert call.text == "Hi\n\nL2: https://home.example/2\nMail: mailto:a@b.c"


def test_more_than_three_that_are_pressed_are_refused() -> None:
    with pytest.raises(ValidationError, match="at most 3"):
        calls(markup=Markup(buttons=((YES, NO, YES, NO),)))


def test_without_a_topic_for_answers_nothing_can_be_pressed() -> None:
    message = Message(
        delivery_id=DeliveryId("d1"),
        intent=Intent.SEND,
        address="anna",
        text="Hi",
        markup=Markup(buttons=((YES,),)),
    )
    with pytest.raises(ValidationError, match="answers_topic"):
        build(message, "")


def test_buttons_stand_under_the_last_part() -> None:
    parts = calls("word " * 2000, markup=Markup(buttons=((YES,),)))
    assert ["actions" in call.body for call in parts] == [False] * (len(parts) - 1) + [True]


def test_an_edit_takes_the_names_of_what_was_sent_last_part_first_and_rings_no_bell() -> None:
    revises = Revision(delivery_id=DeliveryId("card"), provider_ids=("a", "b"))
    edits = calls("word " * 1000, revises=revises, priority=Priority.HIGH)

    assert [call.sequence_id for call in edits] == [sequence_id(DeliveryId("card"), place) for place in (1, 0)]
    assert all(call.is_edit and call.body["priority"] == 2 and "actions" not in call.body for call in edits)


def test_a_longer_text_goes_on_under_new_names_and_a_shorter_one_takes_the_others_away() -> None:
    card = DeliveryId("card")
    grown = calls("word " * 1500, revises=Revision(delivery_id=card, provider_ids=("a",)))
    again = calls("word " * 1000, revises=Revision(delivery_id=card, provider_ids=("a",), more=("b",)))
    short = calls("Closed", revises=Revision(delivery_id=card, provider_ids=("a", "f"), files=1, more=("b",)))

    named = [sequence_id(card, place) for place in range(3)]
    assert [(call.sequence_id, call.is_edit) for call in grown] == [(named[0], True), (named[1], False)]
    assert [(call.sequence_id, call.is_edit) for call in again] == [(named[1], True), (named[0], True)]
    assert [(call.sequence_id, call.deletes, call.about) for call in short] == [
        (named[2], True, "b"),
        (named[0], False, ""),
    ]


def test_buttons_alone_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="without their message"):
        calls("", revises=Revision(delivery_id=DeliveryId("card"), provider_ids=("a",)))


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters='\n"\\'), max_size=9000))
def test_every_part_fits_and_nothing_visible_is_lost(text: str) -> None:
    if not text.strip():
        return
    parts = calls(text, origin_butler="health")
    assert all(len(call.text.encode()) < 4096 for call in parts)
    assert "".join("".join(call.text.split()) for call in parts) == "".join(text.split())


def test_words_and_tokens_stay_out_of_repr() -> None:
    shown = repr(calls("the secret", markup=Markup(buttons=((YES,),))))
    assert "secret" not in shown
    assert "t-yes" not in shown
