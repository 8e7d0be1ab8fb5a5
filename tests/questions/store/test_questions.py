"""Erasing what people wrote: one suite for SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, delete, select, text
from sqlalchemy.exc import DBAPIError
from tests.clock import START_US
from tests.opened_database import opened_file
from tests.patience import PATIENCE_SECONDS
from tests.questions.sample_questions import ANNA, BEN, MINT, new_attempt, new_question
from tests.support.query_plans import query_plans

from postroom.conversations.store import WRITTEN
from postroom.delivery.files.taking import DAY_US, retention
from postroom.household.store import stored_people
from postroom.kernel.database.engine import Database
from postroom.kernel.database.moments import StoredMoments
from postroom.kernel.running.process import Seal
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.ids import IdMint, seconds
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.overview.pruning import Pruner
from postroom.people.model import NewPerson
from postroom.questions.model import (
    AskedPerson,
    Attempt,
    PlannedPresentation,
    Presentation,
    PresentationStatus,
    Question,
    QuestionAnswer,
    QuestionKind,
    QuestionStatus,
    Said,
    Subject,
    SubjectKind,
    Token,
    TokenAction,
    Verdict,
    VerdictKind,
)
from postroom.questions.model import QuestionEventType as Type
from postroom.questions.rules import plan as moves
from postroom.questions.rules.judge import judge
from postroom.questions.store.presentations import StoredPresentations
from postroom.questions.store.questions import StoredQuestions, erase_asked, erase_old, old_questions
from postroom.questions.store.tables import question_attempts, question_events, questions

NOW = START_US + seconds(90)
PLACE = PlannedPresentation(person_id="anna", channel="telegram", address="555")


@pytest.fixture
def store(database: Database) -> StoredQuestions:
    return StoredQuestions(database, Seal(bytes(32)))


async def answered(store: StoredQuestions, database: Database, **arguments: Any) -> str:
    question = (await store.ask(new_question(context="private", state="mine", **arguments))).question
    cards = StoredPresentations(database, MINT.mint, WRITTEN)
    (card,) = await cards.plan(question.id, ["anna"], [PLACE], NOW)
    await cards.issue(
        [Token(hash=question.id, presentation_id=card.id, action=TokenAction.OPTION, option="ship", revision=1)]
    )
    attempt = new_attempt(question, Said(text="words"), person_id=question.people[0].id)
    await store.hear(attempt, lambda one, tried, shown: judge(one, tried, tried.heard_at_us, shown))
    return question.id


async def erased(database: Database, before_us: int) -> int:
    return await database.write(
        lambda connection: erase_old(connection, ended_before_us=before_us, now_us=NOW, limit=10)
    )


async def removed(database: Database) -> int:
    return await database.write(
        lambda connection: connection.execute(delete(questions).where(old_questions(NOW))).rowcount
    )


async def test_the_words_go_and_who_when_and_how_stays(store: StoredQuestions, database: Database) -> None:
    question_id = await answered(store, database, idempotency_key="k1")
    await store.ask(new_question(context="private, and open"))

    assert await erased(database, START_US) == 0
    assert await erased(database, NOW) == 1
    assert await erased(database, NOW) == 0

    def everything(connection: Connection) -> str:
        mine = question_attempts.c.question_id == question_id
        asked = (select(questions).where(questions.c.id == question_id), select(question_attempts).where(mine))
        return str([tuple(row) for one in asked for row in connection.execute(one)])

    kept = await database.read(everything)
    assert not any(word in kept for word in ("private", "Ship it?", "words", "mine"))
    question = await store.get(question_id)
    assert question and question.answered_by
    assert (question.status, question.answered_by.person_id) == (QuestionStatus.ANSWERED, "anna")
    assert (question.wording.kind, question.wording.question) == (QuestionKind.CHOICE, "")
    assert (await store.ask(new_question(context="private", idempotency_key="k1"))).joined, (
        "its key still stands for it"
    )
    assert await StoredPresentations(database, MINT.mint, WRITTEN).pressed(question_id) is None


async def test_what_one_person_was_asked_can_be_erased_alone(store: StoredQuestions, database: Database) -> None:
    anna = await answered(store, database, people=(ANNA,), idempotency_key="a")
    ben = await answered(store, database, people=(BEN,), idempotency_key="b")

    assert await database.write(lambda connection: erase_asked(connection, "anna", NOW)) == 1

    of_anna, of_ben = await store.get(anna), await store.get(ben)
    assert of_anna and of_ben
    assert (of_anna.wording.question, of_ben.wording.question) == ("", "Ship it?")


async def test_what_was_erased_and_is_old_enough_is_removed_with_all_that_hangs_on_it(
    store: StoredQuestions, database: Database
) -> None:
    question_id = await answered(store, database)
    assert await removed(database) == 0, "its words are erased first"
    await erased(database, NOW)

    assert await removed(database) == 1

    assert await store.get(question_id) is None
    left = select(question_events.c.position)
    assert await database.read(lambda connection: connection.execute(left).all()) == []


@pytest.mark.requirement("ask:question-retention")
async def test_the_pruner_erases_the_words_first_and_the_question_after_a_year(
    store: StoredQuestions, database: Database
) -> None:
    question_id = await answered(store, database)
    pruner = Pruner(database=database, batch=10, tell=lambda *_: None, rest=_no_rest)

    async def pruned(days: int) -> tuple[int, int]:
        keep = retention(NOW + days * DAY_US, 90 * DAY_US)
        counted, done = await pruner.estimate(keep), await pruner.prune(keep)
        assert counted["words of questions"] == done["words of questions"]
        return done["words of questions"], done["questions"]

    assert [await pruned(days) for days in (29, 31, 364)] == [(0, 0), (1, 0), (0, 0)]
    kept = await store.get(question_id)
    assert kept is not None and kept.wording.question == ""
    assert await pruned(366) == (0, 1)


@pytest.mark.requirement("ask:question-retention")
async def test_with_a_person_who_is_removed_the_words_of_their_questions_go(
    store: StoredQuestions, database: Database
) -> None:
    people = stored_people(database, MINT)
    ann = await people.create(HOUSEHOLD_OWNER, NewPerson(name="Ann", aliases=()), source="test", now_us=NOW)
    asked = AskedPerson(id=ann.id, name="Ann")
    over = await answered(store, database, people=(asked,))
    still = (await store.ask(new_question(people=(asked,), context="open"))).question.id

    await people.delete(HOUSEHOLD_OWNER, ann.id, now_us=NOW)

    gone, kept = await store.get(over), await store.get(still)
    assert gone and kept
    assert (gone.wording.question, kept.wording.context) == ("", "open")


async def _no_rest(_: float) -> None:
    """Tests have no time to rest."""


QUESTIONS_NOW = START_US + seconds(1)
SEAL = Seal(bytes(32))
Refused = (DBAPIError, PostroomError)


@pytest.fixture
def questions_store(database: Database) -> StoredQuestions:
    return StoredQuestions(database, SEAL)


def at_hearing(question: Question, attempt: Attempt, shown: Presentation | None) -> Verdict:
    return judge(question, attempt, attempt.heard_at_us, shown)


async def shown_to_anna(database: Database, store: StoredQuestions, question: Question) -> Presentation:
    place = PlannedPresentation(person_id="anna", channel="telegram", address="555")
    cards = StoredPresentations(database, lambda _: f"card-of-{question.id}", WRITTEN)
    return (await cards.plan(question.id, ["anna"], [place], QUESTIONS_NOW))[0]


@pytest.mark.requirement("content:questions-formatted")
@pytest.mark.parametrize("format", ["plain", "markdown"])
async def test_a_question_comes_back_as_it_was_asked(store: StoredQuestions, format: str) -> None:
    question = new_question(
        format=format,
        idempotency_key="k1",
        context="ünïcode 🚀",
        default="wait",
        channels=["telegram"],
        state={"deep": [1, None, "x"]},
        remind_after_seconds=60,
        escalate_to="cleo",
        escalate_after_seconds=120,
        options=[{"value": "ship", "label": "Ship", "description": "now"}, "wait"],
    )
    question = replace(question, subject=Subject(SubjectKind.APPROVAL, "d1"))

    asked = await store.ask(question)

    assert (asked.created, asked.joined, asked.conflict) == (True, False, False)
    assert await store.get(question.id) == question
    assert await store.by_key(question.asker, "k1") == question
    assert await store.about(Subject(SubjectKind.APPROVAL, "d1")) == [question]
    assert await store.get("no-such") is None


@pytest.mark.requirement("ask:idempotent")
async def test_the_same_key_finds_the_question_and_another_question_under_it_is_a_conflict(
    store: StoredQuestions,
) -> None:
    first = new_question(idempotency_key="k1")
    await store.ask(first)

    same = await store.ask(new_question(idempotency_key="k1", deadline_seconds=60, channels=["email"]))
    other = await store.ask(new_question(idempotency_key="k1", question="Stop it?"))
    elsewhere = await store.ask(new_question(idempotency_key="k1", asker="butler:other"))

    assert (same.question, same.joined) == (first, True)
    assert (other.question, other.conflict) == (first, True)
    assert elsewhere.created


@pytest.mark.requirement("ask:idempotent")
async def test_a_revised_question_is_found_under_its_key_by_either_wording(store: StoredQuestions) -> None:
    first = new_question(idempotency_key="k1")
    await store.ask(first)
    wording = replace(first.wording, question="Ship it now?")
    await store.change(first.id, partial(moves.revised, wording=wording, now_us=QUESTIONS_NOW))

    assert (await store.ask(new_question(idempotency_key="k1"))).joined
    assert (await store.ask(new_question(idempotency_key="k1", question="Ship it now?"))).joined
    assert (await store.ask(new_question(idempotency_key="k1", question="Else?"))).conflict


@pytest.mark.requirement("ask:joining")
async def test_without_a_key_an_equal_question_that_waits_is_joined(store: StoredQuestions) -> None:
    first = await store.ask(new_question())

    assert (await store.ask(new_question())).question == first.question
    assert (await store.ask(new_question(asker="butler:other"))).created
    assert (await store.ask(new_question(question="Stop it?"))).created
    assert (await store.ask(new_question(people=(ANNA,)))).created


@pytest.mark.requirement("ask:joining")
async def test_without_a_key_an_answer_is_joined_for_ten_minutes_unless_it_was_collected(
    store: StoredQuestions,
) -> None:
    question = (await store.ask(new_question())).question
    await store.hear(new_attempt(question), at_hearing)

    soon, late = START_US + seconds(599), START_US + seconds(602)
    joined = await store.ask(new_question(now_us=soon))
    asked = await store.ask(new_question(now_us=late))

    assert joined.question.status is QuestionStatus.ANSWERED
    assert asked.created


@pytest.mark.requirement("ask:joining")
async def test_without_a_key_an_approval_that_was_given_is_asked_for_again(store: StoredQuestions) -> None:
    question = (await store.ask(new_question(kind="approve", options=None))).question
    assert (await store.ask(new_question(kind="approve", options=None))).joined
    await store.hear(new_attempt(question, Said(value="approve")), at_hearing)

    assert (await store.get(question.id) or question).status is QuestionStatus.ANSWERED
    assert (await store.ask(new_question(kind="approve", options=None, now_us=QUESTIONS_NOW))).created


@pytest.mark.requirement("ask:joining")
async def test_what_the_asker_took_back_is_asked_anew(store: StoredQuestions) -> None:
    question = (await store.ask(new_question())).question
    await store.change(question.id, partial(moves.cancelled, reason=None, now_us=QUESTIONS_NOW))

    assert (await store.ask(new_question(now_us=QUESTIONS_NOW))).created


@pytest.mark.requirement("ask:joining")
async def test_a_collected_answer_is_not_joined(store: StoredQuestions) -> None:
    question = (await store.ask(new_question())).question
    await store.hear(new_attempt(question), at_hearing)
    await store.collect(question.id, QUESTIONS_NOW)

    assert (await store.ask(new_question(now_us=QUESTIONS_NOW))).created


async def test_of_equal_questions_that_come_together_one_is_stored(store: StoredQuestions) -> None:
    equal = [new_question() for _ in range(3)]
    keyed = [new_question(question=f"{word}?", idempotency_key="k") for word in ("Ship it", "Ship it", "Stop it")]

    found = await asyncio.gather(*map(store.ask, [*equal, *keyed]))

    assert sorted(one.created for one in found[:3]) == [False, False, True]
    assert len({one.question.id for one in found[:3]}) == 1
    assert (sum(one.created for one in found[3:]), sum(one.conflict for one in found[3:])) in ((1, 1), (1, 2))
    assert len(await store.listing()) == 2


async def test_a_question_is_stored_with_its_places(store: StoredQuestions) -> None:
    question = new_question()
    place = PlannedPresentation(person_id=question.people[0].id, channel="telegram", address="1")
    cards = StoredPresentations(store._database, IdMint().mint, WRITTEN)

    await store.ask(question, [place.under("p-1", question.id, question.created_at_us)])

    (shown,) = await cards.of(question.id)
    assert (shown.id, shown.channel, shown.status) == ("p-1", "telegram", PresentationStatus.PLANNED)
    assert await cards.unplanned(question.id) == frozenset()


async def test_of_many_who_ask_the_same_at_once_one_is_first(store: StoredQuestions) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        keyless = await asyncio.gather(*(store.ask(new_question()) for _ in range(12)))
        keyed = await asyncio.gather(*(store.ask(new_question(idempotency_key="k")) for _ in range(12)))

    for asked in (keyless, keyed):
        assert sum(one.created for one in asked) == 1
        assert len({one.question.id for one in asked}) == 1


@pytest.mark.requirement("ask:one-winner")
async def test_of_many_who_answer_at_once_one_wins_and_the_others_are_kept(
    store: StoredQuestions, database: Database
) -> None:
    question = (await store.ask(new_question())).question
    people = [("anna", "telegram"), ("ben", "email"), ("anna", "desk"), ("ben", "console")] * 5
    attempts = [
        new_attempt(question, Said(value=["ship", "wait"][place % 2]), person_id=person, channel=channel)
        for place, (person, channel) in enumerate(people)
    ]

    async with asyncio.timeout(PATIENCE_SECONDS):
        heard = [one for one in await asyncio.gather(*(store.hear(one, at_hearing) for one in attempts)) if one]

    kinds = [one.verdict.kind for one in heard]
    assert sorted(kinds) == [VerdictKind.ACCEPTED, *[VerdictKind.LOST_RACE] * 19]
    winner = attempts[kinds.index(VerdictKind.ACCEPTED)]
    ended = await store.get(question.id)
    assert ended is not None
    assert ended.answer == QuestionAnswer(value=winner.said.value)
    assert ended.answered_by is not None
    assert (ended.answered_by.person_id, ended.answered_by.channel) == (winner.person_id, winner.channel)
    assert len(await store.attempts(question.id)) == 20
    assert [one.type for one in await store.history(question.id)] == [Type.OPENED, Type.ANSWERED]


@pytest.mark.requirement("ask:one-winner")
async def test_an_event_that_comes_again_has_its_first_verdict(store: StoredQuestions) -> None:
    question = (await store.ask(new_question())).question
    attempt = new_attempt(question)

    first = await store.hear(attempt, at_hearing)
    again = await store.hear(replace(attempt, id="another"), at_hearing)

    assert first is not None
    assert again is not None
    assert (again.verdict.kind, again.repeated) == (VerdictKind.ACCEPTED, True)
    assert again.question == first.question
    assert len(await store.attempts(question.id)) == 1


async def test_an_attempt_at_no_question_is_none(store: StoredQuestions) -> None:
    assert await store.hear(new_attempt(new_question()), at_hearing) is None


async def test_what_was_tried_is_kept_with_its_verdict(store: StoredQuestions) -> None:
    question = (await store.ask(new_question(allow_text=False))).question
    attempt = new_attempt(question, Said(text="perhaps"), said_at_us=QUESTIONS_NOW)

    await store.hear(attempt, at_hearing)

    (kept,) = await store.attempts(question.id)
    assert kept.attempt == attempt
    assert (kept.verdict.kind, kept.verdict.code) == (VerdictKind.INVALID, "not_an_answer")


@pytest.mark.parametrize("hostile", ["\ud800", "a\x00b", "\u202e", "'; DROP TABLE questions; --"])
async def test_words_that_no_store_takes_are_kept_all_the_same(store: StoredQuestions, hostile: str) -> None:
    question = (await store.ask(new_question(options=None))).question

    wrong = await store.hear(new_attempt(question, Said(value=hostile)), at_hearing)
    right = await store.hear(new_attempt(question, Said(text=f"so: {hostile}")), at_hearing)

    assert wrong and wrong.verdict.kind is VerdictKind.INVALID
    assert right and right.verdict.kind is VerdictKind.ACCEPTED
    assert await store.get(question.id) == right.question
    assert [one.attempt.said.value for one in await store.attempts(question.id)] == [hostile, None]


@pytest.mark.requirement("ask:old-buttons-die")
async def test_a_press_on_a_card_with_the_old_wording_does_not_count(
    store: StoredQuestions, database: Database
) -> None:
    question = (await store.ask(new_question())).question
    card = await shown_to_anna(database, store, question)
    wording = replace(question.wording, question="Ship it on Friday?")
    await store.change(question.id, partial(moves.revised, wording=wording, now_us=QUESTIONS_NOW))

    old = await store.hear(new_attempt(question, revision=1), at_hearing)
    unseen = await store.hear(new_attempt(question, presentation_id=card.id), at_hearing)
    new = await store.hear(new_attempt(question, revision=2), at_hearing)

    assert old and unseen and new
    assert (old.verdict.code, unseen.verdict.code) == ("old_revision", "old_revision")
    assert new.verdict.kind is VerdictKind.ACCEPTED
    assert [one.type for one in await store.history(question.id)] == [Type.OPENED, Type.REVISED, Type.ANSWERED]


async def test_ticks_of_a_multiple_choice_are_kept_until_they_are_sent(
    store: StoredQuestions, database: Database
) -> None:
    question = (await store.ask(new_question(options=["a", "b", "c"], multiple=True))).question
    card = await shown_to_anna(database, store, question)
    press = partial(new_attempt, question, presentation_id=card.id, revision=1)

    nothing = await store.hear(press(Said(send=True)), at_hearing)
    for value in ("c", "a", "b", "b"):
        ticked = await store.hear(press(Said(toggle=value)), at_hearing)
        assert ticked and ticked.verdict.kind is VerdictKind.NOT_YET
    sent = await store.hear(press(Said(send=True)), at_hearing)

    assert nothing and nothing.verdict.code == "nothing_selected"
    assert sent and sent.question.answer == QuestionAnswer(selected=("a", "c"))


@pytest.mark.requirement("ask:secrets")
async def test_a_secret_is_sealed_at_rest_and_gone_when_it_is_wiped(store: StoredQuestions, database: Database) -> None:
    question = (await store.ask(new_question(options=None, secret=True))).question
    wrong = new_attempt(question, Said(text="hunter2"))
    right = new_attempt(question, Said(text="hunter2"), channel="console")

    await store.hear(wrong, at_hearing)
    await store.hear(right, at_hearing)

    def rows(connection: Connection) -> list[Any]:
        return [tuple(row) for table in (questions, question_attempts) for row in connection.execute(select(table))]

    assert "hunter2" not in str(await database.read(rows))
    seen, first, again = (
        await store.get(question.id),
        await store.for_asker(question.id),
        await store.for_asker(question.id),
    )
    await store.collect(question.id, QUESTIONS_NOW)
    lost = await store.for_asker(question.id)
    assert lost and lost.answer == QuestionAnswer(text="hunter2")
    assert "hunter2" not in str(await database.read(rows))
    await store.wipe(question.id)
    after = await store.for_asker(question.id)
    assert seen and first and again and after
    assert (seen.status, seen.answer) == (QuestionStatus.ANSWERED, None)
    assert first.answer == again.answer == QuestionAnswer(text="hunter2")
    assert after.answer is None


async def test_an_end_is_noted_as_collected_once(store: StoredQuestions) -> None:
    question = (await store.ask(new_question())).question
    await store.collect(question.id, QUESTIONS_NOW)
    before = await store.get(question.id)
    await store.hear(new_attempt(question), at_hearing)
    await store.collect(question.id, QUESTIONS_NOW + 1)
    await store.collect(question.id, QUESTIONS_NOW + 2)

    after = await store.get(question.id)
    assert before and before.collected_at_us is None
    assert after and after.collected_at_us == QUESTIONS_NOW + 1


async def test_escalation_adds_people_who_may_then_answer(store: StoredQuestions) -> None:
    question = (await store.ask(new_question(escalate_to="cleo", escalate_after_seconds=60))).question
    cleo = partial(new_attempt, question, person_id="cleo")

    before = await store.hear(cleo(), at_hearing)
    await store.change(question.id, partial(moves.escalated, now_us=QUESTIONS_NOW))
    after = await store.hear(cleo(), at_hearing)

    assert before and before.verdict.code == "not_asked"
    assert after and after.verdict.kind is VerdictKind.ACCEPTED
    assert [person.id for person in after.question.people] == ["anna", "ben", "cleo"]
    found = await store.get(question.id)
    assert found and [person.id for person in found.people] == ["anna", "ben", "cleo"]


@pytest.mark.requirement("ask:answers-since")
async def test_answers_since_a_place_are_those_of_the_caller_in_the_order_of_commits(store: StoredQuestions) -> None:
    mine = [(await store.ask(new_question(idempotency_key=f"k{number}"))).question for number in range(8)]
    other = (await store.ask(new_question(asker="butler:other"))).question
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.gather(*(store.hear(new_attempt(one), at_hearing) for one in [*mine, other]))

    first = await store.answers("butler:general", since=0, limit=3)
    rest = await store.answers("butler:general", since=first[-1].position, limit=50)

    assert len(first) == 3
    assert {one.question.id for one in [*first, *rest]} == {one.id for one in mine}
    assert all(one.question.status is QuestionStatus.ANSWERED for one in [*first, *rest])
    places = [one.position for one in [*first, *rest]]
    assert places == sorted(places)
    assert await store.answers("butler:general", since=places[-1], limit=50) == []
    everything = await store.events(since=0, limit=100)
    assert [one.position for one in everything] == list(range(1, 19))
    assert len(await store.events(since=0, limit=100, asker="butler:other")) == 2


async def test_questions_are_listed_by_whom_they_concern(store: StoredQuestions) -> None:
    for_anna = (await store.ask(new_question(people=(ANNA,), idempotency_key="a"))).question
    for_ben = (await store.ask(new_question(people=(BEN,), idempotency_key="b"))).question
    for_both = (await store.ask(new_question(asker="butler:other"))).question
    await store.change(for_both.id, partial(moves.cancelled, reason="no", now_us=QUESTIONS_NOW))

    async def ids(**wanted: Any) -> list[str]:
        return [one.id for one in await store.listing(**wanted)]

    assert await ids() == [for_both.id, for_ben.id, for_anna.id]
    assert await ids(person_id="anna") == [for_both.id, for_anna.id]
    assert await ids(person_id="anna", status=QuestionStatus.OPEN) == [for_anna.id]
    assert await ids(asker="butler:other") == [for_both.id]
    assert await ids(before=for_both.id, limit=1) == [for_ben.id]


@pytest.mark.parametrize(
    "change",
    ["status = 'open', ended_at = NULL", "status = 'cancelled'", "answer = '{}'", "revision = 7", "ended_at = 1"],
)
@pytest.mark.requirement("ask:states")
async def test_the_database_itself_refuses_to_change_what_ended(
    store: StoredQuestions, database: Database, change: str
) -> None:
    question = (await store.ask(new_question())).question
    await store.hear(new_attempt(question), at_hearing)
    table = "questions" if "sqlite" in type(database).__module__ else "shared.questions"

    with pytest.raises(Refused):
        await database.write(lambda connection: connection.execute(text(f"UPDATE {table} SET {change}")))

    ended = await store.get(question.id)
    assert ended and ended.answer == QuestionAnswer(value="ship")


async def test_what_ended_is_left_as_it_is_by_every_move(store: StoredQuestions) -> None:
    question = (await store.ask(new_question(escalate_to="cleo", escalate_after_seconds=60))).question
    await store.hear(new_attempt(question), at_hearing)
    ended = await store.get(question.id)

    for move in (
        partial(moves.cancelled, reason="late", now_us=QUESTIONS_NOW),
        partial(moves.expired, caught_up=True, now_us=QUESTIONS_NOW),
        partial(moves.revised, wording=replace(question.wording, question="?"), now_us=QUESTIONS_NOW),
        partial(moves.reminded, now_us=QUESTIONS_NOW),
        partial(moves.escalated, now_us=QUESTIONS_NOW),
    ):
        change = await store.change(question.id, move)
        assert change and change.event is None

    assert await store.get(question.id) == ended
    assert await store.change("no-such", partial(moves.reminded, now_us=QUESTIONS_NOW)) is None


async def test_looking_reads_no_whole_table(tmp_path: Path) -> None:
    async with opened_file(tmp_path) as database:
        store, cards = StoredQuestions(database, SEAL), StoredPresentations(database, str, WRITTEN)
        question = (await store.ask(new_question(idempotency_key="k"))).question
        with query_plans(database) as steps:
            await StoredMoments(database).take(["question"], QUESTIONS_NOW, lease_until_us=QUESTIONS_NOW, limit=10)
            await store.answers(question.asker, since=0, limit=10)
            await store.events(since=0, limit=10)
            await store.listing(person_id="anna")
            await store.listing(asker="butler:general")
            await store.ask(new_question())
            await store.hear(new_attempt(question), at_hearing)
            await cards.to_plan(10)
            await cards.due(QUESTIONS_NOW, lease_until_us=QUESTIONS_NOW, limit=10)
            await cards.due(QUESTIONS_NOW, lease_until_us=QUESTIONS_NOW, limit=10)
            await cards.next_due(QUESTIONS_NOW)
            await cards.behind("telegram", "555", "1")
            await cards.pressed("hash")

    assert [step for step in steps if re.match(r"SCAN (?!CONSTANT|\(subquery)", step) and "INDEX" not in step] == []
