from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.clock import START_US
from tests.questions.asking_office import CHANNELS
from tests.questions.sample_questions import new_question
from tests.support.markdown_texts import inked, markdown

from postroom.kernel.text.markdown import parse
from postroom.kernel.values.ids import seconds
from postroom.message.delivery import Format, Intent, Priority
from postroom.message.inbound import Assurance
from postroom.message.markup import ButtonStyle
from postroom.questions.model import (
    BY_DEFAULT,
    AnsweredBy,
    Presentation,
    Preview,
    Question,
    QuestionAnswer,
    QuestionStatus,
    TokenAction,
)
from postroom.questions.rules.cards import CardMaker, hash_of, kept_token, token_of, unfolded
from postroom.questions.rules.plan import ChannelAbility
from postroom.questions.rules.words import CardText, composed, ending_line

OURS = "1. *Ship* – now_\nAnswer by 10:00 UTC."


def of(text: str) -> CardText:
    return CardText(text, Format.MARKDOWN)


def test_plain_parts_stay_plain_to_the_letter() -> None:
    assert composed(CardText("a *b*"), CardText(""), CardText("c")) == CardText("a *b*\n\nc")


@pytest.mark.requirement("content:questions-formatted")
def test_our_own_words_are_no_markup_beside_the_askers() -> None:
    card = composed(CardText("h_e_a asks:"), of("**Ship**?"), CardText(OURS))

    assert card.format is Format.MARKDOWN
    rich = parse(card.text)
    assert rich.text == f"h_e_a asks:\n\nShip?\n\n{OURS}"
    assert [rich.under(span) for span in rich.spans] == ["Ship"]


@pytest.mark.requirement("content:questions-formatted", "content:no-injection")
@pytest.mark.parametrize("source", ["```\ncode", "~~~~\nx", "a " * 9_999], ids=["fence", "tildes", "long"])
def test_what_would_reach_into_our_words_is_shown_as_readable_text(source: str) -> None:
    assert composed(of(source), CardText(OURS)) == CardText(f"{of(source).plain}\n\n{OURS}")


@pytest.mark.requirement("content:nothing-lost", "content:no-injection", "content:questions-formatted")
@settings(deadline=None)  # a machine may be busy
@given(markdown, st.one_of(st.just(""), markdown))
def test_whatever_is_asked_the_card_says_all_of_it_and_ends_with_our_words(question: str, context: str) -> None:
    card = composed(CardText("health asks:"), of(question), of(context), CardText(OURS))

    seen = parse(card.text) if card.format is Format.MARKDOWN else None
    assert inked(seen.text if seen else card.text).endswith(inked(OURS))
    if seen:
        alone = [link.detail for part in (question, context) if part for link in parse(part).links]
        assert [link.detail for link in seen.links] == alone
        assert inked(seen.text) == inked(
            "health asks:" + "".join(parse(part).text for part in (question, context) if part) + OURS
        )


MAKER = CardMaker(channels=CHANNELS, key=b"k", base_url="https://home.example")
DAY = seconds(86_400)


def shown(channel: str = "telegram", **changes: Any) -> Presentation:
    card = Presentation(
        id="p1",
        question_id="q1",
        person_id="anna",
        channel=channel,
        address="2000",
        created_at_us=START_US,
        updated_at_us=START_US,
    )
    return replace(card, **changes)


def labels(question: Question, card: Presentation) -> list[list[str]]:
    markup = MAKER.asking(question, card).outgoing.markup
    return [] if markup is None else [list(row) for row in markup.labels]


@pytest.mark.requirement("ask:card")
def test_a_card_on_the_phone_has_the_question_its_context_and_buttons() -> None:
    question = new_question(context="Build 17 is green.", urgency="critical")
    card = MAKER.asking(question, shown())
    assert card.outgoing.message == ("general asks:\nShip it?\n\nBuild 17 is green.\n\nAnswer by 01:00 UTC.")
    assert labels(question, shown()) == [["ship", "wait", "…"]]
    assert (card.outgoing.channel, card.outgoing.recipient, card.outgoing.idempotency_key) == (
        "telegram",
        "2000",
        "ask:p1:1",
    )
    assert card.outgoing.priority is Priority.HIGH
    assert card.outgoing.markup is not None
    rest = MAKER.buttons(question, shown(), "e1", rest=True).markup
    assert rest is not None
    pressed = [one.token or "" for one in (*card.outgoing.markup.every_button, *rest.every_button) if one.url is None]
    assert {one.hash for one in card.tokens} == {hash_of(unfolded(token)[1]) for token in pressed}
    assert all(len(token.encode()) <= 64 for token in pressed)


@pytest.mark.requirement("ask:card-rest")
def test_what_else_can_be_pressed_stands_in_place_of_the_answers_with_a_way_back() -> None:
    question = new_question()
    rest, back = (MAKER.buttons(question, shown(), "e1", rest=one).markup for one in (True, False))
    assert rest is not None and rest.labels == (("✏️ Other", "Rather not"), ("Open", "‹ Back"))
    assert rest.buttons[1][0].url == f"https://home.example/console/questions/{question.id}"
    assert back is not None and back.labels == (("ship", "wait", "…"),)
    at_home = replace(MAKER, base_url="").buttons(question, shown(), "e1", rest=True).markup
    assert at_home is not None and at_home.labels == (("✏️ Other", "Rather not"), ("‹ Back",))


@pytest.mark.requirement("content:questions-formatted")
def test_a_card_in_markdown_says_so_and_its_ends_do_too() -> None:
    question = new_question(question="**Ship** it?", context="See [log](https://ci.example).", format="markdown")

    card = MAKER.asking(question, shown()).outgoing
    assert card.format is Format.MARKDOWN
    assert card.message.startswith("general asks\\:\n\n**Ship** it?\n\nSee [log](https://ci.example).\n\nAnswer by")
    assert MAKER.asking(question, shown("email")).outgoing.subject == "Question: Ship it?"
    assert "“Ship it?”" in MAKER.reminder(question, shown(revision=1)).message
    assert MAKER.reminder(question, shown()).format is Format.PLAIN
    ticked = MAKER.buttons(question, shown(), "e1")
    assert (ticked.message, ticked.format) == ("", Format.PLAIN)
    missed = MAKER.missed(question, shown(), START_US, START_US + 60)
    assert (missed.format, "I could not hear you" in missed.message) == (Format.MARKDOWN, True)
    ended = replace(question, status=QuestionStatus.EXPIRED, ended_at_us=START_US)
    assert MAKER.closing(ended, shown()).format is Format.MARKDOWN


@pytest.mark.requirement("content:questions-formatted")
def test_a_secret_in_markdown_says_as_little_as_any() -> None:
    card = MAKER.asking(new_question(question="**PIN**?", secret=True, format="markdown"), shown()).outgoing
    assert "PIN" not in card.message
    assert card.format is Format.PLAIN


def test_the_same_card_made_again_is_the_same_message_and_another_wording_has_other_tokens() -> None:
    question = new_question()
    assert MAKER.asking(question, shown()) == MAKER.asking(question, shown())
    other = MAKER.asking(replace(question, revision=2), shown())
    assert not {one.hash for one in other.tokens} & {one.hash for one in MAKER.asking(question, shown()).tokens}


def test_an_approval_has_its_two_words_in_two_colours() -> None:
    question = new_question(kind="approve", options=None)
    markup = MAKER.asking(question, shown()).outgoing.markup
    assert markup is not None
    assert [(one.label, one.style) for one in markup.buttons[0]] == [
        ("Approve", ButtonStyle.SUCCESS),
        ("Deny", ButtonStyle.DANGER),
    ]
    assert markup.labels[1:] == (("Rather not",),)


@pytest.mark.parametrize(
    ("arguments", "rows"),
    [
        ({"options": ["a" * 17, "b"], "allow_text": False}, [["a" * 17], ["b"], ["Rather not"]]),
        ({"options": ["a", "b", "c"], "multiple": True}, [["✅ a", "b"], ["c"], ["Send", "…"]]),
        ({"options": ["this evening", "tomorrow"]}, [["this evening", "tomorrow"], ["…"]]),
        ({"kind": "text", "options": None}, [["✏️ Answer", "Rather not"]]),
    ],
)
def test_rows_of_buttons(arguments: dict[str, Any], rows: list[list[str]]) -> None:
    assert labels(new_question(**arguments), shown(toggles=("a",))) == rows


@pytest.mark.requirement("ask:card")
def test_a_mail_has_a_subject_numbers_and_one_link_that_opens_and_decides_nothing() -> None:
    question = new_question(options=[{"value": "ship", "label": "Ship", "description": "today"}, "wait"])
    card = MAKER.asking(question, shown("email"))
    assert card.outgoing.subject == "Question: Ship it?"
    assert "1. Ship – today\n2. wait" in card.outgoing.message
    assert [one.action for one in card.tokens] == [TokenAction.OPEN]


@pytest.mark.parametrize("channel", ["telegram", "email"])
@pytest.mark.parametrize("hidden", [{"secret": True}, {"preview": "none"}])
def test_what_may_not_be_seen_on_a_lock_screen_is_not_on_the_card(channel: str, hidden: dict[str, Any]) -> None:
    question = new_question(kind="text", options=None, question="The code?", context="Of the safe.", **hidden)
    card = MAKER.asking(question, shown(channel)).outgoing
    assert "code" not in f"{card}" and "safe" not in f"{card}"
    assert card.markup is not None
    assert [one.url for one in card.markup.every_button] == [f"https://home.example/console/questions/{question.id}"]
    ended = replace(question, status=QuestionStatus.ANSWERED, answer=QuestionAnswer(text="1234"), ended_at_us=START_US)
    assert "1234" not in MAKER.closing(ended, shown(channel)).message


def test_a_preview_of_the_title_leaves_the_context_out() -> None:
    question = replace(new_question(context="Between us."), preview=Preview.TITLE)
    assert "Between us." not in MAKER.asking(question, shown()).outgoing.message


def test_characters_that_turn_the_reading_are_not_on_a_card() -> None:
    question = new_question(question="Pay\u202e 001 \u2066now\x07?", options=["a\u202eb", "c"])
    card = MAKER.asking(question, shown()).outgoing
    assert "Pay 001 now?" in card.message
    assert card.markup is not None and card.markup.labels[0][:2] == ("ab", "c")


def test_a_reminder_and_a_box_answer_the_card_where_there_are_threads() -> None:
    question, card = new_question(), shown(provider_ids=("7", "8"), delivery_id="d1", revision=1)
    for outgoing in (MAKER.reminder(question, card), MAKER.own_words(question, card, "e1", alone=True)):
        assert outgoing.intent is Intent.REPLY
        assert outgoing.context is not None and outgoing.context.source_thread_identity == "2000:8"
    assert MAKER.reminder(question, shown("email")).intent is Intent.SEND


BY = AnsweredBy(person_id="anna", name="Anna", channel="email", assurance=Assurance.CHANNEL)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"status": "answered", "answer": QuestionAnswer(value="ship")},
            "✅ Ship!: answered by Anna via email, 14:03 UTC",
        ),
        (
            {"status": "answered", "answer": QuestionAnswer(selected=("ship", "wait"))},
            "✅ Ship!, wait: answered by Anna via email, 14:03 UTC",
        ),
        (
            {"status": "answered", "answer": QuestionAnswer(text="x\n" * 200)},
            "✅ " + "x " * 99 + "x…: answered by Anna via email, 14:03 UTC",
        ),
        (
            {"status": "answered", "answer": QuestionAnswer(fields={"n": 1})},
            "✅ n: 1: answered by Anna via email, 14:03 UTC",
        ),
        ({"status": "declined"}, "🚫 Anna would rather not answer, via email, 14:03 UTC"),
        ({"status": "expired", "answered_by": None}, "⌛ Not answered in time, 14:03 UTC"),
        (
            {"status": "expired", "answered_by": BY_DEFAULT, "answer": QuestionAnswer(value="wait")},
            "⌛ Not answered in time, so “wait” stands, 14:03 UTC",
        ),
        ({"status": "cancelled", "reason": "done"}, "✖️ Taken back (done), 14:03 UTC"),
        ({"status": "superseded"}, "✖️ Another question took its place, 14:03 UTC"),
        (
            {"status": "declined", "ended_at_us": START_US + DAY},
            "🚫 Anna would rather not answer, via email, 2026-01-02 00:00 UTC",
        ),
    ],
)
def test_one_line_says_how_it_ended(changes: dict[str, Any], line: str) -> None:
    question = new_question(options=[{"value": "ship", "label": "Ship!"}, "wait"])
    at = {"ended_at_us": START_US + seconds(14 * 3600 + 3 * 60), "answered_by": BY}
    changed = {**at, **changes, "status": QuestionStatus(changes["status"])}
    assert ending_line(replace(question, **changed), "UTC") == line


FEW = CardMaker(
    channels={"ntfy": ChannelAbility(buttons=True, edits=True, inbound=True, most_buttons=3, replies=False)},
    key=b"k",
    base_url="https://home.example",
)


def few(**wording: Any) -> tuple[str, list[str]]:
    card = FEW.asking(new_question(**wording), shown("ntfy", address="anna-phone")).outgoing
    return card.message, [label for row in (card.markup.labels if card.markup else ()) for label in row]


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        (["ship", "wait"], ["ship", "wait", "Open"]),
        (["ship", "wait", "ask again"], ["ship", "wait", "ask again", "Open"]),
    ],
)
def test_where_nothing_can_be_written_back_the_options_come_first_and_a_page_has_the_rest(
    options: list[str], labels: list[str]
) -> None:
    message, shown_labels = few(options=options)
    assert shown_labels == labels
    assert "Reply" not in message


@pytest.mark.requirement("ask:card-rest")
@pytest.mark.parametrize(
    ("most", "edits", "labels"),
    [
        (None, True, ["ship", "wait", "…"]),
        (3, True, ["ship", "wait", "…"]),
        (2, True, ["ship", "wait"]),
        (None, False, ["ship", "wait", "✏️ Other", "Rather not"]),
    ],
)
def test_the_rest_is_behind_one_button_where_that_has_room_and_a_card_can_be_edited(
    most: int | None, edits: bool, labels: list[str]
) -> None:
    able = replace(CHANNELS["telegram"], most_buttons=most, edits=edits)
    markup = replace(MAKER, channels={"telegram": able}).asking(new_question(), shown()).outgoing.markup
    assert markup is not None and [one.label for one in markup.every_button] == labels


@pytest.mark.parametrize(
    "wording",
    [
        {"options": ["one", "two", "three", "four"]},
        {"options": ["one", "two"], "multiple": True},
        {"kind": "text", "options": None},
    ],
    ids=["too many", "several at once", "words"],
)
def test_what_one_press_cannot_answer_there_has_a_link_and_its_options_in_the_text(wording: dict[str, Any]) -> None:
    message, labels = few(**wording)
    assert labels == ["Answer"]
    assert "Reply" not in message
    assert all(option in message for option in wording["options"] or ())
    assert "1. one" in message or not wording["options"]


def with_few(most: int, base_url: str = "https://home.example") -> CardMaker:
    """On a channel with few buttons."""
    able = replace(CHANNELS["telegram"], most_buttons=most)
    return CardMaker(channels={"telegram": able}, key=b"k", base_url=base_url)


@pytest.mark.requirement("chan:buttons-that-fit")
def test_options_that_do_not_fit_on_buttons_are_a_numbered_list_and_a_link() -> None:
    fits, full = with_few(2).asking(new_question(), shown()), with_few(1).asking(new_question(), shown())

    assert fits.outgoing.markup is not None and full.outgoing.markup is not None
    assert [list(row) for row in fits.outgoing.markup.labels] == [["ship", "wait"]]
    assert [list(row) for row in full.outgoing.markup.labels] == [["Answer"]]
    assert [one.action for one in full.tokens] == [TokenAction.OPEN]
    assert "1. ship\n2. wait" in full.outgoing.message and "1. ship" not in fits.outgoing.message


@pytest.mark.requirement("chan:buttons-that-fit")
def test_without_a_link_the_list_stands_alone_and_says_how_to_reply() -> None:
    card = with_few(1, base_url="").asking(new_question(), shown())

    assert card.outgoing.markup is None and card.tokens == ()
    assert "1. ship" in card.outgoing.message and "eply" in card.outgoing.message


KEY = b"k" * 32


def test_a_button_has_the_same_token_whenever_it_is_made() -> None:
    made = [token_of(KEY, "c1", 1, TokenAction.OPTION, "ship") for _ in range(2)]

    assert made[0] == made[1]
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", made[0])


def test_another_card_wording_action_option_or_key_is_another_token() -> None:
    tokens = {
        token_of(KEY, "c1", 1, TokenAction.OPTION, "ship"),
        token_of(KEY, "c2", 1, TokenAction.OPTION, "ship"),
        token_of(KEY, "c1", 2, TokenAction.OPTION, "ship"),
        token_of(KEY, "c1", 1, TokenAction.TOGGLE, "ship"),
        token_of(KEY, "c1", 1, TokenAction.OPTION, "wait"),
        token_of(KEY, "c1", 1, TokenAction.SEND, None),
        token_of(b"x" * 32, "c1", 1, TokenAction.OPTION, "ship"),
    }

    assert len(tokens) == 7


def test_only_its_hash_is_kept() -> None:
    token = token_of(KEY, "c1", 1, TokenAction.OPTION, "ship")
    kept = kept_token(token, "c1", 1, TokenAction.OPTION, "ship")

    assert token not in str(kept)
    assert kept.hash == hash_of(token)
    assert hash_of("\ud800 whatever a client sends")
