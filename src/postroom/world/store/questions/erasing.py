"""Erase what people wrote about questions that are long over; who, when and how it ended stays for longer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, and_, delete, exists, select, update

from postroom.world.store.tables.questions import (
    presentation_parts,
    presentation_tokens,
    presentations,
    question_attempts,
    question_people,
    questions,
)

_WORDS: Final = {"wording": None, "state": None, "resume": None, "answer": None, "reason": None}


def erase_old(connection: Connection, *, ended_before_us: int, now_us: int, limit: int) -> int:
    """The texts of questions that ended before then; how many there were."""
    old = select(questions.c.id).where(old_words(ended_before_us)).limit(limit)
    return _erase(connection, _locked(connection, old), now_us)


def old_words(ended_before_us: int) -> ColumnElement[bool]:
    return and_(questions.c.ended_at < ended_before_us, questions.c.erased_at.is_(None))


def erase_asked(connection: Connection, person_id: str, *, now_us: int) -> int:
    """The same for every question that is over and asked this person, however short ago."""
    table, person = questions.c, question_people.c
    asked = exists().where(person.question_id == table.id, person.person_id == person_id)
    over = select(table.id).where(table.ended_at.is_not(None), table.erased_at.is_(None), asked)
    return _erase(connection, _locked(connection, over), now_us)


def old_questions(ended_before_us: int) -> ColumnElement[bool]:
    """Those that may go altogether; their keys may be used again then."""
    return and_(questions.c.ended_at < ended_before_us, questions.c.erased_at.is_not(None))


def _locked(connection: Connection, wanted: Select[Any]) -> Sequence[str]:
    return connection.execute(wanted.with_for_update(of=questions, skip_locked=True)).scalars().all()


def _erase(connection: Connection, ids: Sequence[str], now_us: int) -> int:
    cards = select(presentations.c.id).where(presentations.c.question_id.in_(ids))
    connection.execute(update(questions).where(questions.c.id.in_(ids)).values(**_WORDS, erased_at=now_us))
    mine = question_attempts.c.question_id.in_(ids)
    connection.execute(update(question_attempts).where(mine).values(said=None))
    for table in (presentation_tokens, presentation_parts):
        connection.execute(delete(table).where(table.c.presentation_id.in_(cards)))
    return len(ids)
