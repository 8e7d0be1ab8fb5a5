"""How rows of the approval tables become values, and values rows."""

from __future__ import annotations

import json
from typing import Any, Final

from sqlalchemy import Connection, Select, insert, select

from postroom.domain.approval import (
    Action,
    ActionStatus,
    ApprovalEvent,
    ApprovalEventType,
    Constraint,
    ConstraintKind,
    Content,
    Risk,
    StandingRule,
)
from postroom.domain.attachment import attachments_of_text
from postroom.domain.audit import AuditKind, NewAudit
from postroom.domain.delivery import Intent, Status
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import markup_of_text, revision_of_text
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
    return Action(
        id=DeliveryId(row.id),
        origin_butler=row.origin_butler,
        request_id=row.request_id,
        content=content_of_row(row),
        content_hash=row.content_hash,
        envelope=json.loads(row.request_envelope),
        risk=Risk(row.risk),
        status=ActionStatus(row.status),
        requested_at_us=row.requested_at,
        expires_at_us=row.expires_at,
        decided_by=row.decided_by,
        decided_at_us=row.decided_at,
        reason=row.decision_reason,
        rule_id=row.approval_rule_id,
        edited=bool(row.edited),
        delivery_status=Status(row.delivery_status),
        revised=row.requested_at > row.delivery_created_at,
    )


def content_of_row(row: Any) -> Content:
    return Content(
        channel=row.channel,
        intent=Intent(row.intent),
        address=row.address,
        thread=row.thread,
        subject=row.subject,
        message=row.message_content,
        emoji=row.emoji,
        markup=markup_of_text(row.markup),
        format=read_format(row.format),
        revises=revision.delivery_id if (revision := revision_of_text(row.revises)) else None,
        attachments=attachments_of_text(row.attachments),
    )


def rule_of(row: Any) -> StandingRule:
    stored = json.loads(row.constraints)
    constraints = {name: Constraint(ConstraintKind(one["type"]), one.get("value", "")) for name, one in stored.items()}
    return StandingRule(
        id=row.id,
        constraints=constraints,
        description=row.description,
        created_by=row.created_by,
        created_at_us=row.created_at,
        created_from=DeliveryId(row.created_from) if row.created_from else None,
        expires_at_us=row.expires_at,
        max_uses=row.max_uses,
        use_count=row.use_count,
        revoked_by=row.revoked_by,
        revoked_at_us=row.revoked_at,
    )


def insert_rule(connection: Connection, rule: StandingRule) -> None:
    constraints = {name: {"type": str(one.kind), "value": one.value} for name, one in rule.constraints.items()}
    connection.execute(
        insert(approval_rules).values(
            id=rule.id,
            constraints=json.dumps(constraints, ensure_ascii=False),
            description=rule.description,
            created_by=rule.created_by,
            created_from=rule.created_from,
            created_at=rule.created_at_us,
            expires_at=rule.expires_at_us,
            max_uses=rule.max_uses,
            use_count=rule.use_count,
        )
    )


def insert_event(connection: Connection, event: ApprovalEvent) -> None:
    connection.execute(
        insert(approval_events).values(
            id=event.id,
            action_id=event.action_id,
            rule_id=event.rule_id,
            event_type=str(event.type),
            actor=event.actor,
            reason=event.reason,
            event_metadata=json.dumps(dict(event.metadata), ensure_ascii=False),
            occurred_at=event.at_us,
        )
    )
    if event.type in _DECIDED:
        kind, act = _DECIDED[event.type]
        subject = f"approval:{event.action_id}" if event.action_id else f"rule:{event.rule_id}"
        new = NewAudit(actor=event.actor, kind=kind, act=act, subject=subject, door="")
        add_entry(connection, event.id, new, event.at_us)


def event_of(row: Any) -> ApprovalEvent:
    return ApprovalEvent(
        id=row.id,
        type=ApprovalEventType(row.event_type),
        actor=row.actor,
        at_us=row.occurred_at,
        action_id=DeliveryId(row.action_id) if row.action_id else None,
        rule_id=row.rule_id,
        reason=row.reason,
        metadata=json.loads(row.event_metadata),
    )
