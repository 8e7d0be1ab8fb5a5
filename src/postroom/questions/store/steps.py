"""Attempts as rows, and rows as attempts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
    text,
    update,
)

from postroom.conversations.store import inbound_messages
from postroom.delivery.store.tables import delivery_receipts, delivery_requests
from postroom.kernel.audit import AuditKind, NewAudit
from postroom.kernel.database.audit import add_entry
from postroom.kernel.database.engine import wait_for_turn
from postroom.kernel.database.rows import read, values
from postroom.kernel.database.signals import QUESTIONS_CHANNEL, THIS_PROCESS
from postroom.kernel.values.json import strict_json
from postroom.kernel.values.principal import OPERATOR, OWNER, Principal, Role
from postroom.message.attachment import Attachment
from postroom.message.delivery import Format, Status
from postroom.message.inbound import Assurance, Flag
from postroom.questions.model import (
    IN_LINE,
    Added,
    AnsweredBy,
    AskedPerson,
    Attempt,
    KeptAttempt,
    Option,
    Presentation,
    PresentationStatus,
    Question,
    QuestionAnswer,
    QuestionChange,
    QuestionEvent,
    QuestionEventType,
    QuestionKind,
    QuestionStatus,
    Resume,
    Said,
    Subject,
    Token,
    Verdict,
    VerdictKind,
    Wording,
    is_approval,
    wording_object,
)
from postroom.questions.store.tables import (
    presentation_parts,
    presentations,
    question_attempts,
    question_events,
    question_people,
    questions,
)


def insert_attempt(connection: Connection, attempt: Attempt, verdict: Verdict, *, secret: bool) -> None:
    connection.execute(insert(question_attempts), attempt_row(attempt, verdict, secret=secret))


def attempt_row(attempt: Attempt, verdict: Verdict, *, secret: bool) -> dict[str, Any]:
    """
    Of a secret the words are not kept: the answer has its own place, and a wrong try may hold it, too.

    The words are written in ASCII: what cannot be an answer may have characters that no store takes.
    """
    return values(
        attempt,
        flags=json.dumps(sorted(attempt.flags)),
        said=None if secret else strict_json(asdict(attempt.said)),
        verdict=str(verdict.kind),
        code=verdict.code,
        reason=verdict.reason,
    )


def read_attempt(row: Row[Any]) -> KeptAttempt:
    attempt = read(Attempt, row, said=_said(row.said), flags=frozenset(Flag(flag) for flag in json.loads(row.flags)))
    return KeptAttempt(attempt=attempt, verdict=read_verdict(row))


def read_verdict(row: Row[Any]) -> Verdict:
    return Verdict(kind=VerdictKind(row.verdict), code=row.code, reason=row.reason)


def _said(text: str | None) -> Said:
    if text is None:
        return Said()
    stored = json.loads(text)
    selected = stored["selected"]
    return Said(**{**stored, "selected": tuple(selected) if selected is not None else None, "files": files_of(stored)})


# One order for the events of all questions: that in which they are committed.


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


# Presentations as rows, and rows as presentations.


def found_presentations(connection: Connection, asked: Select[Any]) -> list[Presentation]:
    """In the order of these rows, each with the provider's ids of all its parts."""
    return [one for one, _ in fenced_presentations(connection, asked)]


def fenced_presentations(connection: Connection, asked: Select[Any]) -> list[tuple[Presentation, int]]:
    """The same, each with its fence."""
    rows = connection.execute(asked).all()
    parts = _parts(connection, [row.id for row in rows])
    return [(read_presentation(row, parts.get(row.id, ())), row.fence) for row in rows]


def about(channel: str, address: str, provider_id: str) -> Select[Any]:
    """
    Of an open question: that for which this message was sent, as a reminder or as a box to reply in.

    All that is sent about a presentation has its id in the request's.
    """
    request, receipt = delivery_requests.c, delivery_receipts.c
    return (
        select(presentations, request.id.label("sent"), request.created_at.label("sent_at"))
        .join(questions, questions.c.id == presentations.c.question_id)
        .join(delivery_requests, request.request_id == literal("ask:") + presentations.c.id)
        .join(delivery_receipts, receipt.delivery_request_id == request.id)
        .where(
            questions.c.status == str(QuestionStatus.OPEN),
            presentations.c.channel == channel,
            presentations.c.address == address,
            receipt.provider_delivery_id == provider_id,
        )
        .limit(1)
    )


def found_about(connection: Connection, channel: str, address: str, provider_id: str) -> Presentation | None:
    """The same, worded as it was in that message."""
    row = connection.execute(about(channel, address, provider_id)).first()
    if row is None:
        return None
    shown = read_presentation(row, ())
    return shown if row.sent == row.delivery_id else worded_at(connection, shown, row.sent_at)


def worded_at(connection: Connection, shown: Presentation, at_us: int) -> Presentation:
    """What was said then is about the words of then: it is no answer to those that stand on the card since."""
    event, question = question_events.c, questions.c
    revised = (event.event_type == str(QuestionEventType.REVISED), event.at > at_us)
    asked = select(func.count()).where(event.question_id == shown.question_id, *revised)
    since: int = connection.execute(asked).scalar_one()
    if since == 0:
        return shown
    now: int = connection.execute(select(question.revision).where(question.id == shown.question_id)).scalar_one()
    return replace(shown, revision=now - since)


def unnumbered(channel: str, address: str) -> Select[Any]:
    """Of open questions: those whose card may be there under a number that never reached us."""
    mine = delivery_requests.c.request_id == literal("ask:") + presentations.c.id
    doubled = exists().where(mine, delivery_requests.c.possible_duplicate.is_(True))
    parked = exists().where(mine, delivery_requests.c.status == str(Status.AWAITING_APPROVAL))
    under_way = and_(presentations.c.status == str(PresentationStatus.PLANNED), presentations.c.fence > 0, ~parked)
    return (
        select(presentations)
        .join(questions, questions.c.id == presentations.c.question_id)
        .where(
            questions.c.status == str(QuestionStatus.OPEN),
            presentations.c.channel == channel,
            presentations.c.address == address,
            or_(under_way, presentations.c.status == str(PresentationStatus.UNCERTAIN), doubled),
        )
        .order_by(presentations.c.id)
    )


def is_numbered(connection: Connection, channel: str, address: str, provider_id: str) -> bool:
    """A message there that we know by this number, ours or a person's own."""
    request, receipt = delivery_requests.c, delivery_receipts.c
    known = (
        select(request.id)
        .join(delivery_receipts, receipt.delivery_request_id == request.id)
        .where(receipt.provider_delivery_id == provider_id, request.channel == channel, request.address == address)
    )
    heard = (inbound_messages.c.channel == channel, inbound_messages.c.event_id == f"message:{address}:{provider_id}")
    return any(
        connection.execute(one.limit(1)).first() is not None
        for one in (known, select(inbound_messages.c.id).where(*heard))
    )


def awaiting_words(channel: str, places: Sequence[str]) -> Select[Any]:
    """Of open questions, the card there on which *Other* was pressed last."""
    table = presentations.c
    return (
        select(presentations)
        .join(questions, questions.c.id == table.question_id)
        .where(
            questions.c.status == str(QuestionStatus.OPEN),
            table.channel == channel,
            table.address.in_(places),
            table.words_awaited_at.is_not(None),
        )
        .order_by(table.words_awaited_at.desc())
        .limit(1)
    )


def wrote_since(connection: Connection, awaiting: Row[Any], place: str) -> bool:
    """Whether they wrote anything else there since; a message that is being heard has no person yet."""
    table = inbound_messages.c
    theirs = (table.person == awaiting.person_id, table.channel == awaiting.channel, table.place == place)
    last = connection.execute(select(table.received_at).where(*theirs).order_by(table.id.desc()).limit(1)).scalar()
    return last is not None and last > awaiting.words_awaited_at


def presentation_by_id(connection: Connection, question_id: str, presentation_id: str | None) -> Presentation | None:
    """None, too, when it shows another question."""
    mine = (presentations.c.id == presentation_id, presentations.c.question_id == question_id)
    return next(iter(found_presentations(connection, select(presentations).where(*mine))), None)


def write_toggles(connection: Connection, presentation_id: str, toggles: Sequence[str], now_us: int) -> None:
    change = update(presentations).where(presentations.c.id == presentation_id)
    connection.execute(change.values(toggles=json.dumps(list(toggles)), updated_at=now_us))


def presentation_row(new: Presentation) -> dict[str, Any]:
    return values(new, without=("delivery_id", "provider_ids"), toggles="[]", fence=0)


def read_presentation(row: Row[Any], parts: Sequence[str]) -> Presentation:
    return read(Presentation, row, provider_ids=tuple(parts), toggles=tuple(json.loads(row.toggles)))


def token_row(token: Token) -> dict[str, Any]:
    return {
        "token_hash": token.hash,
        "presentation_id": token.presentation_id,
        "action": str(token.action),
        "option": token.option,
        "revision": token.revision,
    }


def read_token(row: Row[Any]) -> Token:
    return read(Token, row, hash=row.token_hash)


def _parts(connection: Connection, ids: Sequence[str]) -> dict[str, list[str]]:
    if not ids:
        return {}
    table = presentation_parts.c
    asked = select(presentation_parts).where(table.presentation_id.in_(ids)).order_by(table.presentation_id, table.part)
    rows: Sequence[Row[Any]] = connection.execute(asked).all()
    return {name: [row.provider_id for row in group] for name, group in groupby(rows, lambda row: row.presentation_id)}


# Questions as rows, and rows as questions.


def question_row(question: Question) -> dict[str, Any]:
    return {
        "id": question.id,
        "asker": question.asker,
        "key": question.key,
        "fingerprint": question.fingerprint,
        "kind": str(question.wording.kind),
        "secret": question.wording.secret,
        "channels": _text(question.channels),
        "preview": str(question.preview),
        "quorum": question.quorum,
        "state": _text(question.state),
        "escalate_to": _text([asdict(person) for person in question.escalate_to] or None),
        "resume": _text(asdict(question.resume) if question.resume else None),
        "subject": str(question.subject) if question.subject else None,
        "created_at": question.created_at_us,
        **changing_columns(question),
    }


def changing_columns(question: Question) -> dict[str, Any]:
    """All but the answer, which is written once, and sealed when it is a secret."""
    return {
        "revision": question.revision,
        "revision_hash": question.revision_hash,
        "wording": _text(wording_object(question.wording)),
        "urgency": str(question.urgency),
        "remind_after": question.remind_after_seconds,
        "escalate_after": question.escalate_after_seconds,
        "status": str(question.status),
        "answered_by": _text(asdict(question.answered_by) if question.answered_by else None),
        "reason": question.reason,
        "superseded_by": question.superseded_by,
        "expires_at": question.expires_at_us,
        "ended_at": question.ended_at_us,
        "reminded_at": question.reminded_at_us,
        "escalated_at": question.escalated_at_us,
        "next_at": question.next_at_us,
    }


def answer_text(answer: QuestionAnswer) -> str:
    return strict_json(asdict(answer))


def read_answer(text: str) -> QuestionAnswer:
    stored = json.loads(text)
    return answer_of(stored)


def answer_of(stored: dict[str, Any]) -> QuestionAnswer:
    return QuestionAnswer(**{**stored, "selected": tuple(stored["selected"]), "files": files_of(stored)})


def files_of(stored: dict[str, Any]) -> tuple[Attachment, ...]:
    """What was written before there were any has none."""
    return tuple(Attachment(**one) for one in stored.get("files", ()))


def read_question(row: Row[Any], people: Sequence[AskedPerson]) -> Question:
    """The answer of a secret stays where it is; `collect` alone takes it out."""
    return read(
        Question,
        row,
        wording=_wording(row),
        people=tuple(people),
        channels=tuple(json.loads(row.channels)) if row.channels is not None else None,
        state=json.loads(row.state) if row.state is not None else None,
        remind_after_seconds=row.remind_after,
        escalate_to=tuple(_person(one) for one in json.loads(row.escalate_to or "[]")),
        escalate_after_seconds=row.escalate_after,
        resume=Resume(**json.loads(row.resume)) if row.resume is not None else None,
        subject=Subject.parse(row.subject) if row.subject is not None else None,
        answer=read_answer(row.answer) if row.answer is not None and not row.secret else None,
        answered_by=_answered_by(row.answered_by),
    )


def read_person(row: Row[Any]) -> AskedPerson:
    return AskedPerson(id=row.person_id, name=row.name, added=Added(row.added))


def read_event(row: Row[Any]) -> QuestionEvent:
    return read(QuestionEvent, row, type=QuestionEventType(row.event_type), note=json.loads(row.note))


def _wording(row: Row[Any]) -> Wording:
    """Of a question whose words were erased, what kind it was is left."""
    if row.wording is None:
        return Wording(kind=QuestionKind(row.kind), question="", secret=bool(row.secret))
    stored = json.loads(row.wording)
    default = stored.pop("default")
    return Wording(
        **{
            **stored,
            "kind": QuestionKind(stored["kind"]),
            "format": Format(stored.get("format", Format.PLAIN)),
            "options": tuple(Option(**option) for option in stored["options"]),
            "default": answer_of(default) if default else None,
        }
    )


def _answered_by(text: str | None) -> AnsweredBy | None:
    if text is None:
        return None
    stored = json.loads(text)
    return AnsweredBy(**{**stored, "assurance": Assurance(stored["assurance"])})


def _person(stored: dict[str, Any]) -> AskedPerson:
    return AskedPerson(id=stored["id"], name=stored["name"], added=Added(stored["added"]))


def _text(document: Any) -> str | None:
    return strict_json(document) if document is not None else None


# The single steps that transactions on questions are made of.


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
