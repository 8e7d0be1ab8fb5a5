from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.domain.markdown_texts import inked, markdown

from postroom.domain.delivery import REPEAT_MARK, Format, Intent, Message
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Revision
from postroom.world.channels.telegram import build
from postroom.world.channels.telegram_entities import MOST_ENTITIES, rich_of

NOTHING_INSIDE = {"code", "pre"}


def message(text: str, **changes: Any) -> Message:
    fields: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "4711"}
    return Message(**(fields | {"text": text, "format": Format.MARKDOWN} | changes))


def bodies(text: str, **changes: Any) -> list[dict[str, Any]]:
    return [dict(call.body) for call in build(message(text, **changes))]


def under(body: dict[str, Any], entity: dict[str, Any]) -> str:
    units = body["text"].encode("utf-16-le")
    return units[2 * entity["offset"] : 2 * (entity["offset"] + entity["length"])].decode("utf-16-le")


@pytest.mark.requirement("content:telegram-entities")
def test_a_text_with_entities_and_never_a_parse_mode() -> None:
    (body,) = bodies("😀 **b** [l](https://a.example) `c`\n```py\nx\n```\n> q")

    found = [(entity["type"], under(body, entity)) for entity in body["entities"]]
    assert found == [("bold", "b"), ("text_link", "l"), ("code", "c"), ("pre", "x"), ("blockquote", "q")]
    assert body["entities"][0]["offset"] == 3
    assert body["entities"][1]["url"] == "https://a.example"
    assert body["entities"][3]["language"] == "py"
    assert body["link_preview_options"] == {"is_disabled": True}
    assert "parse_mode" not in body


def test_code_within_bold_cuts_the_bold_and_a_link_wins_over_code() -> None:
    (bold,) = bodies("**a `b` c**")
    (link,) = bodies("[`x`](https://a.example)")

    assert [(one["type"], under(bold, one)) for one in bold["entities"]] == [
        ("bold", "a "),
        ("code", "b"),
        ("bold", " c"),
    ]
    assert [one["type"] for one in link["entities"]] == ["text_link"]


def test_a_mailbox_is_shown_because_telegram_opens_only_the_web() -> None:
    (body,) = bodies("[me](mailto:a@b.example)")
    assert body["text"] == "me (mailto:a@b.example)"


@pytest.mark.requirement("content:telegram-entities")
def test_a_span_that_is_cut_in_two_is_opened_again() -> None:
    first, second = bodies(f"**{'word ' * 1000}end**")

    for body in (first, second):
        (entity,) = body["entities"]
        assert under(body, entity) == body["text"]


@pytest.mark.parametrize("look", ["**b** ", "`c` ", "[l](https://a.example) "])
def test_more_looks_than_telegram_takes_at_once_are_messages_of_their_own(look: str) -> None:
    shown = bodies(look * 250)
    assert sum(len(body["entities"]) for body in shown) == 250
    assert all(len(body["entities"]) <= MOST_ENTITIES for body in shown)


def test_an_edit_has_entities_too() -> None:
    revises = Revision(delivery_id=DeliveryId("d0"), provider_ids=("7",))
    first, answer = bodies(f"[l](https://a.example) {'word ' * 1000}**b**", revises=revises)
    assert [one["entities"][0]["type"] for one in (first, answer)] == ["text_link", "bold"]


@pytest.mark.requirement("content:nothing-lost")
@settings(deadline=None)  # a machine may be busy
@given(markdown.filter(str.strip), st.booleans())
def test_nothing_visible_is_lost_and_every_entity_is_lawful(source: str, repeated: bool) -> None:
    shown = bodies(source, repeated=repeated)

    mark = REPEAT_MARK if repeated else ""
    assert inked("".join(body["text"] for body in shown)) == inked(rich_of(message(source)).text + mark)
    for body in shown:
        units = len(body["text"].encode("utf-16-le")) // 2
        assert units <= 4096
        found = body.get("entities", [])
        assert len(found) <= MOST_ENTITIES
        for number, entity in enumerate(found):
            start, end = entity["offset"], entity["offset"] + entity["length"]
            assert 0 <= start < end <= units
            under(body, entity)
            for other in found[number + 1 :]:
                inside = other["offset"] + other["length"] <= end
                assert other["offset"] >= end or inside
                assert not (other["offset"] < end and entity["type"] in NOTHING_INSIDE)


@pytest.mark.requirement("content:plain-exact")
@given(st.text(min_size=1, max_size=200).filter(str.strip).filter(lambda text: "\x00" not in text))
def test_plain_text_is_sent_as_it_ever_was(text: str) -> None:
    assert bodies(text, format=Format.PLAIN) == [{"chat_id": 4711, "text": text}]
