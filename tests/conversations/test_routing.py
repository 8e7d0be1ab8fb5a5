"""Where a message goes: the order of the rules, whatever else is true of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.conversations.model import InboundFacts, RouteKind, route
from postroom.message.inbound import Flag, InboundMessage
from postroom.people.model import Person, PersonRole

pytestmark = pytest.mark.requirement("talk:order")
BUTLERS = {"general": True, "health": True}
ADA = Person(
    id="p1",
    owner_agent="agent://owner",
    name="Ada",
    agent_address="agent://ada",
    role=PersonRole.MEMBER,
    source="test",
    created_at_us=0,
    updated_at_us=0,
)


def words(text: str | None = "What is on today?", **more: Any) -> InboundMessage:
    return InboundMessage(
        channel="telegram", number=1, message_id="9", places=("77",), sender="77", text=text, alone=True, **more
    )


def facts(**more: Any) -> InboundFacts:
    known: dict[str, Any] = {
        "message": words(),
        "person": ADA,
        "butlers": BUTLERS,
        "sessions_per_day": 5,
        "tokens_per_day": 9,
    }
    return InboundFacts(**known | more)


HEALTHY = replace(ADA, default_butler="health")
CASES: dict[str, tuple[InboundFacts, RouteKind, str | None]] = {
    "an answer": (facts(open_questions=("q",), thread="health"), RouteKind.ANSWER, None),
    "a thread before a name": (facts(thread="health", message=words("/general hi")), RouteKind.BUTLER, "health"),
    "a name with a slash": (facts(message=words("/health hi"), person=HEALTHY), RouteKind.BUTLER, "health"),
    "a name with an at": (facts(message=words("@General: hi")), RouteKind.BUTLER, "general"),
    "a name and the bot's": (facts(message=words("/general@our_bot hi")), RouteKind.BUTLER, "general"),
    "a name without words": (facts(message=words("/general")), RouteKind.CHOICE, "general"),
    "a name that is none": (facts(message=words("/jeeves hi"), person=HEALTHY), RouteKind.UNKNOWN, None),
    "a word that is none in a thread": (facts(thread="health", message=words("/stopp")), RouteKind.UNKNOWN, None),
    "a path": (facts(message=words("/etc/hosts is gone"), person=HEALTHY), RouteKind.BUTLER, "health"),
    "the default": (facts(person=HEALTHY), RouteKind.BUTLER, "health"),
    "a default that is gone": (facts(person=replace(ADA, default_butler="old")), RouteKind.CHOICE, None),
    "the only one": (facts(butlers={"general": True, "health": False}), RouteKind.BUTLER, "general"),
    "a choice": (facts(), RouteKind.CHOICE, None),
    "no model at all": (facts(butlers={"general": False}), RouteKind.NO_MODEL, None),
    "no model where it was named": (
        facts(butlers={"general": False, "health": True}, message=words("/general hi")),
        RouteKind.NO_MODEL,
        "general",
    ),
    "the day's limit": (facts(person=HEALTHY, sessions_today=5), RouteKind.LIMIT, "health"),
    "a stranger": (facts(person=None), RouteKind.STRANGER, None),
    "a stranger in a group": (facts(person=None, message=words(flags=frozenset())), RouteKind.STRANGER, None),
    "not for us": (facts(message=replace(words(), alone=False)), RouteKind.IGNORED, None),
    "named in a group": (
        facts(message=replace(words(), alone=False, addressed=True), person=HEALTHY),
        RouteKind.BUTLER,
        "health",
    ),
    "no words": (facts(message=words(" ")), RouteKind.IGNORED, None),
    "a picture": (facts(message=words(None)), RouteKind.IGNORED, None),
}


@pytest.mark.parametrize(("known", "kind", "target"), CASES.values(), ids=CASES)
def test_each_rule(known: InboundFacts, kind: RouteKind, target: str | None) -> None:
    routed = route(known)

    assert (routed.kind, routed.target) == (kind, target)
    assert routed.reason


def test_the_butler_gets_the_words_without_its_name() -> None:
    assert route(facts(message=words("/health  Did I\nsleep? "))).words == "Did I\nsleep?"
    assert route(facts(message=words("/health hi"), thread="general")).words == "/health hi"


ANYTHING = st.builds(
    InboundFacts,
    message=st.builds(
        InboundMessage,
        channel=st.just("telegram"),
        number=st.just(1),
        message_id=st.just("9"),
        places=st.just(("77",)),
        sender=st.sampled_from([None, "77"]),
        text=st.one_of(st.none(), st.text(), st.sampled_from(["/general x", "@health y", "/stop", "/general"])),
        alone=st.booleans(),
        addressed=st.booleans(),
        flags=st.frozensets(st.sampled_from(Flag)),
    ),
    person=st.sampled_from([None, ADA, HEALTHY]),
    open_questions=st.sampled_from([(), ("q",)]),
    thread=st.sampled_from([None, "health", "messenger"]),
    butlers=st.dictionaries(st.sampled_from(["general", "health", "home"]), st.booleans()),
    sessions_today=st.integers(0, 3),
    sessions_per_day=st.integers(1, 3),
    tokens_today=st.integers(0, 3),
    tokens_per_day=st.integers(1, 3),
)


@given(ANYTHING)
def test_a_session_is_only_for_a_verified_persons_own_words_to_us(known: InboundFacts) -> None:
    routed, message = route(known), known.message

    if routed.kind is RouteKind.BUTLER:
        assert known.person is not None and not message.flags and not known.open_questions
        assert message.alone or message.addressed or known.thread
        assert known.butlers[routed.target or ""] and routed.words.strip()
        assert known.sessions_today < known.sessions_per_day and known.tokens_today < known.tokens_per_day


@given(ANYTHING)
def test_what_answers_a_question_goes_nowhere_else(known: InboundFacts) -> None:
    assert (route(known).kind is RouteKind.ANSWER) == bool(known.open_questions)


@given(ANYTHING)
def test_bots_and_machines_are_never_answered(known: InboundFacts) -> None:
    if known.message.flags & {Flag.BOT, Flag.AUTOMATIC} and not known.open_questions:
        assert route(known).kind is RouteKind.IGNORED


@given(ANYTHING)
def test_the_same_facts_are_routed_the_same_way_with_a_reason(known: InboundFacts) -> None:
    assert route(known) == route(known) and route(known).reason
