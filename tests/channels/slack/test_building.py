from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fakes.slack.block_kit import checked
from tests.support.markdown_texts import inked, markdown

from postroom.channels.shared import web_links
from postroom.channels.slack.building import (
    LONGEST_BLOCK,
    PART_LIMIT,
    build,
    character_of,
    escaped,
    marking_key,
    name_of,
    plain_parts,
    rich_block,
    rich_parts,
    shortened,
    typed,
)
from postroom.channels.slack.web_api import SlackCall
from postroom.kernel.text.rich import utf16_length
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import REPEAT_MARK, Format, Intent, Message
from postroom.message.markup import Button, ButtonStyle, Markup, Revision

KEY = marking_key("xoxb-1")
CARD = Markup(
    buttons=(
        (Button(label="Yes", token="q1:yes", style=ButtonStyle.SUCCESS), Button(label="No", token="q1:no")),
        (Button(label="Open", url="https://home.example/a"), Button(label="Drop", token="x", style=ButtonStyle.DANGER)),
    )
)


def calls(key: bytes = KEY, **changes: Any) -> list[SlackCall]:
    given: dict[str, Any] = {
        "delivery_id": DeliveryId("d1"),
        "intent": Intent.SEND,
        "address": "C1",
        "text": "Ship it?",
    }
    return list(build(Message(**(given | changes)), key))


def of(*provider_ids: str, conversation: str | None = None) -> Revision:
    return Revision(delivery_id=DeliveryId("d0"), provider_ids=provider_ids, conversation=conversation)


def shown(call: SlackCall) -> list[str]:
    return [block["text"]["text"] for block in call.body["blocks"] if block["type"] == "section"]


@pytest.mark.requirement("house:slack-text-is-data")
def test_a_message_is_shown_without_markup_mentions_and_previews() -> None:
    [call] = calls(text="*bold* <!channel> & co")
    body = dict(call.body)
    metadata = body.pop("metadata")

    assert call.method == "chat.postMessage"
    assert body == {
        "channel": "C1",
        "text": "*bold* &lt;!channel&gt; &amp; co",
        "blocks": [
            {
                "type": "section",
                "text": {"type": "plain_text", "text": "*bold* &lt;!channel&gt; &amp; co", "emoji": True},
            }
        ],
        "mrkdwn": False,
        "parse": "none",
        "link_names": False,
        "unfurl_links": False,
        "unfurl_media": False,
    }
    assert metadata["event_type"] == "postroom_delivery"


def test_a_mark_is_the_same_for_the_same_part_and_shows_no_id() -> None:
    [first, second] = calls(text="word " * 1000)
    marks = {
        first.mark,
        second.mark,
        calls(key=marking_key("xoxb-2"))[0].mark,
        calls(delivery_id=DeliveryId("d2"))[0].mark,
    }

    assert calls(text="word " * 1000)[0].mark == first.mark
    assert len(marks) == 4
    assert not any(mark == "d1" or mark is None or len(mark) != 32 for mark in marks)


def test_buttons_stand_under_the_last_part() -> None:
    [first, last] = calls(text="word " * 1000, markup=CARD)
    [actions] = [block for block in last.body["blocks"] if block["type"] == "actions"]

    assert [block["type"] for block in first.body["blocks"]] == ["section"]
    assert [
        (one["text"]["text"], one.get("value"), one.get("url"), one.get("style")) for one in actions["elements"]
    ] == [
        ("Yes", "q1:yes", None, "primary"),
        ("No", "q1:no", None, None),
        ("Open", None, "https://home.example/a", None),
        ("Drop", "x", None, "danger"),
    ]
    assert len({one["action_id"] for one in actions["elements"]}) == 4


@pytest.mark.parametrize(
    ("buttons", "why"),
    [
        ([Button(label="x", token=str(number)) for number in range(26)], "at most 25 buttons"),
        ([Button(label=" ", token="t")], "must not be blank"),
        ([Button(label="x", token="t" * 2001)], "token must have 1 to 2000"),
        ([Button(label="x", url="javascript:alert(1)")], "opens a web address"),
        ([Button(label="x", url="https://a.example/" + "a" * 3000)], "opens a web address"),
    ],
)
def test_buttons_that_slack_would_refuse_are_refused_before_any_call(buttons: list[Button], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        calls(markup=Markup(buttons=(tuple(buttons),)))


def test_a_long_label_is_cut() -> None:
    [call] = calls(markup=Markup(buttons=((Button(label="very " * 30, token="t"),),)))
    label = call.body["blocks"][-1]["elements"][0]["text"]["text"]

    assert len(label) <= 75
    assert label.endswith("…")


def test_a_reply_goes_to_its_thread_with_every_part() -> None:
    replies = calls(intent=Intent.REPLY, thread="1700000000.000100", text="word " * 1000)

    assert [call.thread for call in replies] == ["1700000000.000100"] * 2


@pytest.mark.parametrize("thread", [None, "55", "C1:1.2", "1700000000.000100\n"])
def test_a_message_to_answer_is_named_by_its_ts(thread: str | None) -> None:
    for intent in (Intent.REPLY, Intent.REACT):
        with pytest.raises(ValidationError, match="named by its ts"):
            calls(intent=intent, thread=thread, emoji="👍")


@pytest.mark.parametrize("emoji", ["", "👍👍", "ok"])
def test_a_reaction_is_one_emoji(emoji: str) -> None:
    with pytest.raises(ValidationError, match="emoji must be exactly one"):
        calls(intent=Intent.REACT, thread="1.2", emoji=emoji)


def test_an_edit_names_the_conversation_the_message_stands_in_and_takes_the_buttons_away() -> None:
    [call] = calls(address="U1", text="Closed", revises=of("1.2", conversation="D1"))

    assert call.method == "chat.update"
    assert call.body == {
        "channel": "D1",
        "ts": "1.2",
        "text": "Closed",
        "blocks": [{"type": "section", "text": {"type": "plain_text", "text": "Closed", "emoji": True}}],
        "parse": "none",
    }


def test_every_part_of_a_long_card_is_edited_the_last_one_first() -> None:
    edits = calls(text="word " * 1_500, revises=of("1.1", "1.2", "1.3"))

    assert [(call.method, call.body["ts"]) for call in edits] == [
        ("chat.update", "1.3"),
        ("chat.update", "1.1"),
        ("chat.update", "1.2"),
    ]


def test_a_longer_text_goes_on_in_the_thread_with_the_buttons_under_the_last_message() -> None:
    edit, *answers = calls(text="word " * 1_500, markup=CARD, revises=of("1.1", conversation="D1"))

    assert (edit.method, edit.body["ts"], len(edit.body["blocks"])) == ("chat.update", "1.1", 1)
    assert [(call.method, call.channel, call.thread) for call in answers] == [("chat.postMessage", "D1", "1.1")] * 2
    assert [[block["type"] for block in call.body["blocks"]][1:] for call in answers] == [[], ["actions"]]
    assert answers[0].mark != answers[1].mark


def test_a_shorter_text_deletes_what_it_needs_no_more() -> None:
    revises = replace(of("1.1", "1.2", "1.3"), files=1, more=("1.4",))
    edits = calls(text="Closed", revises=revises)

    assert [(call.method, call.body["ts"]) for call in edits] == [
        ("chat.delete", "1.4"),
        ("chat.update", "1.1"),
        ("chat.delete", "1.2"),
    ]


def test_an_edit_of_the_buttons_alone_leaves_the_text_to_be_fetched() -> None:
    [call] = calls(text="", markup=CARD, revises=of("1.1", "1.2"))

    assert (call.keeps_text, call.body["ts"], [block["type"] for block in call.body["blocks"]]) == (
        True,
        "1.2",
        ["actions"],
    )


@pytest.mark.parametrize("provider_id", ["reaction:C1:1.2", "edit:C1:1.2", ""])
def test_only_messages_are_edited(provider_id: str) -> None:
    with pytest.raises(ValidationError, match="only a Slack message can be edited"):
        calls(revises=of(provider_id))


def test_an_edit_cannot_ask_for_a_reply() -> None:
    with pytest.raises(ValidationError, match="cannot ask for a reply"):
        calls(markup=Markup(force_reply=True), revises=of("1.2"))
    assert len(calls(markup=Markup(force_reply=True, placeholder="Why?"))) == 1


@pytest.mark.requirement("content:what-was-sent-is-edited-or-deleted")
def test_a_recall_deletes_every_part_where_it_stands() -> None:
    gone = replace(of("1700000000.000100", "1700000000.000200", conversation="D42"), deletes=True)

    assert [(call.method, call.body) for call in calls(text="", revises=gone)] == [
        ("chat.delete", {"channel": "D42", "ts": "1700000000.000100"}),
        ("chat.delete", {"channel": "D42", "ts": "1700000000.000200"}),
    ]


@pytest.mark.requirement("content:what-was-sent-is-edited-or-deleted")
def test_a_recall_deletes_a_file_whose_message_slack_did_not_name() -> None:
    gone = replace(of("1700000000.000100", "file:F1", conversation="D42"), files=1, deletes=True)

    assert [(call.method, call.body) for call in calls(text="", revises=gone)] == [
        ("chat.delete", {"channel": "D42", "ts": "1700000000.000100"}),
        ("files.delete", {"file": "F1"}),
    ]


@pytest.mark.parametrize(
    ("emoji", "name"),
    [
        ("👍", "+1"),
        ("❤️", "heart"),
        ("❤", "heart"),
        ("👍🏽", "+1::skin-tone-4"),
        ("1️⃣", "one"),
        (" ✅ ", "white_check_mark"),
    ],
)
def test_a_common_emoji_has_its_name(emoji: str, name: str) -> None:
    assert name_of(emoji) == name


@pytest.mark.parametrize("emoji", ["🪿", "x", "", ":+1:", "🏽"])
def test_another_is_refused_with_some_that_can_be_taken(emoji: str) -> None:
    with pytest.raises(ValidationError, match="emoji has no name at Slack that we know; take a common one"):
        name_of(emoji)


def test_a_name_has_its_emoji() -> None:
    assert (character_of("+1"), character_of("thumbsup"), character_of("nothing_of_that_name")) == ("👍", "👍", None)


RICH_SHOWN_KEY = marking_key("xoxb-1")
STAMP = "1700000000.000100"


def rich_shown_calls(text: str, **changes: Any) -> list[SlackCall]:
    fields: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "C1"}
    return list(build(Message(**(fields | {"text": text, "format": Format.MARKDOWN} | changes)), RICH_SHOWN_KEY))


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
    assert rich_block(web_links(source)) == {"type": "rich_text", "elements": [{"type": kind, "elements": inside}]}


def test_blocks_of_code_and_quotes_stand_between_sections_without_their_line_ends() -> None:
    block = rich_block(web_links("a\n\n```\nx\n```\n\n> q\n>\n> ```\n> y\n> ```\n\nz"))

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
    [call] = rich_shown_calls("**Hi** <!channel> [home](https://evil.example)")

    assert call.body["text"] == "Hi &lt;!channel&gt; home (https://evil.example)"
    assert (call.body["unfurl_links"], call.body["unfurl_media"], call.body["parse"]) == (False, False, "none")
    assert {one["type"] for one in elements(call.body["blocks"][0])} == {"text", "link"}


@pytest.mark.requirement("content:nothing-lost", "content:no-injection", "content:slack-formatted")
@settings(deadline=None)  # a machine may be busy
@given(st.one_of(markdown, st.builds(lambda one, times: one * times, markdown, st.integers(2, 60))))
def test_nothing_visible_is_lost_no_mention_is_made_and_every_part_fits(source: str) -> None:
    rich = web_links(source)
    parts = rich_parts(rich)
    blocks = [rich_block(part) for part in parts]

    assert inked("".join(map(seen, blocks))) == inked("".join(part.text for part in parts))
    kept = [link.detail for link in rich.links]
    for part, block, call in zip(
        parts, blocks, rich_shown_calls(source) if source.strip() else (), strict=bool(source.strip())
    ):
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
    rich = web_links(source)
    assert inked("".join(part.text for part in rich_parts(rich))) == inked(rich.text)


def test_a_text_full_of_looks_loses_looks_and_not_words_or_links() -> None:
    source = "**a** *b* " * 300 + "[l](https://a.example)"

    block = rich_block(web_links(source))
    assert seen(block).endswith("l")
    assert [one["url"] for one in elements(block) if one["type"] == "link"] == ["https://a.example"]
    assert not any("style" in one for one in elements(block))


def test_a_message_full_of_links_is_cut_until_it_fits() -> None:
    source = " ".join(f"[l](https://a.example/{'x' * 900}{number})" for number in range(12))

    sent = rich_shown_calls(source)
    assert len(sent) > 1
    assert all(len(call.text) <= PART_LIMIT for call in sent)
    assert all(f"{'x' * 900}{number}" in "".join(call.text for call in sent) for number in range(12))


@pytest.mark.requirement("content:slack-formatted")
def test_an_edit_keeps_the_format_and_the_buttons() -> None:
    revises = Revision(delivery_id=DeliveryId("d0"), provider_ids=(STAMP, "1700000000.000200"))
    card = Markup(buttons=((Button(label="Yes", token="t"),),))

    last, first = rich_shown_calls(f"{'word ' * 1000}\n\n**b**", revises=revises, markup=card)
    assert [block["type"] for block in last.body["blocks"]] == ["rich_text", "actions"]
    assert [block["type"] for block in first.body["blocks"]] == ["rich_text"]
    assert last.body["blocks"][1]["elements"][0]["value"] == "t"


def test_a_repeated_message_says_so_outside_of_every_span() -> None:
    [call] = rich_shown_calls("**b**", repeated=True)
    assert elements(call.body["blocks"][0]) == [text("b", "bold"), text(f"\n\n{REPEAT_MARK}")]
    full = rich_shown_calls("**" + "x" * 2990 + "**", repeated=True)
    assert [len(calls.body["blocks"]) for calls in full] == [1, 1]
    assert full[1].text == REPEAT_MARK


HOSTILE = ["<!channel>", "<@U1>", "<!subteam^S1>", "<https://evil.example|home.example>", "a & b", "<!date^1^{date}|x>"]


@pytest.mark.requirement("house:slack-text-is-data")
@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_slack_would_read_as_more_than_text_is_left(text: str) -> None:
    assert not {"<", ">"} & set(escaped(text))
    assert typed(escaped(text)) == text


def test_a_text_of_ampersands_is_cut_where_it_fits() -> None:
    assert [len(piece) for piece in plain_parts("&" * 1500)] == [600, 600, 300]


def test_a_few_signs_that_are_written_longer_do_not_make_many_parts_of_few() -> None:
    text = "Tom & Ann say hello. " * 280

    assert len(plain_parts(text)) == 3


def test_the_mark_of_a_repetition_has_a_part_of_its_own_when_there_is_no_room() -> None:
    assert plain_parts("short", repeated=True) == [f"short\n\n{REPEAT_MARK}"]
    assert plain_parts("x" * PART_LIMIT, repeated=True) == ["x" * PART_LIMIT, REPEAT_MARK]


def test_what_is_too_long_is_shortened_by_what_it_is_written_as() -> None:
    assert shortened("a & b", 75) == "a &amp; b"
    assert utf16_length(shortened("a & b " * 30, 75)) <= 75
    assert shortened("x" * 100, 75) == "x" * 74 + "…"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Yes &amp; no", "Yes & no"),
        ("&amp;lt;", "&lt;"),
        ("see <https://home.example/a>", "see https://home.example/a"),
        ("see <http://home.example|home.example>", "see home.example"),
        ("<mailto:ada@example.org|ada@example.org>", "ada@example.org"),
        ("ask <@U2>", "ask @U2"),
        ("ask <@U2|bob> in <#C2|general>", "ask @bob in #general"),
        ("<!here> and <!subteam^S1|@team>", "@here and @team"),
        (":+1: or :thumbsup:", "👍 or 👍"),
        ("at 12:30:45 :unknown_one:", "at 12:30:45 :unknown_one:"),
        ("<@UBOT> Yes", "Yes"),
        ("<@UBOT>, yes", "yes"),
    ],
)
def test_a_persons_words_are_read_as_they_were_typed(written: str, meant: str) -> None:
    assert typed(written, "UBOT") == meant
