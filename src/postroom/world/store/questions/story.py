"""The whole story of one question, read in one go."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from postroom.domain.question_states import QuestionStatus
from postroom.domain.question_story import QuestionStory
from postroom.world.store.engine.database import Database
from postroom.world.store.questions import steps
from postroom.world.store.questions.attempt_rows import read_attempt
from postroom.world.store.questions.presentation_rows import found_presentations
from postroom.world.store.questions.rows import read_event
from postroom.world.store.tables.questions import (
    presentations,
    question_attempts,
    question_events,
    question_people,
    questions,
)


class StoredStories:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, question_id: str) -> QuestionStory | None:
        return await self._database.read(lambda connection: story(connection, question_id))

    async def waiting_for(self, person_id: str) -> int:
        """How many open questions ask this person."""
        asked = select(question_people.c.question_id).where(question_people.c.person_id == person_id)
        is_open = questions.c.status == str(QuestionStatus.OPEN)
        many = select(func.count()).select_from(questions).where(is_open, questions.c.id.in_(asked))
        return await self._database.read(lambda connection: connection.execute(many).scalar_one())

    async def pulse(self) -> tuple[int, ...]:
        """The moment of the newest change of any question or card, then how far the feed has come."""
        return await self._database.read(pulse)


def story(connection: Connection, question_id: str) -> QuestionStory | None:
    question = steps.by_id(connection, question_id)
    if question is None:
        return None
    attempts, events, cards = question_attempts.c, question_events.c, presentations.c
    tried = select(question_attempts).where(attempts.question_id == question_id).order_by(attempts.id)
    went_on = select(question_events).where(events.question_id == question_id).order_by(events.position)
    placed = select(presentations).where(cards.question_id == question_id).order_by(cards.id)
    return QuestionStory(
        question=question,
        presentations=found_presentations(connection, placed),
        attempts=[read_attempt(row) for row in connection.execute(tried)],
        history=[read_event(row) for row in connection.execute(went_on)],
    )


def pulse(connection: Connection) -> tuple[int, ...]:
    """Asked every second while a page is open: of the cards only those of open questions are looked at."""
    events = question_events.c
    newest = connection.execute(select(events.position, events.at).order_by(events.position.desc()).limit(1)).first()
    is_open = select(questions.c.id).where(questions.c.status == str(QuestionStatus.OPEN))
    cards = select(func.max(presentations.c.updated_at), func.count())
    moved_at, many = connection.execute(cards.where(presentations.c.question_id.in_(is_open))).one()
    position, at = (newest.position, newest.at) if newest else (0, 0)
    return (max(at, moved_at or 0), position, moved_at or 0, many)
