"""How messages look on the sandbox's phone, whatever a bot says of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.domain.markdown_texts import markdown

from postroom.domain.delivery import Format, Intent, Message
from postroom.domain.ids import DeliveryId
from postroom.doors.console.sandbox_text import LookedText, telegram_looks
from postroom.world.channels.telegram_entities import bodies

TAGS = {"strong", "em", "s", "code", "q"}


def entity(kind: str, offset: object, length: object, **more: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **more}


@pytest.mark.requirement("content:sandbox-formatted")
def test_entities_are_seen_where_telegram_would_show_them() -> None:
    looks = telegram_looks(
        "😀 bold code link",
        [
            entity("bold", 3, 4),
            entity("code", 8, 4),
            entity("text_link", 13, 4, url="https://evil.example/x"),
        ],
    )

    assert looks == [
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
    assert telegram_looks("😀a", entities) == [LookedText(text="😀a")]


def test_a_link_to_anything_but_the_web_is_text() -> None:
    looks = telegram_looks("a", [entity("text_link", 0, 1, url="javascript:alert(1)")])
    assert looks == [LookedText(text="a")]


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
    looks = telegram_looks(text, entities)

    assert "".join(one.text for one in looks) == text
    assert all(set(one.tags) <= TAGS for one in looks)
    assert all(one.url is None or one.url.startswith("https://") for one in looks)


@pytest.mark.requirement("content:nothing-lost", "content:sandbox-formatted")
@settings(deadline=None)  # a machine may be busy
@given(markdown)
def test_what_our_channels_send_is_seen_whole(source: str) -> None:
    message = Message(delivery_id=DeliveryId("d"), intent=Intent.SEND, address="1", text=source, format=Format.MARKDOWN)
    for body in bodies(message) if source.strip() else ():
        assert "".join(one.text for one in telegram_looks(body["text"], body.get("entities"))) == body["text"]
