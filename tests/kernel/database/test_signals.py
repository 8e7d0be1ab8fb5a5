"""What other processes do to questions is heard at once; what this one does rang already."""

from __future__ import annotations

import asyncio

import pytest
from tests.kernel.database.test_postgres_signals import Ear
from tests.patience import PATIENCE_SECONDS
from tests.questions.sample_questions import new_question
from tests.support.counted import CountedLoops

from postroom.kernel.database.postgres import PostgresDatabase
from postroom.kernel.database.postgres_signals import listening
from postroom.kernel.database.signals import QuestionNotices
from postroom.kernel.running.process import Seal
from postroom.questions.store import steps
from postroom.questions.store.questions import StoredQuestions


async def test_another_process_hears_of_a_question_by_its_id(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, ear, notices = PostgresDatabase(postgres_url), Ear(), QuestionNotices()
    heard: asyncio.Queue[str | None] = asyncio.Queue()
    notices.follow(heard.put_nowait)
    await database.migrate()
    store = StoredQuestions(database, Seal(bytes(32)))
    async with (
        listening(database, notices, ear.on_pending, ear.on_settled, CountedLoops()),
        asyncio.timeout(PATIENCE_SECONDS),
    ):
        assert await heard.get() is None  # some may have been missed before
        assert notices.are_heard
        await store.ask(new_question())

        monkeypatch.setattr(steps, "THIS_PROCESS", "another")
        theirs = await store.ask(new_question(question="And theirs?"))

        assert await heard.get() == theirs.question.id
    assert not notices.are_heard
    await database.close()


def test_a_lost_connection_means_that_everything_has_to_be_looked_at() -> None:
    notices, heard = QuestionNotices(), list[str | None]()
    notices.follow(heard.append)

    notices.connected()
    notices.lost()

    assert heard == [None, None]
    assert not notices.are_heard
