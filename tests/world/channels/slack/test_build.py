from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from postroom.domain.delivery import Intent, Message
from postroom.domain.errors import ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Button, ButtonStyle, Markup, Revision
from postroom.world.channels.slack.build import build, marking_key
from postroom.world.channels.slack.call import SlackCall

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


def test_a_reaction_is_named_as_slack_names_it() -> None:
    [call] = calls(intent=Intent.REACT, thread="1.2", emoji="🎉")

    assert (call.method, call.body) == ("reactions.add", {"channel": "C1", "timestamp": "1.2", "name": "tada"})


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


def test_no_error_may_quote_what_is_behind_a_button() -> None:
    [call] = calls(markup=CARD)

    assert "Ship" not in repr(call)
    assert "q1" not in repr(call)


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
