from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.markdown_texts import markdown

from postroom.channels.telegram.building import bodies
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Format, Intent, Message
from postroom.sandbox.telegram_objects import (
    MOST_ENTITIES,
    ApiError,
    Arguments,
    LookedText,
    canonical_chat,
    chat_object,
    linked,
    looks,
    read_entities,
)


@pytest.mark.parametrize(
    ("given", "kept"),
    [(42, "42"), ("42", "42"), (" 42 ", "42"), (-100123, "-100123"), ("@Some_Channel", "@some_channel")],
)
def test_one_chat_has_one_spelling(given: object, kept: str) -> None:
    assert canonical_chat(given) == kept


@pytest.mark.parametrize("given", [None, "", 0, "0", "042", True, 4.2, "@x", "Ada", [42], "4 2", "٤٢", "9" * 19])
def test_what_can_be_no_chat_is_none(given: object) -> None:
    assert canonical_chat(given) is None


@pytest.mark.parametrize(("chat_id", "kind"), [("42", "private"), ("-42", "group"), ("@some_channel", "channel")])
def test_a_chat_has_a_number_and_a_kind(chat_id: str, kind: str) -> None:
    chat = chat_object(chat_id)

    assert isinstance(chat["id"], int) and chat["type"] == kind
    assert chat == chat_object(chat_id)


BOLD = {"type": "bold", "offset": 0, "length": 1}


def read(entities: Any) -> str | None:
    return read_entities(Arguments({"entities": entities}))


@pytest.mark.requirement("content:sandbox-formatted")
def test_entities_are_kept_as_they_came_and_those_too_many_are_left_out() -> None:
    assert (read(None), read([])) == (None, None)
    assert json.loads(read([BOLD] * 300) or "") == [BOLD] * MOST_ENTITIES
    assert read(json.dumps([BOLD])) == json.dumps([BOLD])


@pytest.mark.parametrize("entities", [{"type": "bold"}, ["bold"], [BOLD | {"length": 0}], [BOLD | {"offset": "1"}]])
def test_what_is_no_entity_is_refused(entities: Any) -> None:
    with pytest.raises(ApiError, match="can't parse MessageEntity"):
        read(entities)


TAGS = {"strong", "em", "s", "code", "q"}


def entity(kind: str, offset: object, length: object, **more: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **more}


@pytest.mark.requirement("content:sandbox-formatted")
def test_entities_are_seen_where_telegram_would_show_them() -> None:
    entities = [
        entity("bold", 3, 4),
        entity("code", 8, 4),
        entity("text_link", 13, 4, url="https://evil.example/x"),
    ]

    assert looks("😀 bold code link", json.dumps(entities)) == [
        LookedText(text="😀 "),
        LookedText(text="bold", tags=("strong",)),
        LookedText(text=" "),
        LookedText(text="code", tags=("code",)),
        LookedText(text=" "),
        LookedText(text="link", url="https://evil.example/x", host="evil.example"),
    ]


@pytest.mark.requirement("content:sandbox-formatted", "content:no-injection")
@pytest.mark.parametrize(
    "entities",
    [
        None,
        "bold",
        [entity("bold", 0, 99)],
        [entity("bold", 1, 1)],
        [entity("bold", "0", True)],
        [entity("script", 0, 2)],
        [["bold"]],
    ],
)
def test_what_does_not_fit_looks_plain(entities: object) -> None:
    assert looks("😀a", json.dumps(entities)) == [LookedText(text="😀a")]


def test_a_link_to_anything_but_the_web_is_text() -> None:
    entities = [entity("text_link", 0, 1, url="javascript:alert(1)")]
    assert looks("a", json.dumps(entities)) == [LookedText(text="a")]


_ENTITIES = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["bold", "pre", "text_link", "blockquote", "x"]),
            "offset": st.integers(-2, 20),
            "length": st.integers(-2, 20),
            "url": st.sampled_from(["https://a.example", "javascript:x", "https://[", None]),
        }
    ),
    max_size=6,
)


@pytest.mark.requirement("content:nothing-lost", "content:no-injection")
@given(st.text(alphabet="ab<>&😀\n", max_size=20), _ENTITIES)
def test_whatever_is_said_of_it_the_whole_text_is_there(text: str, entities: list[dict[str, Any]]) -> None:
    found = looks(text, json.dumps(entities))

    assert "".join(one.text for one in found) == text
    assert all(set(one.tags) <= TAGS for one in found)
    assert all(one.url is None or one.url.startswith("https://") for one in found)


@pytest.mark.requirement("content:nothing-lost", "content:sandbox-formatted")
@settings(deadline=None)  # a machine may be busy
@given(markdown)
def test_what_our_channels_send_is_seen_whole(source: str) -> None:
    message = Message(delivery_id=DeliveryId("d"), intent=Intent.SEND, address="1", text=source, format=Format.MARKDOWN)
    for body in bodies(message) if source.strip() else ():
        seen = looks(body["text"], json.dumps(body.get("entities")))
        assert "".join(one.text for one in seen) == body["text"]


@pytest.mark.parametrize(
    ("text", "links"),
    [
        (
            "Ship it: https://e.org/a/x?y=1.\nOr http://127.0.0.1:40200/a).",
            ["https://e.org/a/x?y=1", "http://127.0.0.1:40200/a"],
        ),
        ("javascript:alert(1) //e.org mailto:a@e.org", []),
        ('https://e.org/"><script>', ["https://e.org/"]),
        ("", []),
    ],
    ids=["two", "none", "hostile", "empty"],
)
def test_links_are_web_addresses_and_nothing_of_the_text_is_lost(text: str, links: list[str]) -> None:
    pieces = list(linked(text))

    assert "".join(piece for piece, _ in pieces) == text
    assert [piece for piece, is_link in pieces if is_link] == links
