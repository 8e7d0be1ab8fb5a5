"""How rows of the approval tables become values, and values rows."""

from __future__ import annotations

import json
from typing import Any, Final

from sqlalchemy import Connection, Select, insert, select

from postroom.domain.approval import (
    Action,
    ApprovalEvent,
    ApprovalEventType,
    Constraint,
    ConstraintKind,
    Content,
    StandingRule,
)
from postroom.domain.attachment import attachments_of_text
from postroom.domain.audit import AuditKind, NewAudit
from postroom.domain.markup import markup_of_text, revision_of_text
from postroom.world.store.engine.rows import read, values
from postroom.world.store.shared.audit import add_entry
from postroom.world.store.tables.approvals import approval_events, approval_rules, pending_actions
from postroom.world.store.tables.deliveries import delivery_requests
from postroom.world.store.tables.delivery_columns import read_format

_DECIDED: Final = {
    ApprovalEventType.ACTION_APPROVED: (AuditKind.DECISION, "approved a message"),
    ApprovalEventType.ACTION_REJECTED: (AuditKind.DECISION, "rejected a message"),
    ApprovalEventType.RULE_CREATED: (AuditKind.RULES, "made a standing rule"),
    ApprovalEventType.RULE_REVOKED: (AuditKind.RULES, "revoked a standing rule"),
}

_CONTENT: Final = [
    delivery_requests.c[name]
    for name in (
        *("channel", "intent", "address", "thread", "message_content", "subject", "emoji", "markup", "format"),
        *("revises", "attachments"),
    )
]


def actions() -> Select[Any]:
    """Every action with the delivery it stands for."""
    delivery = delivery_requests.c
    return select(
        pending_actions,
        *_CONTENT,
        delivery.request_id,
        delivery.request_envelope,
        delivery.created_at.label("delivery_created_at"),
        delivery.status.label("delivery_status"),
    ).join(delivery_requests, delivery.id == pending_actions.c.id)


def action_of(row: Any) -> Action:
    return read(
        Action,
        row,
        content=content_of_row(row),
        envelope=json.loads(row.request_envelope),
        reason=row.decision_reason,
        rule_id=row.approval_rule_id,
        revised=row.requested_at > row.delivery_created_at,
    )


def content_of_row(row: Any) -> Content:
    return read(
        Content,
        row,
        message=row.message_content,
        markup=markup_of_text(row.markup),
        format=read_format(row.format),
        revises=revision.delivery_id if (revision := revision_of_text(row.revises)) else None,
        attachments=attachments_of_text(row.attachments),
    )


def rule_of(row: Any) -> StandingRule:
    stored = json.loads(row.constraints)
    constraints = {name: Constraint(ConstraintKind(one["type"]), one.get("value", "")) for name, one in stored.items()}
    return read(StandingRule, row, constraints=constraints)


def insert_rule(connection: Connection, rule: StandingRule) -> None:
    constraints = {name: {"type": str(one.kind), "value": one.value} for name, one in rule.constraints.items()}
    connection.execute(
        insert(approval_rules).values(
            values(
                rule, without=("revoked_by", "revoked_at_us"), constraints=json.dumps(constraints, ensure_ascii=False)
            )
        )
    )


def insert_event(connection: Connection, event: ApprovalEvent) -> None:
    connection.execute(
        insert(approval_events).values(
            values(
                event,
                without=("type", "at_us", "metadata"),
                event_type=str(event.type),
                event_metadata=json.dumps(dict(event.metadata), ensure_ascii=False),
                occurred_at=event.at_us,
            )
        )
    )
    if event.type in _DECIDED:
        kind, act = _DECIDED[event.type]
        subject = f"approval:{event.action_id}" if event.action_id else f"rule:{event.rule_id}"
        new = NewAudit(actor=event.actor, kind=kind, act=act, subject=subject, door="")
        add_entry(connection, event.id, new, event.at_us)


def event_of(row: Any) -> ApprovalEvent:
    return read(
        ApprovalEvent,
        row,
        type=ApprovalEventType(row.event_type),
        at_us=row.occurred_at,
        metadata=json.loads(row.event_metadata),
    )
