from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from postroom.domain.delivery import Intent, Message, Receipt
from postroom.domain.errors import ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Button, Markup, Revision
from postroom.world.channels.discord.building import build, nonce, receipt_of
from postroom.world.channels.discord.request import DiscordRequest

CARD = Markup(buttons=((Button(label="Yes", token="q1:yes"), Button(label="No", token="q1:no")),))


def made(**changes: Any) -> tuple[DiscordRequest, ...]:
    given: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "42", "text": "Tea?"}
    return tuple(build(Message(**(given | changes))))


def bodies(**changes: Any) -> list[dict[str, Any]]:
    return [dict(one.body or {}) for one in made(**changes)]


def test_a_message_pings_no_one_shows_no_preview_and_has_a_key() -> None:
    [request] = made()

    assert (request.method, request.place, request.path) == ("POST", "42", "messages")
    assert request.body == {
        "content": "Tea?",
        "flags": 4,
        "allowed_mentions": {"parse": [], "replied_user": False},
        "nonce": nonce(DeliveryId("d1"), 0),
        "enforce_nonce": True,
    }


@pytest.mark.requirement("house:discord-key")
def test_every_part_has_one_key_for_all_its_attempts() -> None:
    text = "word " * 1000
    keys = [body["nonce"] for body in bodies(text=text)]

    assert keys == [body["nonce"] for body in bodies(text=text)]
    assert len(set(keys)) == len(keys) == 3
    assert all(0 < len(key) <= 25 and key.isascii() for key in keys)
    assert not set(keys) & {body["nonce"] for body in bodies(text=text, delivery_id=DeliveryId("d2"))}
    assert keys == [body["nonce"] for body in bodies(text=text, repeated=True)][: len(keys)]


def test_a_reply_names_its_message_once_and_buttons_stand_under_the_last_part() -> None:
    first, *_, last = bodies(text="word " * 1000, intent=Intent.REPLY, thread="77", markup=CARD)

    assert first["message_reference"] == {"message_id": "77", "fail_if_not_exists": False}
    assert "components" not in first and "message_reference" not in last
    assert [key["custom_id"] for key in last["components"][0]["components"]] == ["q1:yes", "q1:no"]


def test_a_link_that_fits_no_button_stands_below_the_text() -> None:
    [body] = bodies(markup=Markup(buttons=((Button(label="Open", url="http://localhost:1/x_y"),),)))

    assert body["content"] == "Tea?\n\nOpen: http://localhost:1/x_y"
    assert "components" not in body


@pytest.mark.parametrize(("emoji", "path"), [("👍", "%F0%9F%91%8D"), ("party:123", "party%3A123")])
def test_a_reaction_is_one_emoji(emoji: str, path: str) -> None:
    [request] = made(intent=Intent.REACT, thread="77", emoji=emoji, text="")

    assert (request.method, request.path) == ("PUT", f"messages/77/reactions/{path}/@me")
    assert receipt_of(request, "42", "77") == Receipt("reaction:42:77", conversation="42")


@pytest.mark.parametrize("emoji", ["", "ab", "👍👍", "../../x", "a:b"])
def test_what_is_no_emoji_is_refused(emoji: str) -> None:
    with pytest.raises(ValidationError, match="emoji"):
        made(intent=Intent.REACT, thread="77", emoji=emoji, text="")


@pytest.mark.parametrize("thread", [None, "", "0", "x", "42:77"])
def test_a_reply_needs_the_number_of_a_message(thread: str | None) -> None:
    with pytest.raises(ValidationError, match="number"):
        made(intent=Intent.REPLY, thread=thread)


def revision(*ids: str, conversation: str | None = None) -> Revision:
    return Revision(delivery_id=DeliveryId("d0"), provider_ids=ids, conversation=conversation)


def test_an_edit_goes_to_where_the_message_stands_last_part_first() -> None:
    requests = made(address="user:7", text="word " * 600, revises=revision("1", "2", conversation="55"))

    assert [(one.method, one.place, one.path) for one in requests] == [
        ("PATCH", "55", "messages/2"),
        ("PATCH", "55", "messages/1"),
    ]
    assert (requests[0].body or {})["components"] == []
    assert "components" not in (requests[1].body or {})
    assert all((one.body or {})["allowed_mentions"]["parse"] == [] for one in requests)
    assert receipt_of(requests[0], "55", "2").provider_id == "edit:55:2"


def acts(*given: str, text: str, **revised: Any) -> list[tuple[str, str]]:
    revises = replace(revision(*given), **revised)
    return [(one.method, one.path.removeprefix("messages/")) for one in made(text=text, revises=revises)]


def test_a_longer_text_goes_on_in_answers_to_the_first_message_with_the_buttons_under_the_last() -> None:
    edit, *answers = made(text="word " * 1000, markup=CARD, revises=revision("1"))

    assert (edit.method, edit.path, "components" in (edit.body or {})) == ("PATCH", "messages/1", False)
    bodies = [one.body or {} for one in answers]
    assert [one.method for one in answers] == ["POST"] * 2
    assert [one["message_reference"]["message_id"] for one in bodies] == ["1", "1"]
    assert ["components" in one for one in bodies] == [False, True]
    assert bodies[0]["nonce"] != bodies[1]["nonce"]
    assert receipt_of(answers[0], "55", "9").provider_id == "9"


def test_a_shorter_text_deletes_what_it_needs_no_more_but_never_the_message_with_the_files() -> None:
    assert acts("1", "2", "3", text="Closed") == [("DELETE", "3"), ("PATCH", "1"), ("DELETE", "2")]
    assert acts("1", "2", text="Closed", files=1) == [("PATCH", "2"), ("DELETE", "1")]
    assert acts("1", text="Closed", more=("2",)) == [("DELETE", "2"), ("PATCH", "1")]
    assert acts("1", "2", text="word " * 600, gone=("2",), more=("3",)) == [("PATCH", "3"), ("PATCH", "1")]


def test_an_edit_without_words_changes_the_buttons_alone() -> None:
    [request] = made(text="", markup=CARD, revises=revision("1", "2"))

    assert request.path == "messages/2"
    assert "content" not in (request.body or {}) and len((request.body or {})["components"]) == 1


def test_an_edit_of_nothing_is_refused() -> None:
    with pytest.raises(ValidationError):
        made(revises=revision())


def test_neither_text_nor_token_is_shown() -> None:
    [request] = made(markup=CARD)

    assert "Tea?" not in repr(request) and "q1:yes" not in repr(request)
    assert request.private == ["Tea?", "q1:yes", "q1:no"]
