"""Questions as rows, and rows as questions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Row

from postroom.domain.assurance import Assurance
from postroom.domain.attachment import Attachment
from postroom.domain.delivery import Format
from postroom.domain.question import (
    Added,
    AskedPerson,
    Option,
    Question,
    QuestionKind,
    Resume,
    Subject,
    Wording,
    wording_object,
)
from postroom.domain.question_answer import AnsweredBy, QuestionAnswer
from postroom.domain.question_change import QuestionEvent, QuestionEventType
from postroom.domain.strict_json import strict_json
from postroom.world.store.engine.rows import read


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
