"""Who decided what, as the records of questions, approvals and corrections know it already."""

from __future__ import annotations

import json
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, false, func, or_, select, tuple_

from postroom.domain.approval import ApprovalEventType
from postroom.domain.audit import AuditEntry, AuditKind, AuditQuery
from postroom.domain.question import SubjectKind
from postroom.domain.question_states import QuestionStatus
from postroom.world.store.tables.approvals import approval_events
from postroom.world.store.tables.corrections import delivery_corrections
from postroom.world.store.tables.questions import questions

_ENDED: Final = (str(QuestionStatus.ANSWERED), str(QuestionStatus.DECLINED))
_DECIDED: Final = {
    ApprovalEventType.ACTION_APPROVED: (AuditKind.DECISION, "approved a message"),
    ApprovalEventType.ACTION_REJECTED: (AuditKind.DECISION, "rejected a message"),
    ApprovalEventType.RULE_CREATED: (AuditKind.RULES, "made a standing rule"),
    ApprovalEventType.RULE_REVOKED: (AuditKind.RULES, "revoked a standing rule"),
}
_CORRECTIONS: Final = {"revise": "changed the text of a message", "recall": "took a message back"}


def answered(connection: Connection, query: AuditQuery) -> list[AuditEntry]:
    """Those about a parked message are told by the approvals, which know the decision."""
    if query.kind not in (None, AuditKind.DECISION):
        return []
    table = questions.c
    asked: Select[Any] = select(table.id, table.ended_at, table.answered_by, table.status)
    # An expression: by the index of states, all that ever ended would be read; and one that is taken to hold for half.
    ended = func.coalesce(table.status.in_(_ENDED), false())
    asked = asked.where(ended, table.answered_by.is_not(None), _not_of_approvals())
    asked = _page(asked, table.ended_at, table.id, query)
    if query.actors:
        asked = asked.where(table.answered_person.in_([_person(one) for one in query.actors]))
    return [_answer(row) for row in connection.execute(asked)]


def approved(connection: Connection, query: AuditQuery) -> list[AuditEntry]:
    kinds = [one for one, (kind, _) in _DECIDED.items() if query.kind in (None, kind)]
    if not kinds:
        return []
    table = approval_events.c
    asked = select(approval_events).where(table.event_type.in_(map(str, kinds)))
    asked = _page(asked, table.occurred_at, table.id, query)
    if query.actors:
        asked = asked.where(table.actor.in_(query.actors))
    return [_decision(row) for row in connection.execute(asked)]


def corrected(connection: Connection, query: AuditQuery) -> list[AuditEntry]:
    if query.kind not in (None, AuditKind.MESSAGES):
        return []
    table = delivery_corrections.c
    asked = _page(select(delivery_corrections), table.at, table.id, query)
    if query.actors:
        asked = asked.where(table.actor.in_(query.actors))
    return [
        AuditEntry(
            id=row.id,
            at_us=row.at,
            actor=row.actor,
            kind=AuditKind.MESSAGES,
            act=_CORRECTIONS.get(row.act, row.act),
            subject=f"delivery:{row.delivery_id}",
            detail=row.how,
        )
        for row in connection.execute(asked)
    ]


def _page(asked: Select[Any], at: ColumnElement[Any], key: ColumnElement[Any], query: AuditQuery) -> Select[Any]:
    asked = asked.order_by(at.desc(), key.desc()).limit(query.limit)
    return asked if query.before is None else asked.where(tuple_(at, key) < query.before)


def _not_of_approvals() -> ColumnElement[bool]:
    return or_(questions.c.subject.is_(None), ~questions.c.subject.like(f"{SubjectKind.APPROVAL}:%"))


def _person(actor: str) -> str:
    """How the record of an answer names its person."""
    return "owner" if actor == "operator" else actor.partition(":")[2] or actor


def _answer(row: Any) -> AuditEntry:
    by = json.loads(row.answered_by)
    person_id, channel = by.get("person_id") or "", by.get("channel") or ""
    declined = row.status == QuestionStatus.DECLINED
    return AuditEntry(
        id=row.id,
        at_us=row.ended_at,
        actor="operator" if person_id == "owner" else f"person:{person_id}",
        kind=AuditKind.DECISION,
        act="declined a question" if declined else "answered a question",
        subject=f"question:{row.id}",
        door=channel,
    )


def _decision(row: Any) -> AuditEntry:
    kind, act = _DECIDED[ApprovalEventType(row.event_type)]
    subject = f"approval:{row.action_id}" if row.action_id else f"rule:{row.rule_id}"
    return AuditEntry(id=row.id, at_us=row.occurred_at, actor=row.actor, kind=kind, act=act, subject=subject)
