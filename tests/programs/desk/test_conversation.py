from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.programs.desk.conversation import Line, conversation_id, history
from postroom.programs.desk.records import ConversationRecord, decode, encode, split
from postroom.programs.desk.who import Who

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def record(
    text: str, *, minutes_ago: float = 1, who: Who = Who.ASSISTANT, project: str = "/p", conversation: str = "conv_a"
) -> ConversationRecord:
    moment = NOW - timedelta(minutes=minutes_ago)
    return ConversationRecord(
        version=3, timestamp=moment, conversation_id=conversation, who=who, text=text, project_path=project
    )


def exchanges(count: int) -> list[ConversationRecord]:
    return [
        record(f"{who.value} {number}", minutes_ago=count - number, who=who)
        for number in range(count)
        for who in (Who.ASSISTANT, Who.PERSON)
    ]


@pytest.mark.parametrize(
    ("minutes_ago", "project", "adopted"),
    [(4.9, "/p", True), (5.0, "/p", False), (1, "/other", False)],
    ids=["fresh", "too old", "another project"],
)
@pytest.mark.requirement("popup:switch-session")
def test_a_fresh_conversation_of_the_project_goes_on(minutes_ago: float, project: str, adopted: bool) -> None:
    found = conversation_id(
        [record("hi", minutes_ago=minutes_ago, project=project)], project_path="/p", now=NOW, dice=Random(1)
    )
    assert (found == "conv_a") is adopted
    assert adopted or found.startswith("conv_20261115_120000_")


@given(st.integers(0, 12), st.integers(0, 8))
@pytest.mark.requirement("popup:history-limit")
def test_the_last_exchanges_are_shown_and_no_more(count: int, limit: int) -> None:
    lines = history(exchanges(count), project_path="/p", limit=limit)
    assert len(lines) == 2 * min(count, limit)
    assert not lines or lines[-1].text == f"stt {count - 1}"


def test_an_unanswered_message_is_an_exchange_and_an_answer_may_have_several_lines() -> None:
    said = [
        record("one", minutes_ago=9),
        record("old", minutes_ago=8, who=Who.PERSON),
        record("two", minutes_ago=7),
        record("and three", minutes_ago=6),
        record("yes", minutes_ago=5, who=Who.PERSON),
        record("really", minutes_ago=4, who=Who.PERSON),
    ]
    shown = [[line.text for line in history(said, project_path="/p", limit=limit)] for limit in (1, 2)]
    assert shown == [["and three", "yes", "really"], ["two", "and three", "yes", "really"]]


@pytest.mark.requirement("popup:switch-history")
def test_spoken_and_typed_lines_stand_in_order_whatever_their_ids() -> None:
    said = [
        record("popup", minutes_ago=3, conversation="conv_b"),
        record("voice", minutes_ago=5, conversation="conv_a"),
        record("[no speech detected]", minutes_ago=4, who=Who.PERSON),
        record("elsewhere", minutes_ago=2, project="/other"),
    ]
    assert history(said, project_path="/p", limit=5) == (
        Line(who=Who.ASSISTANT, text="voice"),
        Line(who=Who.ASSISTANT, text="popup"),
    )


def test_a_text_that_was_logged_in_parts_is_one_again() -> None:
    text = "long words " * 300
    written = [decode(encode(part)) for part in split(record(text, who=Who.PERSON))]
    assert len(written) == 2
    assert history([part for part in written if part], project_path="/p", limit=5) == (Line(who=Who.PERSON, text=text),)
