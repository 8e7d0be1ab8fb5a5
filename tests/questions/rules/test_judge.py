"""One attempt, judged: who, when, which wording, where, what."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clock import START_US
from tests.questions.sample_questions import ANNA as SAMPLE_QUESTIONS_ANNA
from tests.questions.sample_questions import BEN, HOUR_US, new_attempt, new_question

from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.message.inbound import Assurance, Flag
from postroom.questions.model import (
    ENDED,
    Attempt,
    Presentation,
    Question,
    QuestionAnswer,
    QuestionMove,
    QuestionStatus,
    Said,
    Verdict,
    VerdictKind,
    decided,
)
from postroom.questions.model import ended as over
from postroom.questions.rules import plan as moves
from postroom.questions.rules.judge import AnswerPolicy, judge, may_answer

NOW = START_US + seconds(1)
END = START_US + HOUR_US
CARD = Presentation(
    id="c1",
    question_id="q1",
    person_id="anna",
    channel="telegram",
    address="555",
    created_at_us=START_US,
    updated_at_us=START_US,
)


def judged(question: Question, now_us: int = NOW, *, shown: Presentation | None = None, **attempt: Any) -> Verdict:
    return judge(question, new_attempt(question, **attempt), now_us, shown)


def test_a_person_who_was_asked_answers() -> None:
    verdict = judged(new_question())

    assert (verdict.kind, verdict.answer, verdict.declined) == (
        VerdictKind.ACCEPTED,
        QuestionAnswer(value="ship"),
        False,
    )


def test_a_person_who_was_asked_may_rather_not_say() -> None:
    verdict = judged(new_question(), said=Said(declined=True))

    assert (verdict.kind, verdict.answer, verdict.declined) == (VerdictKind.ACCEPTED, None, True)


@pytest.mark.requirement("ask:who-may-answer")
@pytest.mark.parametrize(
    ("attempt", "code"),
    [
        ({"person_id": "mallory"}, "not_asked"),
        ({"person_id": None}, "unknown_person"),
        ({"assurance": Assurance.NONE}, "unknown_person"),
        ({"flags": frozenset({Flag.FORWARDED})}, "forwarded"),
        ({"flags": frozenset({Flag.BOT})}, "bot"),
        ({"flags": frozenset({Flag.ANONYMOUS})}, "anonymous"),
        ({"flags": frozenset({Flag.AUTOMATIC})}, "automatic"),
    ],
)
def test_who_is_not_a_verified_person_that_was_asked_does_not_answer(attempt: dict[str, Any], code: str) -> None:
    verdict = judged(new_question(), **attempt)

    assert (verdict.kind, verdict.code) == (VerdictKind.UNAUTHORISED, code)


@pytest.mark.requirement("ask:who-may-answer")
@pytest.mark.parametrize(
    ("asker", "attempt"),
    [
        ("person:anna", {}),
        ("user:anna", {}),
        ("operator", {"actor": "operator", "operator": True, "channel": "console"}),
        ("butler:general", {"actor": "butler:general"}),
    ],
)
def test_the_asker_does_not_answer(asker: str, attempt: dict[str, Any]) -> None:
    assert judged(new_question(asker=asker), **attempt).code == "asker"


def test_an_operator_answers_by_policy() -> None:
    question = new_question()
    attempt = new_attempt(question, person_id="owner", operator=True, channel="console")

    assert judge(question, attempt, NOW).kind is VerdictKind.ACCEPTED
    assert judge(question, attempt, NOW, None, AnswerPolicy(operators=False)).code == "not_asked"


@pytest.mark.requirement("ask:sent-in-time")
@pytest.mark.parametrize(
    ("now_us", "said_at_us", "kind"),
    [
        (END, None, VerdictKind.ACCEPTED),
        (END + 1, None, VerdictKind.LATE),
        (END + seconds(59), END, VerdictKind.ACCEPTED),
        (END + seconds(59), END + 1, VerdictKind.LATE),
        (NOW, END + HOUR_US, VerdictKind.ACCEPTED),  # a provider whose clock is ahead
        (NOW, START_US - HOUR_US, VerdictKind.ACCEPTED),  # and one whose clock is behind
    ],
)
def test_a_text_counts_from_when_it_was_sent_and_a_press_from_when_it_is_heard(
    now_us: int, said_at_us: int | None, kind: VerdictKind
) -> None:
    assert judged(new_question(), now_us, said_at_us=said_at_us).kind is kind


def ended(status: QuestionStatus) -> Question:
    question = new_question()
    attempt = new_attempt(question, person_id="ben")
    answer = Verdict(kind=VerdictKind.ACCEPTED, answer=QuestionAnswer(value="wait"))
    by = {
        QuestionStatus.ANSWERED: decided(question, attempt, answer),
        QuestionStatus.DECLINED: decided(question, attempt, replace(answer, declined=True)),
        QuestionStatus.EXPIRED: moves.expired(question, caught_up=True, now_us=END),
        QuestionStatus.CANCELLED: moves.cancelled(question, reason=None, now_us=NOW),
        QuestionStatus.SUPERSEDED: over(question, QuestionMove.SUPERSEDE, NOW),
    }
    return by[status].question


@pytest.mark.requirement("ask:one-winner")
@pytest.mark.parametrize("status", sorted(ENDED))
def test_after_the_end_nothing_is_accepted(status: QuestionStatus) -> None:
    verdict = judged(ended(status), said_at_us=NOW)

    lost = status in (QuestionStatus.ANSWERED, QuestionStatus.DECLINED)
    assert verdict.kind is (VerdictKind.LOST_RACE if lost else VerdictKind.LATE)
    assert (verdict.reason == "Ben was first") is lost


def test_a_stranger_learns_nothing_about_the_end() -> None:
    assert judged(ended(QuestionStatus.ANSWERED), person_id="mallory").kind is VerdictKind.UNAUTHORISED


@pytest.mark.requirement("ask:old-buttons-die")
@pytest.mark.parametrize(
    ("revision", "kind"), [(1, VerdictKind.INVALID), (2, VerdictKind.ACCEPTED), (None, VerdictKind.ACCEPTED)]
)
def test_only_the_present_wording_is_answered(revision: int | None, kind: VerdictKind) -> None:
    question = replace(new_question(), revision=2)

    assert judged(question, revision=revision).kind is kind


@pytest.mark.requirement("ask:secrets")
@pytest.mark.parametrize(
    ("channel", "kind"),
    [
        ("desk", VerdictKind.ACCEPTED),
        ("console", VerdictKind.ACCEPTED),
        ("telegram", VerdictKind.UNAUTHORISED),
        ("email", VerdictKind.UNAUTHORISED),
        ("mcp", VerdictKind.UNAUTHORISED),
    ],
)
def test_a_secret_is_said_at_the_desk_or_in_the_console(channel: str, kind: VerdictKind) -> None:
    question = new_question(options=None, secret=True)

    assert judged(question, said=Said(text="hunter2"), channel=channel).kind is kind


def test_what_is_too_risky_for_a_phone_is_decided_in_the_console() -> None:
    question = new_question(kind="approve", options=None)
    policy = AnswerPolicy(outside_console=lambda _: False)
    press = partial(new_attempt, question, Said(value="approve"))

    assert judge(question, press(), NOW, None, policy).code == "console_only"
    assert judge(question, press(channel="console"), NOW, None, policy).answer == QuestionAnswer(value="approve")


def test_a_sender_that_could_be_forged_chooses_but_does_not_approve() -> None:
    low = partial(judged, assurance=Assurance.LOW)

    assert low(new_question()).kind is VerdictKind.ACCEPTED
    assert low(new_question(kind="approve", options=None), said=Said(value="approve")).code == "assurance"


def test_ticking_decides_nothing_and_sending_takes_what_is_ticked() -> None:
    question = new_question(options=["a", "b", "c"], multiple=True)
    ticked = replace(CARD, toggles=("c",))

    assert judged(question, said=Said(toggle="a"), shown=ticked).toggles == ("a", "c")
    assert judged(question, said=Said(toggle="c"), shown=ticked).toggles == ()
    assert judged(question, said=Said(toggle="a"), shown=ticked).kind is VerdictKind.NOT_YET
    assert judged(question, said=Said(toggle="z"), shown=ticked).kind is VerdictKind.INVALID
    assert judged(question, said=Said(send=True), shown=ticked).answer == QuestionAnswer(selected=("c",))
    assert judged(question, said=Said(send=True), shown=CARD).code == "nothing_selected"
    assert judged(new_question(), said=Said(toggle="ship"), shown=CARD).kind is VerdictKind.INVALID


SAYINGS = st.builds(
    Said,
    value=st.none() | st.sampled_from(["ship", "x"]),
    text=st.none() | st.text(max_size=10),
    toggle=st.none() | st.sampled_from(["ship", "x"]),
    send=st.booleans(),
    declined=st.booleans(),
)


@given(
    status=st.sampled_from(QuestionStatus),
    said=SAYINGS,
    person=st.sampled_from(["anna", "ben", "mallory", None]),
    assurance=st.sampled_from(Assurance),
    flags=st.frozensets(st.sampled_from(Flag), max_size=2),
    revision=st.none() | st.integers(0, 3),
    now_us=st.integers(START_US, END + HOUR_US),
    said_at_us=st.none() | st.integers(START_US - HOUR_US, END + HOUR_US),
)
def test_whatever_comes_has_one_verdict_and_only_the_entitled_are_accepted(
    status: QuestionStatus,
    said: Said,
    person: str | None,
    assurance: Assurance,
    flags: frozenset[Flag],
    revision: int | None,
    now_us: int,
    said_at_us: int | None,
) -> None:
    question = new_question() if status is QuestionStatus.OPEN else ended(status)
    attempt: Attempt = new_attempt(
        question,
        said,
        person_id=person,
        assurance=assurance,
        flags=flags,
        revision=revision,
        said_at_us=said_at_us,
    )

    verdict = judge(question, attempt, now_us, CARD)

    accepted = verdict.kind is VerdictKind.ACCEPTED
    assert accepted == (verdict.answer is not None or verdict.declined)
    assert accepted or verdict.kind is VerdictKind.NOT_YET or (verdict.code and verdict.reason)
    if accepted:
        assert question.is_open
        assert person in (SAMPLE_QUESTIONS_ANNA.id, BEN.id)
        assert not flags
        assert assurance is not Assurance.NONE
        assert revision in (None, 1)
        assert min(now_us, now_us if said_at_us is None else said_at_us) <= END


ANNA = Principal(Role.PERSON, "anna")
WHO = {
    "asked": (ANNA, True),
    "asked, by an inbox token": (Principal(Role.USER, "anna"), True),
    "another person": (Principal(Role.PERSON, "zoe"), False),
    "the operator": (OPERATOR, True),
    "the owner, who was not asked": (Principal(Role.PERSON, "owner"), False),
    "a butler": (Principal(Role.BUTLER, "anna"), False),
    "a program of hers": (Principal(Role.PROGRAM, "cron", person="anna"), False),
}


@pytest.mark.parametrize(("who", "may"), WHO.values(), ids=WHO)
def test_those_who_were_asked_and_the_operator_may(who: Principal, may: bool) -> None:
    assert may_answer(who, new_question(), START_US) is may


def test_whoever_asks_may_not() -> None:
    assert not may_answer(ANNA, new_question(asker="person:anna"), START_US)


def test_after_the_end_no_one_may() -> None:
    question = new_question()

    assert not may_answer(ANNA, replace(question, status=QuestionStatus.CANCELLED), START_US)
    assert not may_answer(ANNA, question, START_US + 2 * HOUR_US)
