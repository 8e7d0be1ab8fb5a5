"""Why a notice is where it is, in sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.attention.sample import HOUR, MINUTE, NIGHT, PERSON, accepted, at, book, empty

from postroom.attention.model import NoticeState
from postroom.attention.reading import NoticeView, SendView
from postroom.attention.rules.simulate import simulate
from postroom.attention.state import Acked, Fact, MayArriveTwice, Withdrawn
from postroom.overview.why_held import _ENDS, why_held, why_notice

pytestmark = pytest.mark.requirement("attention:why-notice")
QUIET = {"quiet_hours": NIGHT}


def view(policy: dict[str, Any], *facts: Fact, until: str = "2026-01-06T12:00") -> NoticeView:
    run = simulate(facts, book(policy), state=empty(), until_us=at(until))
    return NoticeView(
        standing=run.state.notices["a"],
        sends=tuple(SendView(send=one, delivery_id="d1") for one in run.state.sends.values()),
        decisions=tuple(one for one in run.decisions if one.notice == "a"),
    )


def test_what_is_held_says_why_and_when_it_is_looked_at_next() -> None:
    held = view(QUIET, accepted("a", "23:00"), until="23:30")
    said = why_notice(held, "Ada", at("23:30"))
    assert said.startswith("cook wrote this to Ada 30 minutes ago.")
    assert "It is held because it is quiet for them; the next look is in 7 hours" in said


def test_what_was_held_and_sent_says_both_and_names_the_delivery() -> None:
    sent = view(QUIET, accepted("a", "23:00"))
    said = why_notice(sent, "Ada", at("2026-01-06T12:00"))
    assert "It was held 13 hours ago because it is quiet for them" in said
    assert said.endswith("It was sent. Delivery d1 carried it over telegram (notice).")
    assert (why_held(sent, at("2026-01-06T12:00")) or "").startswith("It was a notice before (a). It was held")


def test_what_left_at_once_was_not_held() -> None:
    assert why_held(view({}, accepted("a", "09:00")), at("09:01")) is None


def test_each_end_says_how_it_came_to_that() -> None:
    facts = [accepted("a", "23:00", key="k"), Withdrawn(at_us=at("23:10"), agent="cook", key="k")]
    assert "It was withdrawn and not sent" in why_notice(view(QUIET, *facts), "Ada", at("23:20"))
    expired = view(QUIET, accepted("a", "23:00", expires_us=at("23:30")))
    assert "It was not sent: its time was over." in why_notice(expired, "Ada", at("23:40"))
    asked = view({}, accepted("a", "09:00", needs_ack=True), Acked(at_us=at("09:05"), notice="a", by=PERSON))
    assert "It was acknowledged." in why_notice(asked, "Ada", at("09:06"))


def test_what_may_arrive_twice_says_where() -> None:
    first = view({}, accepted("a", "09:00"))
    key = first.sends[0].send.key
    again = view(
        {}, accepted("a", "09:00"), MayArriveTwice(at_us=at("09:00") + MINUTE, notice="a", send=key, channel="telegram")
    )
    assert again.standing.uncertain
    assert "It may arrive twice: telegram was sending it already" in why_notice(again, "Ada", at("09:00") + HOUR)


def test_there_are_words_for_every_state() -> None:
    first = view({}, accepted("a", "09:00"))
    for state in NoticeState:
        assert why_notice(replace(first, standing=replace(first.standing, state=state)), "Ada", at("10:00"))
    assert set(_ENDS) == set(NoticeState) - {NoticeState.ACCEPTED, NoticeState.HELD}
