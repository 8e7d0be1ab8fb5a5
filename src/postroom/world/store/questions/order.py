"""One order for the events of all questions: that in which they are committed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, func, insert, select, text

from postroom.domain.question_change import QuestionChange
from postroom.domain.strict_json import strict_json
from postroom.world.store.engine.turns import wait_for_turn
from postroom.world.store.shared.signal_names import QUESTIONS_CHANNEL, THIS_PROCESS
from postroom.world.store.tables.questions import question_events

_events = question_events.alias()
_NEXT_POSITION: Final = select(func.coalesce(func.max(_events.c.position), 0) + 1).scalar_subquery()
_LINE: Final = insert(question_events).values(position=_NEXT_POSITION)
_TELL: Final = text("SELECT pg_notify(:channel, one) FROM unnest(CAST(:news AS text[])) AS one")


def append(connection: Connection, change: QuestionChange) -> None:
    """
    The last thing a transaction does, because from here to its commit all other writers of events wait.

    They share one turn with the events of intents: with two, a transaction that writes both
    could wait for one that waits for it.
    """
    if change.event is not None:
        append_all(connection, [change])


def append_all(connection: Connection, changes: Sequence[QuestionChange]) -> None:
    """The same for several, in this order."""
    if not changes:
        return
    wait_for_turn(connection)
    connection.execute(_LINE, [_values(change) for change in changes])
    if connection.dialect.name == "postgresql":
        news = [f"{THIS_PROCESS} {change.question.id}" for change in changes]
        connection.execute(_TELL, {"channel": QUESTIONS_CHANNEL, "news": news})


def _values(change: QuestionChange) -> dict[str, Any]:
    return {
        "question_id": change.question.id,
        "asker": change.question.asker,
        "event_type": str(change.event),
        "at": change.at_us,
        "note": strict_json(dict(change.note)),
    }
