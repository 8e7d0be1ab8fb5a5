from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.domain.markdown_texts import inked, markdown
from tests.fakes.slack.block_kit import checked

from postroom.domain.delivery import REPEAT_MARK, Format, Intent, Message
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Button, Markup, Revision
from postroom.world.channels.slack.build import build, marking_key
from postroom.world.channels.slack.call import SlackCall
from postroom.world.channels.slack.rich_shown import LONGEST_BLOCK, rich_block, rich_of, rich_parts
from postroom.world.channels.slack.text import PART_LIMIT

KEY = marking_key("xoxb-1")
STAMP = "1700000000.000100"


def calls(text: str, **changes: Any) -> list[SlackCall]:
    fields: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "C1"}
    return list(build(Message(**(fields | {"text": text, "format": Format.MARKDOWN} | changes)), KEY))


def elements(block: dict[str, Any]) -> list[dict[str, Any]]:
    return [element for part in block["elements"] for element in part["elements"]]


def seen(block: dict[str, Any]) -> str:
    """As a reader sees it, without the hosts that are shown beside links."""
    found = elements(block)
    hosts = {number + 1 for number, one in enumerate(found) if one["type"] == "link"}
    return "".join(
        one["text"] for number, one in enumerate(found) if not (number in hosts and one["text"].startswith(" ("))
    )


def text(words: str, *looks: str) -> dict[str, Any]:
    return {"type": "text", "text": words} | ({"style": dict.fromkeys(looks, True)} if looks else {})


@pytest.mark.requirement("content:slack-formatted")
@pytest.mark.parametrize(
    ("source", "kind", "inside"),
    [
        ("**b**", "rich_text_section", [text("b", "bold")]),
        ("*i* ~~s~~", "rich_text_section", [text("i", "italic"), text(" "), text("s", "strike")]),
        ("***`c`***", "rich_text_section", [text("c", "italic", "bold", "code")]),
        ("# T", "rich_text_section", [text("T", "bold")]),
        ("> q\n> r", "rich_text_quote", [text("q\nr")]),
        ("```py\na*b*\n```", "rich_text_preformatted", [text("a*b*")]),
        ("- x\n- y", "rich_text_section", [text("• x\n• y")]),
        (
            "[l](https://a.example/x_y_)",
            "rich_text_section",
            [{"type": "link", "url": "https://a.example/x_y_", "text": "l"}, text(" (a.example)")],
        ),
        (
            "<https://a.example/>",
            "rich_text_section",
            [{"type": "link", "url": "https://a.example/", "text": "https://a.example/"}],
        ),
        ("[m](mailto:a@b.example)", "rich_text_section", [text("m (mailto:a@b.example)")]),
        ("<!channel> <@U1> <#C1>", "rich_text_section", [text("<!channel> <@U1> <#C1>")]),
    ],
)
def test_spans_become_elements_of_slacks_own(source: str, kind: str, inside: list[dict[str, Any]]) -> None:
    assert rich_block(rich_of(source)) == {"type": "rich_text", "elements": [{"type": kind, "elements": inside}]}


def test_blocks_of_code_and_quotes_stand_between_sections_without_their_line_ends() -> None:
    block = rich_block(rich_of("a\n\n```\nx\n```\n\n> q\n>\n> ```\n> y\n> ```\n\nz"))

    assert [part["type"].removeprefix("rich_text_") for part in block["elements"]] == [
        "section",
        "preformatted",
        "quote",
        "preformatted",
        "section",
    ]
    assert [one["text"] for one in elements(block)] == ["a", "x", "q", "y", "z"]
    assert [part.get("border") for part in block["elements"]] == [None, None, None, 1, None]


@pytest.mark.requirement("content:slack-formatted", "content:no-injection")
def test_a_notification_says_the_same_escaped_and_nothing_is_previewed_or_mentioned() -> None:
    [call] = calls("**Hi** <!channel> [home](https://evil.example)")

    assert call.body["text"] == "Hi &lt;!channel&gt; home (https://evil.example)"
    assert (call.body["unfurl_links"], call.body["unfurl_media"], call.body["parse"]) == (False, False, "none")
    assert {one["type"] for one in elements(call.body["blocks"][0])} == {"text", "link"}


@pytest.mark.requirement("content:nothing-lost", "content:no-injection", "content:slack-formatted")
@settings(deadline=None)  # a machine may be busy
@given(st.one_of(markdown, st.builds(lambda one, times: one * times, markdown, st.integers(2, 60))))
def test_nothing_visible_is_lost_no_mention_is_made_and_every_part_fits(source: str) -> None:
    rich = rich_of(source)
    parts = rich_parts(rich)
    blocks = [rich_block(part) for part in parts]

    assert inked("".join(map(seen, blocks))) == inked("".join(part.text for part in parts))
    kept = [link.detail for link in rich.links]
    for part, block, call in zip(parts, blocks, calls(source) if source.strip() else (), strict=bool(source.strip())):
        assert checked([block]) == [block]
        assert len(json.dumps(block, ensure_ascii=False)) <= LONGEST_BLOCK
        assert len(call.text.encode("utf-16-le")) // 2 <= PART_LIMIT
        assert not {"<", ">"} & set(call.text)
        links = [one for one in elements(block) if one["type"] == "link"]
        assert all(one["url"] in kept for one in links)
        assert part.text.strip()


@pytest.mark.requirement("content:nothing-lost")
@settings(deadline=None)
@given(markdown)
def test_the_words_of_short_parts_are_those_of_the_text(source: str) -> None:
    rich = rich_of(source)
    assert inked("".join(part.text for part in rich_parts(rich))) == inked(rich.text)


def test_a_text_full_of_looks_loses_looks_and_not_words_or_links() -> None:
    source = "**a** *b* " * 300 + "[l](https://a.example)"

    block = rich_block(rich_of(source))
    assert seen(block).endswith("l")
    assert [one["url"] for one in elements(block) if one["type"] == "link"] == ["https://a.example"]
    assert not any("style" in one for one in elements(block))


def test_a_message_full_of_links_is_cut_until_it_fits() -> None:
    source = " ".join(f"[l](https://a.example/{'x' * 900}{number})" for number in range(12))

    sent = calls(source)
    assert len(sent) > 1
    assert all(len(call.text) <= PART_LIMIT for call in sent)
    assert all(f"{'x' * 900}{number}" in "".join(call.text for call in sent) for number in range(12))


@pytest.mark.requirement("content:slack-formatted")
def test_an_edit_keeps_the_format_and_the_buttons() -> None:
    revises = Revision(delivery_id=DeliveryId("d0"), provider_ids=(STAMP, "1700000000.000200"))
    card = Markup(buttons=((Button(label="Yes", token="t"),),))

    last, first = calls(f"{'word ' * 1000}\n\n**b**", revises=revises, markup=card)
    assert [block["type"] for block in last.body["blocks"]] == ["rich_text", "actions"]
    assert [block["type"] for block in first.body["blocks"]] == ["rich_text"]
    assert last.body["blocks"][1]["elements"][0]["value"] == "t"


def test_a_repeated_message_says_so_outside_of_every_span() -> None:
    [call] = calls("**b**", repeated=True)
    assert elements(call.body["blocks"][0]) == [text("b", "bold"), text(f"\n\n{REPEAT_MARK}")]
    full = calls("**" + "x" * 2990 + "**", repeated=True)
    assert [len(calls.body["blocks"]) for calls in full] == [1, 1]
    assert full[1].text == REPEAT_MARK
