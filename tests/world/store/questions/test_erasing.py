"""Erasing what people wrote: one suite for SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, delete, select
from tests.clock import START_US
from tests.opened_database import KINDS, opened_database
from tests.work.questions.sample_questions import ANNA, BEN, MINT, new_attempt, new_question

from postroom.app.address_book import stored_people
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.answer_attempt import Said
from postroom.domain.person import NewPerson
from postroom.domain.presentation import PlannedPresentation, Token, TokenAction
from postroom.domain.question import AskedPerson, QuestionKind
from postroom.domain.question_states import QuestionStatus
from postroom.domain.retention import DAY_US, retention
from postroom.domain.time import seconds
from postroom.system.seal import Seal
from postroom.work.questions.judge import judge
from postroom.world.store.engine.database import Database
from postroom.world.store.questions.erasing import erase_asked, erase_old, old_questions
from postroom.world.store.questions.presentations import StoredPresentations
from postroom.world.store.questions.questions import StoredQuestions
from postroom.world.store.retention.pruning import Pruner
from postroom.world.store.tables.questions import question_attempts, question_events, questions

NOW = START_US + seconds(90)
PLACE = PlannedPresentation(person_id="anna", channel="telegram", address="555")


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as database:
        yield database


@pytest.fixture
def store(database: Database) -> StoredQuestions:
    return StoredQuestions(database, Seal(bytes(32)))


async def answered(store: StoredQuestions, database: Database, **arguments: Any) -> str:
    question = (await store.ask(new_question(context="private", state="mine", **arguments))).question
    cards = StoredPresentations(database, MINT.mint)
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
    assert await StoredPresentations(database, MINT.mint).pressed(question_id) is None


async def test_what_one_person_was_asked_can_be_erased_alone(store: StoredQuestions, database: Database) -> None:
    anna = await answered(store, database, people=(ANNA,), idempotency_key="a")
    ben = await answered(store, database, people=(BEN,), idempotency_key="b")

    assert await database.write(lambda connection: erase_asked(connection, "anna", now_us=NOW)) == 1

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
