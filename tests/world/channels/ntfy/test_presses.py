"""What was posted to the topic for answers, once each, from where the last look ended."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.domain.assurance import Assurance
from postroom.domain.inbound_message import Press
from postroom.world.channels.ntfy.presses import Presses, since

SECOND = 1_780_000_000
US = 1_000_000


def event(name: str, text: str = "t0ken anna", second: int = SECOND, **more: Any) -> dict[str, Any]:
    return {"id": name, "time": second, "event": "message", "topic": "answers", "message": text, **more}


@pytest.fixture
def presses() -> Presses:
    return Presses("ntfy-home", Assurance.LOW)


def test_a_press_is_of_the_topic_the_card_went_to(presses: Presses) -> None:
    heard = presses.heard(None, [event("a")])

    assert heard.position == SECOND * US
    assert heard.events == [
        Press(
            channel="ntfy-home",
            event_id="press:a",
            callback_id="a",
            places=("anna",),
            sender="anna",
            token="t0ken",
            assurance=Assurance.LOW,
        )
    ]


@pytest.mark.parametrize(
    "text", ["hello", "one two three", "", "t" * 65 + " anna", "t0ken no/topic", "t\u00f6ken anna"]
)
def test_other_words_say_nothing_and_are_passed_over(presses: Presses, text: str) -> None:
    heard = presses.heard(None, [event("a", text)])
    assert (heard.events, heard.position) == ([], SECOND * US)


@pytest.mark.parametrize(
    "nonsense",
    [
        {},
        {"event": "open", "id": "o"},
        {"event": "keepalive", "id": "k"},
        {"event": "message"},
        {"event": "message", "id": 7},
    ],
)
def test_what_is_no_message_says_nothing(presses: Presses, nonsense: dict[str, Any]) -> None:
    assert presses.heard(None, [nonsense]).position is None


def test_positions_grow_within_one_second_too_and_nothing_comes_twice(presses: Presses) -> None:
    first = presses.heard(None, [event("a")])
    second = presses.heard(first.position, [event("a"), event("b")])
    third = presses.heard(second.position, [event("a"), event("b")])

    assert [one.event_id for one in second.events] == ["press:b"]
    assert (first.position or 0) < (second.position or 0)
    assert third.position is None


def test_what_was_not_handled_comes_again(presses: Presses) -> None:
    before = presses.heard(None, [event("a")]).position
    presses.heard(before, [event("b")])
    again = presses.heard(before, [event("a"), event("b")])

    assert [one.event_id for one in again.events] == ["press:b"]


def test_a_message_that_the_server_shows_late_is_not_missed(presses: Presses) -> None:
    position = presses.heard(None, [event("a")]).position
    late = presses.heard(position, [event("late", second=SECOND - 5)])

    assert int(since(position)) <= SECOND - 5
    assert [one.event_id for one in late.events] == ["press:late"]
    assert (late.position or 0) > (position or 0)


def test_after_a_restart_the_last_seconds_come_again_under_the_same_ids() -> None:
    position = Presses("ntfy", Assurance.LOW).heard(None, [event("a")]).position
    again = Presses("ntfy", Assurance.LOW).heard(position, [event("a")])

    assert [one.event_id for one in again.events] == ["press:a"]
    assert (again.position or 0) > (position or 0)


def test_without_a_position_everything_is_read() -> None:
    assert since(None) == "all"
