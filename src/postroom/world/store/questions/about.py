"""Questions that are about something else than one kind of thing."""

from __future__ import annotations

from sqlalchemy import ColumnElement, or_

from postroom.domain.question import SubjectKind
from postroom.world.store.tables.questions import questions


def is_not_about(kind: SubjectKind) -> ColumnElement[bool]:
    subject = questions.c.subject
    return or_(subject.is_(None), subject.not_like(f"{kind}:%"))
