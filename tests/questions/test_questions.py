"""What every door calls, on a real store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.clock import START_US, FakeClock
from tests.opened_database import opened_file
from tests.patience import PATIENCE_SECONDS
from tests.questions.asking_office import ANNA, BEN, HEALTH, OTHER, Office, keeper, office_on
from tests.questions.card_post import CardPost
from tests.questions.sample_questions import ANNA as SAMPLE_QUESTIONS_ANNA
from tests.questions.sample_questions import BEN as SAMPLE_QUESTIONS_BEN
from tests.questions.sample_questions import HOUR_US, new_attempt, new_question

from postroom.kernel.acts.reading import made
from postroom.kernel.running.process import Seal
from postroom.kernel.values.errors import Code, Refused, ValidationError
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.moments import Reason
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OPERATOR, Principal, Role
from postroom.people.people import GOOD_FOR_SECONDS
from postroom.people.person_rules import vouched
from postroom.questions.acts import AskPeople
from postroom.questions.model import (
    BY_DEFAULT,
    Added,
    PresentationStatus,
    Question,
    QuestionAnswer,
    QuestionStatus,
    Said,
    VerdictKind,
)
from postroom.questions.model import QuestionEventType as Type
from postroom.questions.questions import Questions
from postroom.questions.rules import plan as moves
from postroom.questions.rules.plan import question_moments
from postroom.questions.rules.request import KeyReused, WordsGiven
from postroom.questions.store.questions import StoredQuestions


@pytest.mark.requirement("ask:addressed")
async def test_a_question_without_recipients_is_for_the_owner_on_all_their_channels(office: Office) -> None:
    view = await office.ask()
    assert [(person.id, person.name) for person in view.question.people] == [("owner", "Olga")]
    assert [(one.channel, one.address, one.status) for one in view.presentations] == [
        ("telegram", "1000", PresentationStatus.PLANNED),
        ("email", "olga@example.org", PresentationStatus.PLANNED),
    ]


async def test_the_owners_new_address_is_asked_at_once_and_one_set_by_another_process_two_seconds_later(
    small: Office,
) -> None:
    async def move(office: Office, to: str) -> None:
        book = office.asking.planning.people.book
        wished = vouched(to, None, 1)
        await book.change(HOUSEHOLD_OWNER, "owner", lambda one: replace(one.as_written, addresses=wished), now_us=2)

    async def asked_at() -> list[str]:
        return [one.address for one in (await small.ask(channels=["telegram"], question="Where?")).presentations]

    await small.ask()
    await move(small, "4711")
    assert await asked_at() == ["4711"]

    await move(office_on(small.database, small.clock), "4712")
    small.clock.jump(GOOD_FOR_SECONDS)
    await small.asking.cancel(HEALTH, (await small.asking.listing(HEALTH, limit=1))[0].question.id)
    assert await asked_at() == ["4712"]


@pytest.mark.requirement("ask:not-shown")
async def test_a_person_who_cannot_be_reached_is_said_so_at_once_with_the_reason(small: Office) -> None:
    view = await small.ask(to=["Ben", "Berta"])
    assert [(one.person_id, one.channel, one.status, one.reason) for one in view.presentations] == [
        ("b2", "slack", PresentationStatus.FAILED, "slack is not set up"),
        ("ben", "telegram", PresentationStatus.FAILED, "no address on telegram"),
        ("ben", "email", PresentationStatus.FAILED, "no address on email"),
    ]
    assert view.question.is_open


@pytest.mark.parametrize(
    ("arguments", "field", "words"),
    [
        ({"to": "Annna"}, "recipient", "did you mean “Anna”?"),
        ({"to": "Alex"}, "recipient", "several people"),
        ({"escalate_to": "Zoe", "escalate_after_seconds": 60}, "escalate_to", "no person"),
        ({"channels": ["pigeon"]}, "channels", "no channel “pigeon”"),
        ({"resume": {"prompt": "Go on", "butler": "general"}}, "resume.butler", "only be the butler that asks"),
    ],
)
@pytest.mark.requirement("ask:addressed")
async def test_a_wrong_name_is_refused_and_nothing_is_stored(
    small: Office, arguments: dict[str, object], field: str, words: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        await small.ask(**arguments)
    assert [one.field for one in refused.value.fields] == [field]
    assert words in refused.value.message
    assert await small.store.listing() == []


async def test_wished_channels_narrow_where_it_is_shown_and_the_console_needs_no_card(small: Office) -> None:
    view = await small.ask(channels=["email", "console"])
    assert [one.channel for one in view.presentations] == ["email"]


@pytest.mark.requirement("ask:waiting")
async def test_a_waiter_is_woken_by_the_commit_and_collects_the_answer(office: Office) -> None:
    asked = asyncio.create_task(office.ask(to="anna", wait_seconds=60))
    await office.clock.parked()
    (question,) = await office.store.listing()
    heard = await office.asking.answer(ANNA, question.id, Said(value="yes"), channel="console", event_id="1")
    assert heard.verdict.kind is VerdictKind.ACCEPTED
    view = await asyncio.wait_for(asked, PATIENCE_SECONDS)
    assert view.question.status is QuestionStatus.ANSWERED
    assert view.question.answer is not None and view.question.answer.value == "yes"
    kept = await office.store.get(question.id)
    assert kept is not None and kept.collected_at_us is not None


async def test_an_end_that_another_process_commits_is_seen_within_a_second(office: Office) -> None:
    elsewhere = office_on(office.database, office.clock)
    asked = asyncio.create_task(office.ask(to="anna", wait_seconds=60))
    await office.clock.parked()
    (question,) = await office.store.listing()
    await elsewhere.asking.answer(ANNA, question.id, Said(value="no"), channel="console", event_id="1")
    assert not asked.done()
    await office.clock.advance(1)
    assert (await asyncio.wait_for(asked, PATIENCE_SECONDS)).question.answer is not None


async def test_waiting_tells_of_progress_every_ten_seconds_and_ends_with_an_open_question(small: Office) -> None:
    told: list[float] = []

    async def progress(waited: float) -> None:
        told.append(waited)

    request = made(AskPeople, question="Well?").request()
    asked = asyncio.create_task(small.asking.ask(HEALTH, request, wait_seconds=25, progress=progress))
    for _ in range(25):
        await small.clock.parked()
        await small.clock.advance(1)
    view = await asyncio.wait_for(asked, PATIENCE_SECONDS)
    assert view.question.is_open
    assert told == [10, 20]


@pytest.mark.requirement("ask:waiting")
async def test_a_wait_that_is_cancelled_leaves_the_question_as_it_is(small: Office) -> None:
    asked = asyncio.create_task(small.ask(to="anna", wait_seconds=60))
    await small.clock.parked()
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    (question,) = await small.store.listing()
    assert question.is_open and question.collected_at_us is None


async def test_the_same_key_joins_and_another_question_under_it_is_refused_with_the_id(office: Office) -> None:
    first = await office.ask(idempotency_key="k1")
    again = await office.ask(idempotency_key="k1")
    assert (again.question.id, again.joined, first.joined) == (first.question.id, True, False)
    assert len(again.presentations) == 2
    with pytest.raises(KeyReused) as refused:
        await office.ask(idempotency_key="k1", question="Something else?")
    assert refused.value.ask_id == first.question.id


async def test_the_stored_answer_is_handed_to_whoever_asks_again_under_the_key(small: Office) -> None:
    view = await small.ask(to="anna", idempotency_key="k")
    await small.asking.answer(ANNA, view.question.id, Said(value="yes"), channel="console", event_id="1")
    assert (await small.asking.wait(HEALTH, key="k", wait_seconds=0)).question.status is QuestionStatus.ANSWERED
    assert (await small.ask(to="anna", idempotency_key="k", wait_seconds=60)).question.answer is not None


@pytest.mark.requirement("ask:own-questions")
async def test_questions_of_others_are_not_found(small: Office) -> None:
    ask_id = (await small.ask(to="anna")).question.id
    attempts = [
        small.asking.wait(OTHER, ask_id=ask_id, wait_seconds=0),
        small.asking.cancel(OTHER, ask_id, None),
        small.asking.revise(OTHER, ask_id, WordsGiven(question="?")),
        small.asking.read(BEN, ask_id),
        small.asking.answer(BEN, ask_id, Said(value="yes"), channel="console", event_id="1"),
        small.asking.answer(OTHER, ask_id, Said(value="yes"), channel="console", event_id="2"),
        small.asking.answer(ANNA, "no-such", Said(value="yes"), channel="console", event_id="3"),
    ]
    for attempt in attempts:
        with pytest.raises(Refused) as refused:
            await attempt
        assert refused.value.code is Code.NOT_FOUND
    assert (await small.asking.read(ANNA, ask_id)).question.is_open


async def test_a_person_does_not_see_what_the_asker_keeps_for_itself(small: Office) -> None:
    ask_id = (await small.ask(to="anna", state={"step": 3}, idempotency_key="mine")).question.id
    seen = (await small.asking.read(ANNA, ask_id)).question
    assert (seen.state, seen.key) == (None, None)
    assert (await small.asking.wait(HEALTH, ask_id=ask_id, wait_seconds=0)).question.state == {"step": 3}


async def test_answers_are_those_of_one_asker_after_a_cursor(office: Office) -> None:
    first, second = await office.ask(to="anna", question="One?"), await office.ask(to="anna", question="Two?")
    await office.ask(OTHER, to="anna", question="Not yours?")
    await office.asking.answer(ANNA, second.question.id, Said(value="no"), channel="console", event_id="1")
    page = await office.asking.answers(HEALTH, since=None, limit=10)
    assert [view.question.id for view in page.views] == [second.question.id]
    await office.asking.cancel(HEALTH, first.question.id, "not needed")
    later = await office.asking.answers(HEALTH, since=page.cursor, limit=10)
    assert [view.question.status for view in later.views] == [QuestionStatus.CANCELLED]
    assert (await office.asking.answers(HEALTH, since=later.cursor, limit=10)).cursor == later.cursor


@pytest.mark.parametrize(("since", "limit", "field"), [("x", 10, "since"), (None, 0, "limit"), (None, 999, "limit")])
async def test_a_page_that_cannot_be_is_refused(small: Office, since: str | None, limit: int, field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        await small.asking.answers(HEALTH, since=since, limit=limit)
    assert refused.value.fields[0].field == field


async def test_a_secret_is_handed_to_its_asker_alone_and_wiped_five_minutes_after(small: Office) -> None:
    view = await small.ask(to="anna", kind="text", options=None, question="Password?", secret=True)
    heard = await small.asking.answer(ANNA, view.question.id, Said(text="hunter2"), channel="desk", event_id="1")
    assert heard.verdict.kind is VerdictKind.ACCEPTED
    assert heard.view.question.answer is None
    assert (await small.asking.answers(HEALTH, since=None, limit=1)).views[0].question.answer is None
    assert (await small.asking.wait(OPERATOR, ask_id=view.question.id, wait_seconds=0)).question.answer is None
    times = keeper(small, CardPost())
    for seconds_later in (0, 0, 299):
        small.clock.jump(seconds_later)
        await times.look()
        told = await small.asking.wait(HEALTH, ask_id=view.question.id, wait_seconds=0)
        assert told.question.answer is not None and told.question.answer.text == "hunter2"
    small.clock.jump(1)
    await times.look()
    assert (await small.asking.wait(HEALTH, ask_id=view.question.id, wait_seconds=0)).question.answer is None


async def test_a_revision_replaces_the_words_and_an_ended_question_takes_none(small: Office) -> None:
    view = await small.ask(to="anna")
    revised = await small.asking.revise(HEALTH, view.question.id, WordsGiven(question="Ship it today?"))
    assert (revised.question.wording.question, revised.question.revision) == ("Ship it today?", 2)
    old = await small.asking.answer(
        ANNA, view.question.id, Said(value="yes"), channel="console", event_id="1", revision=1
    )
    assert old.verdict.code == "old_revision"
    await small.asking.cancel(HEALTH, view.question.id, None)
    with pytest.raises(Refused) as refused:
        await small.asking.revise(HEALTH, view.question.id, WordsGiven(question="?"))
    assert refused.value.code is Code.ILLEGAL_TRANSITION


async def test_a_person_is_not_asked_by_themselves_and_the_owner_may_answer_what_their_scripts_ask(
    small: Office,
) -> None:
    with pytest.raises(ValidationError):
        await small.ask(Principal(Role.PERSON, "anna"), to="anna")
    view = await small.ask(OPERATOR)
    heard = await small.asking.answer(OPERATOR, view.question.id, Said(value="no"), channel="cli", event_id="1")
    assert heard.verdict.kind is VerdictKind.ACCEPTED
    assert heard.view.question.answered_by is not None
    assert (heard.view.question.answered_by.person_id, heard.view.question.answered_by.name) == ("owner", "Olga")


@pytest.mark.requirement("ask:own-questions")
async def test_listings_show_each_caller_what_concerns_them(small: Office) -> None:
    await small.ask(to="anna", question="One?")
    await small.ask(OTHER, question="Two?")

    async def seen(caller: Principal, *, mine: bool = False) -> list[str]:
        return [view.question.wording.question for view in await small.asking.listing(caller, mine=mine)]

    assert await seen(HEALTH) == ["One?"]
    assert await seen(ANNA) == ["One?"]
    assert await seen(BEN) == []
    assert await seen(OPERATOR) == ["Two?", "One?"]
    assert await seen(OPERATOR, mine=True) == ["Two?"]
    assert await seen(Principal(Role.PROGRAM, "mailer", person="anna")) == []


async def test_a_closing_house_lets_those_who_wait_go(small: Office) -> None:
    asked = asyncio.create_task(small.ask(wait_seconds=60))
    await small.clock.parked()
    small.bells.close()
    assert (await asyncio.wait_for(asked, PATIENCE_SECONDS)).question.is_open


async def test_the_story_of_a_question_is_for_those_who_may_see_it_and_attempts_for_the_owner(small: Office) -> None:
    ask_id = (await small.ask(to="anna")).question.id
    await small.asking.answer(ANNA, ask_id, Said(value="maybe"), channel="console", event_id="1")
    await small.asking.answer(ANNA, ask_id, Said(value="yes"), channel="console", event_id="2")
    hers, owners = await small.asking.story(ANNA, ask_id), await small.asking.story(OPERATOR, ask_id)
    assert [str(event.type) for event in hers.events] == ["ask.opened", "ask.answered"]
    assert (len(hers.attempts), len(owners.attempts)) == (0, 2)
    with pytest.raises(Refused):
        await small.asking.story(BEN, ask_id)


async def test_the_same_event_id_under_another_question_is_another_answer(office: Office) -> None:
    first, second = await office.ask(), await office.ask(question="And this?")
    for view in (first, second):
        heard = await office.asking.answer(
            OPERATOR, view.question.id, Said(value="yes"), channel="console", event_id="1"
        )

        assert str(heard.verdict.kind) == "accepted"
        assert not heard.view.question.is_open


NOW = START_US + seconds(60)


@pytest.mark.requirement("ask:default")
def test_silence_has_the_default_as_its_answer_and_says_that_no_person_acted() -> None:
    with_one = moves.expired(new_question(default="wait"), caught_up=True, now_us=NOW).question
    without = moves.expired(new_question(), caught_up=True, now_us=NOW).question

    assert (with_one.status, with_one.answer, with_one.answered_by) == (
        QuestionStatus.EXPIRED,
        QuestionAnswer(value="wait"),
        BY_DEFAULT,
    )
    assert (without.answer, without.answered_by, without.reason) == (None, None, None)


def test_an_end_that_could_not_wait_for_everything_says_so() -> None:
    assert moves.expired(new_question(), caught_up=False, now_us=NOW).question.reason == moves.NOT_CAUGHT_UP


def test_a_cancelled_question_says_why() -> None:
    cancelled = moves.cancelled(new_question(), reason="not needed", now_us=NOW)

    assert (cancelled.event, cancelled.question.reason) == (Type.CANCELLED, "not needed")
    assert cancelled.question.ended_at_us == NOW


def test_another_wording_is_another_revision_and_another_deadline_is_not() -> None:
    question = new_question()
    words = moves.revised(question, replace(question.wording, question="Now?"), now_us=NOW)
    later = moves.revised(question, question.wording, expires_at_us=NOW + HOUR_US, now_us=NOW)
    same = moves.revised(question, question.wording, now_us=NOW)

    assert (words.event, words.question.revision) == (Type.REVISED, 2)
    assert words.question.revision_hash != question.revision_hash
    assert words.question.fingerprint == question.fingerprint
    assert (later.event, later.question.revision) == (Type.REVISED, 1)
    assert later.question.expires_at_us == NOW + HOUR_US
    assert (same.event, same.question) == (None, question)


def test_escalation_adds_people_once_and_removes_none() -> None:
    question = new_question(escalate_to="cleo", escalate_after_seconds=60)
    once = moves.escalated(question, now_us=NOW)
    twice = moves.escalated(once.question, now_us=NOW)

    assert [person.id for person in once.question.people] == ["anna", "ben", "cleo"]
    assert once.event == Type.ESCALATED
    assert twice.event is None


def test_a_revision_after_an_escalation_is_still_the_question_that_was_asked() -> None:
    question = new_question(escalate_to="cleo", escalate_after_seconds=60)
    escalated = moves.escalated(question, now_us=NOW).question

    assert moves.revised(escalated, question.wording, now_us=NOW).event is None


def test_it_is_open_until_its_deadline_and_knows_when_something_is_due() -> None:
    question = new_question(remind_after_seconds=60)

    assert (question.status, question.revision) == (QuestionStatus.OPEN, 1)
    assert question.expires_at_us == START_US + HOUR_US
    assert question_moments(question)[Reason.REMIND] == START_US + 60_000_000
    assert question.fingerprint == question.revision_hash


def test_a_person_named_twice_is_asked_once() -> None:
    question = new_question(
        people=(SAMPLE_QUESTIONS_ANNA, SAMPLE_QUESTIONS_BEN, replace(SAMPLE_QUESTIONS_ANNA, name="Anna B."))
    )

    assert [person.id for person in question.people] == ["anna", "ben"]


def test_those_it_escalates_to_may_not_answer_yet() -> None:
    question = new_question(escalate_to="cleo", escalate_after_seconds=60)

    assert not question.asks("cleo")
    assert [person.added for person in question.escalate_to] == [Added.ESCALATED]


class House:
    """What a household has around its questions."""

    def __init__(self, store: StoredQuestions) -> None:
        self.clock = FakeClock()
        self.rung: list[QuestionStatus] = []
        self.store = store
        self.questions = Questions(store, self.clock, changed=self.ring)

    def ring(self, question: Question) -> None:
        self.rung.append(question.status)

    async def status(self, question: Question) -> QuestionStatus:
        found = await self.store.get(question.id)
        assert found is not None
        return found.status


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with opened_file(tmp_path) as database:
        yield House(StoredQuestions(database, Seal(bytes(32))))


async def test_a_question_is_asked_answered_and_the_bell_rings_for_both(house: House) -> None:
    question = (await house.questions.ask(new_question())).question
    assert (await house.questions.ask(new_question())).joined
    await house.clock.advance(60)
    attempt = new_attempt(question, heard_at_us=0)

    heard = await house.questions.hear(attempt)
    again = await house.questions.hear(attempt)

    assert heard and heard.question.ended_at_us == START_US + seconds(60)
    assert again and again.repeated
    assert house.rung == [QuestionStatus.OPEN, QuestionStatus.ANSWERED]


@pytest.mark.requirement("ask:idempotent")
async def test_a_key_that_stands_for_another_question_is_refused_with_its_id(house: House) -> None:
    first = (await house.questions.ask(new_question(idempotency_key="k1"))).question

    with pytest.raises(KeyReused) as caught:
        await house.questions.ask(new_question(idempotency_key="k1", question="Stop it?"))

    assert caught.value.ask_id == first.id
    assert [(item.field, item.code) for item in caught.value.fields] == [("idempotency_key", "key_reused")]


async def test_a_question_is_revised_or_cancelled(house: House) -> None:
    one = (await house.questions.ask(new_question())).question

    revised = await house.questions.revise(one.id, replace(one.wording, question="Now?"))
    cancelled = await house.questions.cancel(one.id, "enough")

    assert revised and revised.revision == 2
    assert cancelled and (cancelled.status, cancelled.reason) == (QuestionStatus.CANCELLED, "enough")
    assert await house.questions.cancel("no-such") is None
    assert await house.questions.hear(new_attempt(new_question())) is None
