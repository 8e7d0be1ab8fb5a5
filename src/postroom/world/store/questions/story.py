"""One question with its cards and what people did about it, for those who hold a connection already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from postroom.domain.answer_attempt import KeptAttempt
from postroom.domain.presentation import Presentation
from postroom.domain.question import Question
from postroom.world.store.questions import steps
from postroom.world.store.questions.attempt_rows import read_attempt
from postroom.world.store.questions.presentation_rows import found_presentations
from postroom.world.store.tables.questions import presentations, question_attempts


class Story(NamedTuple):
    question: Question
    presentations: Sequence[Presentation]
    attempts: Sequence[KeptAttempt]


def story(connection: Connection, question_id: str) -> Story | None:
    question = steps.by_id(connection, question_id)
    if question is None:
        return None
    attempts, cards = question_attempts.c, presentations.c
    tried = select(question_attempts).where(attempts.question_id == question_id).order_by(attempts.id)
    placed = select(presentations).where(cards.question_id == question_id).order_by(cards.id)
    return Story(
        question, found_presentations(connection, placed), [read_attempt(row) for row in connection.execute(tried)]
    )
