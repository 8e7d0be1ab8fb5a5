"""The single steps that transactions on questions are made of, and how their rows become values."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    case,
    func,
    insert,
    null,
    or_,
    select,
    text,
    update,
)

from postroom.kernel.audit import AuditKind, NewAudit
from postroom.kernel.database.audit import add_entry
from postroom.kernel.database.engine import QUESTIONS_CHANNEL, THIS_PROCESS, wait_for_turn
from postroom.kernel.database.moments import add_moments, put_moments
from postroom.kernel.database.prepared import Prepared
from postroom.kernel.database.rows import of_json, read, to_json, values
from postroom.kernel.values.fields import strict_json
from postroom.kernel.values.principal import OPERATOR, OWNER, Principal, Role
from postroom.questions.model import (
    AskedPerson,
    Attempt,
    Hold,
    KeptAttempt,
    Presentation,
    PresentationStatus,
    Question,
    QuestionAnswer,
    QuestionChange,
    QuestionEvent,
    QuestionEventType,
    QuestionKind,
    QuestionStatus,
    Said,
    Subject,
    SubjectKind,
    Verdict,
    VerdictKind,
    Wording,
    is_approval,
    wording_object,
)
from postroom.questions.rules.plan import question_moments
from postroom.questions.store.tables import (
    presentations,
    question_attempts,
    question_events,
    question_people,
    questions,
)

MOMENTS: Final = "question"  # the kind of what is due of it
_ACTS: Final = {QuestionStatus.ANSWERED: "answered a question", QuestionStatus.DECLINED: "declined a question"}
_ON_SHOW: Final = (str(PresentationStatus.SHOWN), str(PresentationStatus.UNCERTAIN))


# ---- rows ----


_FIXED: Final = ("id", "asker", "key", "fingerprint", "channels", "preview", "state", "created_at")
_BESIDE: Final = ("people", "subject", "answer", "collected_at_us")  # in places of their own, or written by themselves


def _question_row(question: Question) -> dict[str, Any]:
    subject = question.subject
    return values(
        question,
        without=_BESIDE,
        kind=str(question.wording.kind),
        secret=question.wording.secret,
        wording=strict_json(wording_object(question.wording)),
        state=strict_json(question.state) if question.state is not None else None,
        subject_kind=str(subject.kind) if subject else None,
        subject_id=subject.id if subject else None,
    )


def _read_question(row: Row[Any], people: Sequence[AskedPerson]) -> Question:
    """The answer of a secret stays where it is; `wipe` alone takes it out. Erased words leave what kind it was."""
    erased = Wording(kind=QuestionKind(row.kind), question="", secret=bool(row.secret))
    return read(
        Question,
        row,
        people=tuple(people),
        subject=subject_of_row(row),
        answer=of_json(QuestionAnswer, row.answer) if row.answer is not None and not row.secret else None,
        state=json.loads(row.state) if row.state is not None else None,
        **({"wording": erased} if row.wording is None else {}),
    )


def subject_of_row(row: Any) -> Subject | None:
    return None if row.subject_id is None else Subject(SubjectKind(row.subject_kind), row.subject_id)


def presentation_row(new: Presentation) -> dict[str, Any]:
    return values(new, without=("delivery_id", "provider_ids"), fence=0)


def read_event(row: Row[Any]) -> QuestionEvent:
    return read(QuestionEvent, row, type=QuestionEventType(row.event_type))


_ATTEMPT: Final = Prepared(insert(question_attempts))


def insert_attempt(connection: Connection, attempt: Attempt, verdict: Verdict, *, secret: bool) -> None:
    """
    Of a secret the words are not kept: the answer has its own place, and a wrong try may hold it, too.

    The words are written in ASCII: what cannot be an answer may have characters that no store takes.
    """
    said = None if secret else to_json(attempt.said)
    row = values(attempt, said=said, verdict=str(verdict.kind), code=verdict.code, reason=verdict.reason)
    _ATTEMPT.run(connection, row)


def read_attempt(row: Row[Any]) -> KeptAttempt:
    attempt = read(Attempt, row, **({"said": Said()} if row.said is None else {}))
    return KeptAttempt(attempt=attempt, verdict=read_verdict(row))


def read_verdict(row: Row[Any]) -> Verdict:
    return Verdict(kind=VerdictKind(row.verdict), code=row.code, reason=row.reason)


# ---- finding and holding ----


# These are asked for every card, every press and every answer.
_ITS: Final = select(questions).where(questions.c.id == bindparam("its_id"))
_BY_ID: Final = Prepared(_ITS)
_LOCKED: Final = Prepared(_ITS.with_for_update())
_WITH_IDS: Final = Prepared(select(questions).where(questions.c.id.in_(bindparam("ids", expanding=True))))
_PEOPLE: Final = Prepared(
    select(question_people)
    .where(question_people.c.question_id.in_(bindparam("ids", expanding=True)))
    .order_by(question_people.c.question_id, question_people.c.place)
)


def found(connection: Connection, asked: Select[Any]) -> list[Question]:
    return questions_of(connection, connection.execute(asked).all())


def questions_of(connection: Connection, rows: Sequence[Any]) -> list[Question]:
    """The questions of these rows, in their order, with the people they ask."""
    people = _people(connection, [row.id for row in rows])
    return [_read_question(row, people.get(row.id, ())) for row in rows]


def _people(connection: Connection, ids: Sequence[str]) -> dict[str, list[AskedPerson]]:
    if not ids:
        return {}
    rows = _PEOPLE.run(connection, {"ids": list(ids)})
    return {
        name: [read(AskedPerson, row, id=row.person_id) for row in group]
        for name, group in groupby(rows, lambda row: row.question_id)
    }


def one(connection: Connection, asked: Select[Any]) -> Question | None:
    return next(iter(found(connection, asked)), None)


def by_id(connection: Connection, question_id: str) -> Question | None:
    return next(iter(questions_of(connection, _BY_ID.run(connection, {"its_id": question_id}))), None)


def with_ids(connection: Connection, ids: Sequence[str]) -> list[Question]:
    return questions_of(connection, _WITH_IDS.run(connection, {"ids": list(ids)})) if ids else []


def locked(connection: Connection, question_id: str) -> Question | None:
    """
    Before anything else about it is written, so that all who write wait for each other here and nowhere else.

    Locks are taken in one order: an intent, its question or that of an approval, the delivery it decides about, the
    turn in the feed.
    """
    return next(iter(questions_of(connection, _LOCKED.run(connection, {"its_id": question_id}))), None)


def hold_questions(connection: Connection, kind: SubjectKind, ids: Iterable[str]) -> list[Question]:
    """The open ones about these, each always in the same order."""
    wanted = (is_about(kind, ids), questions.c.status == str(QuestionStatus.OPEN))
    return found(connection, select(questions).where(*wanted).order_by(questions.c.id).with_for_update())


def questions_about(connection: Connection, subject: Subject) -> list[Question]:
    about = is_about(subject.kind, [subject.id])
    return found(connection, select(questions).where(about).order_by(questions.c.id))


def is_about(kind: SubjectKind, ids: Iterable[str]) -> ColumnElement[bool]:
    return and_(questions.c.subject_id.in_(list(ids)), questions.c.subject_kind == str(kind))


def wait_for_equals(connection: Connection, question: Question) -> None:
    """Two who ask the same thing without a key at the same moment must not both be first."""
    if connection.dialect.name == "postgresql":
        same = f"{question.asker}\x1f{question.revision_hash}"
        connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(same, 0))))


def open_of(connection: Connection, askers: Iterable[str]) -> Counter[str]:
    """How many questions of theirs wait. Found by what is open, which is little, and not by all they ever asked."""
    rows = _OPEN_OF.run(connection, {"askers": list(askers)})
    return Counter({row.asker: row.open for row in rows})


_OPEN_OF: Final = Prepared(
    select(questions.c.asker, func.count().label("open"))
    .where(
        questions.c.status == str(QuestionStatus.OPEN),
        (questions.c.asker + "").in_(bindparam("askers", expanding=True)),
        questions.c.subject_id.is_(None),
    )
    .group_by(questions.c.asker)
)


# ---- writing ----


_ASK: Final = Prepared(insert(questions))
_ASK_PEOPLE: Final = Prepared(insert(question_people))
_PLAN: Final = Prepared(insert(presentations))


def insert_question(connection: Connection, question: Question) -> None:
    """The places where its people are shown it are left to be planned."""
    insert_questions(connection, [(question, None)])


def insert_questions(connection: Connection, new: Sequence[tuple[Question, Sequence[Presentation] | None]]) -> None:
    """Each with the places where its people are shown it, or left to be planned."""
    people = [row for question, planned in new for row in _first_people(question, planned is not None)]
    shown = [presentation_row(one) for _, planned in new for one in planned or ()]
    _ASK.run_each(connection, [_question_row(question) for question, _ in new])
    add_moments(connection, MOMENTS, [(question.id, question_moments(question)) for question, _ in new])
    _ASK_PEOPLE.run_each(connection, people)
    _PLAN.run_each(connection, shown)


def _first_people(question: Question, is_planned: bool) -> list[dict[str, Any]]:
    return _people_rows(question.id, question.people, 0, question.created_at_us if is_planned else None)


def _people_rows(
    question_id: str, people: Iterable[AskedPerson], first: int, planned_at_us: int | None
) -> list[dict[str, Any]]:
    return [
        values(one, without=("id",), person_id=one.id, question_id=question_id, place=place, planned_at=planned_at_us)
        for place, one in enumerate(people, first)
    ]


_CHANGE: Final = Prepared(
    update(questions).where(
        questions.c.id == bindparam("its_id"),
        questions.c.status == bindparam("its_status"),
        questions.c.revision == bindparam("its_revision"),
    )
)


def write(connection: Connection, before: Question, change: QuestionChange, answer: str | None = None) -> None:
    """The row is locked; the conditions hold the database to it all the same."""
    new = change.question
    if new != before:
        same = {"its_id": before.id, "its_status": str(before.status), "its_revision": before.revision}
        row = {name: one for name, one in _question_row(new).items() if name not in _FIXED}
        row |= {"answer": answer} if answer is not None else {}
        if _CHANGE.run(connection, row | same).rowcount != 1:
            raise RuntimeError("a locked question was changed by another writer")
        put_moments(connection, MOMENTS, new.id, question_moments(new))
        _add_people(connection, new.id, new.people[len(before.people) :], len(before.people))
        _follow(connection, before, change)
        if before.is_open and not new.is_open:
            _note_answer(connection, new)
    append(connection, change)


def _note_answer(connection: Connection, question: Question) -> None:
    """That a person answered, never what. Of a parked message its approval tells, which knows the decision."""
    by, act = question.answered_by, _ACTS.get(question.status)
    if by is None or act is None or is_approval(question):
        return
    actor = OPERATOR if by.person_id == OWNER else Principal(Role.PERSON, by.person_id)
    subject = f"question:{question.id}"
    new = NewAudit(actor=str(actor), kind=AuditKind.DECISION, act=act, subject=subject, door=by.channel)
    add_entry(connection, question.id, new, question.ended_at_us or question.created_at_us)


def _add_people(connection: Connection, question_id: str, people: Iterable[AskedPerson], first: int) -> None:
    _ASK_PEOPLE.run_each(connection, _people_rows(question_id, people, first, None))


def end_question(connection: Connection, before: Question, change: QuestionChange) -> None:
    """By a decision about its subject; such an answer is no secret."""
    answer = change.question.answer
    write(connection, before, change, to_json(answer) if answer else None)


# ---- what becomes of the cards ----


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
    ended = {"asked_id": question_id, "now": now_us}
    _END_CARDS.run(connection, ended)
    _END_PLANNING.run(connection, ended)


def _look_at_parked(connection: Connection, question_id: str, now_us: int) -> None:
    """A card that has been handed over and not arrived may still be taken back; one in line leaves it."""
    change = update(presentations).where(_cards.question_id == question_id, _PARKED)
    connection.execute(change.values(due_at=now_us, fence=_cards.fence + 1))


_cards = presentations.c
_NOW: Final[BindParameter[int]] = bindparam("now", type_=BigInteger)
_PLANNED: Final = _cards.status == str(PresentationStatus.PLANNED)
_UNTOUCHED: Final = and_(_PLANNED, _cards.fence == 0)
_SHOWN: Final = _cards.status.in_(_ON_SHOW)
_PARKED: Final = and_(_PLANNED, or_(_cards.delivery_id.is_not(None), _cards.hold == str(Hold.IN_LINE)))
_END_CARDS: Final = Prepared(
    update(presentations)
    .where(_cards.question_id == bindparam("asked_id"), or_(_UNTOUCHED, _SHOWN, _PARKED))
    .values(
        status=case(
            (_UNTOUCHED, str(PresentationStatus.LEFT)),
            (_SHOWN, str(PresentationStatus.CLOSING)),
            else_=_cards.status,
        ),
        hold=case((_UNTOUCHED, str(Hold.ENDED)), else_=_cards.hold),
        failure=case((_UNTOUCHED, null()), else_=_cards.failure),
        due_at=case((_UNTOUCHED, null()), else_=_NOW),
        updated_at=case((or_(_UNTOUCHED, _SHOWN), _NOW), else_=_cards.updated_at),
        fence=case((_UNTOUCHED, _cards.fence), else_=_cards.fence + 1),
    )
)
_END_PLANNING: Final = Prepared(
    update(question_people)
    .where(question_people.c.question_id == bindparam("asked_id"), question_people.c.planned_at.is_(None))
    .values(planned_at=_NOW)
)


def next_in_line(connection: Connection, question: Question, now_us: int) -> None:
    """After the card of an approval, the first behind it looks whether it is its turn."""
    if is_approval(question):
        table, asked = presentations.c, questions.c
        waits = (_PLANNED, table.hold == str(Hold.IN_LINE), asked.status == str(QuestionStatus.OPEN))
        firsts = select(func.min(table.id)).join(questions, asked.id == table.question_id).where(*waits)
        each = firsts.group_by(table.channel, table.address, asked.preview)
        connection.execute(update(presentations).where(table.id.in_(each)).values(due_at=now_us))


def make_due(connection: Connection, request_id: str, now_us: int) -> None:
    """If this was sent for a card: what was parked of it has been decided."""
    table = presentations.c
    card = update(presentations).where(table.id == request_id, table.due_at > now_us)
    connection.execute(card.values(due_at=now_us, fence=table.fence + 1))


# ---- the feed: one order for the events of all questions, that in which they are committed ----


_events = question_events.alias()
_NEXT_POSITION: Final = select(func.coalesce(func.max(_events.c.position), 0) + 1).scalar_subquery()
_LINE: Final = Prepared(insert(question_events).values(position=_NEXT_POSITION))
_TELL: Final = Prepared(text("SELECT pg_notify(:channel, one) FROM unnest(string_to_array(:news, ',')) AS one"))


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
    _LINE.run_each(connection, [_values(change) for change in changes])
    if connection.dialect.name == "postgresql":
        news = ",".join(f"{THIS_PROCESS} {change.question.id}" for change in changes)
        _TELL.run(connection, {"channel": QUESTIONS_CHANNEL, "news": news})


def _values(change: QuestionChange) -> dict[str, Any]:
    return {
        "question_id": change.question.id,
        "asker": change.question.asker,
        "event_type": str(change.event),
        "at": change.at_us,
    }
