"""The single steps that transactions on questions are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, Select, func, insert, or_, select, update

from postroom.domain.audit import AuditKind, NewAudit
from postroom.domain.is_approval import is_approval
from postroom.domain.presentation import IN_LINE, Presentation
from postroom.domain.principal import OPERATOR, OWNER, Principal, Role
from postroom.domain.question import AskedPerson, Question
from postroom.domain.question_change import QuestionChange
from postroom.domain.question_states import PresentationStatus, QuestionStatus
from postroom.world.store.questions import order
from postroom.world.store.questions.presentation_rows import presentation_row
from postroom.world.store.questions.rows import answer_text, changing_columns, question_row, read_person, read_question
from postroom.world.store.shared.audit import add_entry
from postroom.world.store.tables.questions import presentations, question_people, questions

_ACTS: Final = {QuestionStatus.ANSWERED: "answered a question", QuestionStatus.DECLINED: "declined a question"}

ENDED_FIRST: Final = "the question ended before it was shown"
_ON_SHOW: Final = (str(PresentationStatus.SHOWN), str(PresentationStatus.UNCERTAIN))


def found(connection: Connection, asked: Select[Any]) -> list[Question]:
    """The questions of these rows, in their order, with the people they ask."""
    rows = connection.execute(asked).all()
    people = _people(connection, [row.id for row in rows])
    return [read_question(row, people.get(row.id, ())) for row in rows]


def one(connection: Connection, asked: Select[Any]) -> Question | None:
    return next(iter(found(connection, asked)), None)


def by_id(connection: Connection, question_id: str) -> Question | None:
    return one(connection, select(questions).where(questions.c.id == question_id))


def locked(connection: Connection, question_id: str) -> Question | None:
    """Before anything else about it is written, so that all who write wait for each other here and nowhere else."""
    return one(connection, select(questions).where(questions.c.id == question_id).with_for_update())


def wait_for_equals(connection: Connection, question: Question) -> None:
    """Two who ask the same thing without a key at the same moment must not both be first."""
    if connection.dialect.name == "postgresql":
        same = f"{question.asker}\x1f{question.revision_hash}"
        connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(same, 0))))


def open_of(connection: Connection, askers: Iterable[str]) -> Counter[str]:
    """How many questions of theirs wait. Found by what is open, which is little, and not by all they ever asked."""
    table = questions.c
    asker = table.asker + ""
    mine = (table.status == str(QuestionStatus.OPEN), asker.in_(list(askers)), table.subject.is_(None))
    rows = connection.execute(select(table.asker, func.count().label("open")).where(*mine).group_by(table.asker))
    return Counter({row.asker: row.open for row in rows})


def insert_question(connection: Connection, question: Question) -> None:
    """The places where its people are shown it are left to be planned."""
    insert_questions(connection, [(question, None)])


def insert_questions(connection: Connection, new: Sequence[tuple[Question, Sequence[Presentation] | None]]) -> None:
    """Each with the places where its people are shown it, or left to be planned."""
    people = [row for question, planned in new for row in _first_people(question, planned is not None)]
    shown = [presentation_row(one) for _, planned in new for one in planned or ()]
    connection.execute(insert(questions), [question_row(question) for question, _ in new])
    for table, rows in ((question_people, people), (presentations, shown)):
        if rows:
            connection.execute(insert(table), rows)


def write(connection: Connection, before: Question, change: QuestionChange, answer: str | None = None) -> None:
    """The row is locked; the conditions hold the database to it all the same."""
    new = change.question
    if new != before:
        table = questions.c
        same = update(questions).where(
            table.id == before.id, table.status == str(before.status), table.revision == before.revision
        )
        values = changing_columns(new) | ({"answer": answer} if answer is not None else {})
        if connection.execute(same.values(values)).rowcount != 1:
            raise RuntimeError("a locked question was changed by another writer")
        _add_people(connection, new.id, new.people[len(before.people) :], len(before.people))
        _follow(connection, before, change)
        if before.is_open and not new.is_open:
            _note_answer(connection, new)
    order.append(connection, change)


def _note_answer(connection: Connection, question: Question) -> None:
    """That a person answered, never what. Of a parked message its approval tells, which knows the decision."""
    by, act = question.answered_by, _ACTS.get(question.status)
    if by is None or act is None or is_approval(question):
        return
    actor = OPERATOR if by.person_id == OWNER else Principal(Role.PERSON, by.person_id)
    subject = f"question:{question.id}"
    new = NewAudit(actor=str(actor), kind=AuditKind.DECISION, act=act, subject=subject, door=by.channel)
    add_entry(connection, question.id, new, question.ended_at_us or question.created_at_us)


def hold_questions(connection: Connection, subjects: Iterable[str]) -> list[Question]:
    """The open ones about these, each always in the same order."""
    table = questions.c
    wanted = (table.subject.in_(list(subjects)), table.status == str(QuestionStatus.OPEN))
    return found(connection, select(questions).where(*wanted).order_by(table.id).with_for_update())


def questions_about(connection: Connection, subject: str) -> list[Question]:
    return found(connection, select(questions).where(questions.c.subject == subject).order_by(questions.c.id))


def end_question(connection: Connection, before: Question, change: QuestionChange) -> None:
    """By a decision about its subject; such an answer is no secret."""
    answer = change.question.answer
    write(connection, before, change, answer_text(answer) if answer else None)


def make_due(connection: Connection, request_id: str, now_us: int) -> None:
    """If this was sent for a card: what was parked of it has been decided."""
    kind, _, presentation_id = request_id.partition(":")
    if kind == "ask":
        table = presentations.c
        card = update(presentations).where(table.id == presentation_id, table.due_at > now_us)
        connection.execute(card.values(due_at=now_us, fence=table.fence + 1))


def _follow(connection: Connection, before: Question, change: QuestionChange) -> None:
    """What is to be done with the cards: an end closes them, a new wording is to be shown on them."""
    mine = presentations.c.question_id == before.id
    on_show = presentations.c.status.in_(_ON_SHOW)
    if before.is_open and not change.question.is_open:
        _end_presentations(connection, before.id, change.at_us)
        next_in_line(connection, before, change.at_us)
    elif change.question.revision != before.revision:
        connection.execute(update(presentations).where(mine, on_show).values(due_at=change.at_us, toggles="[]"))
        _look_at_parked(connection, before.id, change.at_us)


def _end_presentations(connection: Connection, question_id: str, now_us: int) -> None:
    """One that was taken up may be on its way, and stays with the one who took it."""
    table = presentations.c
    mine = update(presentations).where(table.question_id == question_id)
    untouched = (table.status == str(PresentationStatus.PLANNED), table.fence == 0)
    left = {"status": str(PresentationStatus.LEFT), "reason": ENDED_FIRST, "due_at": None, "updated_at": now_us}
    connection.execute(mine.where(*untouched).values(left))
    closing = {"status": str(PresentationStatus.CLOSING), "due_at": now_us, "updated_at": now_us}
    connection.execute(mine.where(table.status.in_(_ON_SHOW)).values(**closing, fence=table.fence + 1))
    _look_at_parked(connection, question_id, now_us)
    unplanned = (question_people.c.question_id == question_id, question_people.c.planned_at.is_(None))
    connection.execute(update(question_people).where(*unplanned).values(planned_at=now_us))


def _look_at_parked(connection: Connection, question_id: str, now_us: int) -> None:
    """A card that has been handed over and not arrived may still be taken back; one in line leaves it."""
    table = presentations.c
    parked = or_(table.delivery_id.is_not(None), table.reason == IN_LINE)
    change = update(presentations).where(table.question_id == question_id, _is_planned(), parked)
    connection.execute(change.values(due_at=now_us, fence=table.fence + 1))


def next_in_line(connection: Connection, question: Question, now_us: int) -> None:
    """After the card of an approval, the first behind it looks whether it is its turn."""
    if is_approval(question):
        table, asked = presentations.c, questions.c
        waits = (_is_planned(), table.reason == IN_LINE, asked.status == str(QuestionStatus.OPEN))
        firsts = select(func.min(table.id)).join(questions, asked.id == table.question_id).where(*waits)
        each = firsts.group_by(table.channel, table.address, asked.preview)
        connection.execute(update(presentations).where(table.id.in_(each)).values(due_at=now_us))


def _is_planned() -> ColumnElement[bool]:
    return presentations.c.status == str(PresentationStatus.PLANNED)


def _add_people(connection: Connection, question_id: str, people: Iterable[AskedPerson], first: int) -> None:
    if rows := _people_rows(question_id, people, first, None):
        connection.execute(insert(question_people), rows)


def _first_people(question: Question, is_planned: bool) -> list[dict[str, Any]]:
    return _people_rows(question.id, question.people, 0, question.created_at_us if is_planned else None)


def _people_rows(
    question_id: str, people: Iterable[AskedPerson], first: int, planned_at_us: int | None
) -> list[dict[str, Any]]:
    return [
        {
            "question_id": question_id,
            "person_id": one.id,
            "name": one.name,
            "added": str(one.added),
            "place": place,
            "planned_at": planned_at_us,
        }
        for place, one in enumerate(people, first)
    ]


def _people(connection: Connection, ids: Sequence[str]) -> dict[str, list[AskedPerson]]:
    if not ids:
        return {}
    table = question_people.c
    asked = select(question_people).where(table.question_id.in_(ids)).order_by(table.question_id, table.place)
    rows: Sequence[Row[Any]] = connection.execute(asked).all()
    return {name: [read_person(row) for row in group] for name, group in groupby(rows, lambda row: row.question_id)}
