"""What a device is given to show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from postroom.domain.delivery import REPEAT_MARK, Intent, Message
from postroom.domain.errors import ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Button, Markup, Revision
from postroom.world.channels.webpush.encryption import MOST_TEXT_BYTES
from postroom.world.channels.webpush.notification import READ_MORE, build, topic_of

PLAIN = Message(
    delivery_id=DeliveryId("0198c0de"),
    intent=Intent.SEND,
    address="0123456789abcdef",
    text="Ship it?",
    origin_butler="health",
)
YES, NO = Button(label="Yes", token="t" * 64), Button(label="No", token="n" * 64)
OPEN = Button(label="Open", url="https://post.example.org/console/questions/q1")


def test_a_question_has_its_two_answers_and_a_press_beside_them_opens_its_page() -> None:
    [call] = build(replace(PLAIN, markup=Markup(buttons=((YES, NO), (OPEN,)))), "push")

    assert [one["title"] for one in call.shown["actions"]] == ["Yes", "No"]
    assert (call.shown["press"], call.shown["device"]) == ("/channels/push/press", PLAIN.address)
    assert call.shown["url"] == OPEN.url


@pytest.mark.requirement("side:push-replaces")
def test_a_correction_takes_the_place_of_what_it_corrects_without_ringing() -> None:
    about = DeliveryId("0198c0df")
    [first] = build(replace(PLAIN, delivery_id=about), "push")
    [edit] = build(replace(PLAIN, revises=Revision(delivery_id=about, provider_ids=("1",))), "push")
    [other] = build(PLAIN, "push")

    assert edit.topic == first.topic == edit.shown["tag"] and edit.shown["silent"] is True
    assert other.topic != first.topic and "silent" not in first.shown


@pytest.mark.requirement("side:push-cut")
@pytest.mark.parametrize("character", ["a", "ü", "👍", '"', "\n\u2028", "\\"])
def test_a_long_text_is_cut_to_what_a_push_service_takes_and_says_so(character: str) -> None:
    text = f"Ship {character * 20} " * 900
    markup = Markup(buttons=((replace(YES, label="👍" * 60), replace(NO, label='"' * 60)), (OPEN,)))
    [call] = build(replace(PLAIN, text=text, markup=markup, subject="ü" * 300, repeated=True), "a" * 40)

    assert len(call.written) <= MOST_TEXT_BYTES
    assert call.shown["body"].endswith(f"{READ_MORE}\n\n{REPEAT_MARK}")
    assert text.startswith(call.shown["body"].partition(READ_MORE)[0])


def test_the_name_of_a_delivery_fits_a_topic() -> None:
    assert len(topic_of(PLAIN.delivery_id)) == 32 and set(topic_of(PLAIN.delivery_id)) <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
    )


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"markup": Markup(buttons=((YES, NO, replace(YES, token="x")),))}, id="three buttons"),
        pytest.param({"markup": Markup(buttons=((replace(YES, token="x" * 65),),))}, id="a token too long"),
        pytest.param({"address": "anna"}, id="no device"),
    ],
)
def test_what_a_device_cannot_show_is_refused_before_any_call(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        build(replace(PLAIN, **wrong), "push")  # type: ignore[arg-type]
