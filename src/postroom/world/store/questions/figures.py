"""How many questions wait for a person, and whether anything about questions has changed."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from postroom.domain.question import SubjectKind
from postroom.domain.question_states import QuestionStatus
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.looked_up import looked_up
from postroom.world.store.questions.about import is_not_about
from postroom.world.store.tables.questions import presentations, question_events, question_people, questions

_IS_OPEN = questions.c.status == str(QuestionStatus.OPEN)


class QuestionFigures:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def waiting_for(self, person_id: str) -> int:
        """How many open questions ask this person."""
        return await self._database.read(lambda connection: waiting_for(connection, person_id))

    async def waiting_besides(self, person_id: str, kind: SubjectKind) -> int:
        """The same without those about one kind of thing."""
        return await self._database.read(lambda connection: waiting_for(connection, person_id, kind))

    async def pulse(self) -> tuple[int, ...]:
        """The moment of the newest change of any question or card, then how far each has come."""
        return await self._database.read(pulse)


def waiting_for(connection: Connection, person_id: str, besides: SubjectKind | None = None) -> int:
    """Of what is open, whom it asks: of what the person was ever asked there is more with every year."""
    people = question_people.c
    theirs = looked_up(people.question_id == questions.c.id, people.person_id == person_id)
    many = select(func.count()).select_from(questions).where(_IS_OPEN, theirs)
    if besides is not None:
        many = many.where(is_not_about(besides))
    return int(connection.execute(many).scalar_one())


def pulse(connection: Connection) -> tuple[int, ...]:
    """Asked every second while a page is open: of the cards only those of open questions are looked at."""
    events, cards = question_events.c, presentations.c
    newest = connection.execute(select(events.position, events.at).order_by(events.position.desc()).limit(1)).first()
    of_open = cards.question_id.in_(select(questions.c.id).where(_IS_OPEN))
    moved_at, many = connection.execute(select(func.max(cards.updated_at), func.count()).where(of_open)).one()
    position, at = (newest.position, newest.at) if newest else (0, 0)
    return (max(at, moved_at or 0), position, moved_at or 0, many)
