"""One order for the events of all questions: that in which they are committed."""

from __future__ import annotations

import secrets
from typing import Final

from sqlalchemy import Connection, func, insert, select

from postroom.domain.question_change import QuestionChange
from postroom.domain.strict_json import strict_json
from postroom.world.store.intents.order import wait_for_turn
from postroom.world.store.tables.questions import question_events

QUESTIONS_CHANNEL: Final = "postroom_questions"  # on PostgreSQL: who committed, and which question has a new event
THIS_PROCESS: Final = secrets.token_hex(4)
_events = question_events.alias()
_NEXT_POSITION: Final = select(func.coalesce(func.max(_events.c.position), 0) + 1).scalar_subquery()


def append(connection: Connection, change: QuestionChange) -> None:
    """
    The last thing a transaction does, because from here to its commit all other writers of events wait.

    They share one turn with the events of intents: with two, a transaction that writes both
    could wait for one that waits for it.
    """
    if change.event is None:
        return
    wait_for_turn(connection)
    line = {
        "question_id": change.question.id,
        "asker": change.question.asker,
        "event_type": str(change.event),
        "at": change.at_us,
        "note": strict_json(dict(change.note)),
    }
    connection.execute(insert(question_events).values(position=_NEXT_POSITION, **line))
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_notify(QUESTIONS_CHANNEL, f"{THIS_PROCESS} {change.question.id}")))
