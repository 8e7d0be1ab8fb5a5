"""The single steps that approval transactions are made of, and how their rows become values."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from postroom.approvals.model import (
    Action,
    ActionStatus,
    ApprovalDecision,
    ApprovalEvent,
    ApprovalEventType,
    Content,
    Parking,
    StandingRule,
    content_of,
)
from postroom.approvals.store.tables import approval_events, approval_rules, pending_actions
from postroom.delivery.model import NewDelivery, Snapshot
from postroom.delivery.store.rows import (
    INITIALLY,
    INSERT_COLUMNS,
    SNAPSHOT_COLUMNS,
    envelope_of,
    insert_values,
    snapshot_of,
)
from postroom.delivery.store.tables import delivery_requests, read_format
from postroom.kernel.audit import AuditKind, NewAudit
from postroom.kernel.database.audit import add_entry
from postroom.kernel.database.engine import PENDING_CHANNEL, insert_for
from postroom.kernel.database.rows import Columns, read, values
from postroom.kernel.values.errors import ErrorClass, OverloadRejected
from postroom.kernel.values.ids import DeliveryId
from postroom.message.attachment import attachments_of_text
from postroom.message.delivery import DeliveryEvent, Status, after, folded
from postroom.message.markup import markup_of_text
from postroom.questions.model import QuestionMove, SubjectKind, ended
from postroom.questions.store.steps import end_question, hold_questions

_WITHDRAWN: Final = "withdrawn"
_PENDING: Final = str(ActionStatus.PENDING)
_FULL_RETRY_SECONDS: Final = 300.0
_NOT_LET_GO: Final = (str(ActionStatus.REJECTED), str(ActionStatus.EXPIRED))

Mint = Callable[[int], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingTerms:
    """`choose` picks, of the rules that stand, those that agree to the message."""

    parking: Parking
    choose: Callable[[Sequence[StandingRule]], Sequence[StandingRule]]

    def park_again(
        self,
        connection: Connection,
        mint: Mint,
        new: NewDelivery,
        *,
        was: str | None,
        actor: str,
        at_us: int,
    ) -> bool:
        """
        The approval begins anew with the new text; True when a standing rule has agreed to it already.

        The question about the old text ends, so that no card of it decides anything, and the people are asked again.
        """
        close_cards(connection, new.id, QuestionMove.SUPERSEDE, at_us)
        if was != _PENDING:  # it comes back from those that may be sent
            refuse_flood(connection, new.agent, self.parking.most_pending)
        rules = self.choose(all_rules(connection))
        rule = next((one for one in rules if use(connection, one, at_us)), None)
        values = _action(new, self.parking, rule, at_us)
        if was == _PENDING:
            connection.execute(update(pending_actions).where(pending_actions.c.id == new.id).values(values))
        else:  # a decision is taken once: the old one stays in the audit trail, and another is to be taken
            connection.execute(delete(pending_actions).where(pending_actions.c.id == new.id))
            connection.execute(pending_actions.insert().values(id=new.id, origin_butler=new.agent, **values))
        kept = {"content_hash": values["content_hash"], "risk": values["risk"]}
        _log(connection, mint, ApprovalEventType.ACTION_REVISED, new.id, actor, at_us, metadata=kept)
        if rule is not None:
            kind = ApprovalEventType.ACTION_AUTO_APPROVED
            _log(connection, mint, kind, new.id, f"rule:{rule.id}", at_us, rule_id=rule.id, metadata=kept)
        return rule is not None


class ParkedDeliveries:
    """What is parked, for whoever changes a delivery in the same transaction."""

    def hold(self, connection: Connection, delivery_id: DeliveryId) -> str | None:
        """Its status, under its lock: who decides just now comes before, or finds another text."""
        asked = select(pending_actions.c.status).where(pending_actions.c.id == delivery_id).with_for_update()
        status: str | None = connection.execute(asked).scalar()
        return status

    def close(self, connection: Connection, mint: Mint, delivery_id: DeliveryId, *, actor: str, at_us: int) -> None:
        """There is nothing left to decide; its cards say so."""
        held = pending_actions.c.id == delivery_id, pending_actions.c.status == _PENDING
        over = {
            "status": str(ActionStatus.EXPIRED),
            "decided_by": actor,
            "decided_at": at_us,
            "decision_reason": _WITHDRAWN,
        }
        if connection.execute(update(pending_actions).where(*held).values(over)).rowcount:
            _log(connection, mint, ApprovalEventType.ACTION_WITHDRAWN, delivery_id, actor, at_us)
        close_cards(connection, delivery_id, QuestionMove.CANCEL, at_us)


def was_refused() -> ColumnElement[bool]:
    """Of a row of deliveries: a person did not let it go, or none decided in time."""
    return exists().where(pending_actions.c.id == delivery_requests.c.id, pending_actions.c.status.in_(_NOT_LET_GO))


def close_cards(connection: Connection, action_id: DeliveryId, move: QuestionMove, at_us: int) -> None:
    for question in hold_questions(connection, SubjectKind.APPROVAL, [action_id]):
        end_question(connection, question, ended(question, move, at_us))


def _action(new: NewDelivery, parking: Parking, rule: StandingRule | None, at_us: int) -> Columns:
    return {
        "content_hash": content_of(new).hash,
        "risk": str(parking.risk),
        "status": str(ActionStatus.APPROVED if rule else ActionStatus.PENDING),
        "requested_at": at_us,
        "expires_at": parking.expires_at_us,
        "asked_at": None,
        "decided_by": f"rule:{rule.id}" if rule else None,
        "decided_at": at_us if rule else None,
        "decision_reason": None,
        "approval_rule_id": rule.id if rule else None,
        "edited": False,
    }


def _log(
    connection: Connection,
    mint: Mint,
    kind: ApprovalEventType,
    action_id: DeliveryId,
    actor: str,
    at_us: int,
    **about: Any,
) -> None:
    event = ApprovalEvent(id=mint(at_us), type=kind, actor=actor, at_us=at_us, action_id=action_id, **about)
    insert_event(connection, event)


# How rows of the approval tables become values, and values rows.


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


# ---- rows ----


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
        content=_content_of_row(row),
        envelope=envelope_of(row.request_envelope, row.message_content),
        reason=row.decision_reason,
        rule_id=row.approval_rule_id,
        revised=row.requested_at > row.delivery_created_at,
    )


def _content_of_row(row: Any) -> Content:
    return read(
        Content,
        row,
        message=row.message_content,
        markup=markup_of_text(row.markup),
        format=read_format(row.format),
        attachments=attachments_of_text(row.attachments),
    )


def rule_of(row: Any) -> StandingRule:
    return read(StandingRule, row)


def insert_rule(connection: Connection, rule: StandingRule) -> None:
    connection.execute(insert(approval_rules).values(values(rule, without=("revoked_by", "revoked_at_us"))))


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


# ---- steps ----


def action_by_id(connection: Connection, action_id: str) -> Action | None:
    row = connection.execute(actions().where(pending_actions.c.id == action_id)).first()
    return action_of(row) if row else None


def locked(*conditions: ColumnElement[bool], skip: bool = False) -> Select[Any]:
    """For PostgreSQL; SQLite has one writer and needs no lock."""
    return actions().where(*conditions).with_for_update(of=pending_actions, skip_locked=skip)


def overdue(now_us: int) -> tuple[ColumnElement[bool], ...]:
    return pending_actions.c.status == _PENDING, pending_actions.c.expires_at <= now_us


def insert_delivery(connection: Connection, new: NewDelivery) -> bool:
    """False when the key is taken."""
    values = dict(zip(INSERT_COLUMNS, insert_values(new, None), strict=True))
    values |= {name: literal_column(value) for name, value in INITIALLY.items()}
    statement = insert_for(connection, delivery_requests).values(values)
    return connection.execute(statement.on_conflict_do_nothing(index_elements=["idempotency_key"])).rowcount == 1


def delivery_by_key(connection: Connection, key: str) -> Snapshot:
    columns = [delivery_requests.c[name] for name in SNAPSHOT_COLUMNS]
    return snapshot_of(connection.execute(select(*columns).where(delivery_requests.c.idempotency_key == key)).one())


def insert_action(connection: Connection, new: NewDelivery, parking: Parking, rule: StandingRule | None = None) -> None:
    """Approved already where a rule has agreed to it."""
    row = _action(new, parking, rule, new.created_at_us)
    connection.execute(insert(pending_actions).values(id=new.id, origin_butler=new.agent, **row))


def refuse_flood(connection: Connection, agent: str, most: int) -> None:
    """A person's attention is a limit like any other."""
    table = pending_actions.c
    waiting = select(func.count()).where(table.origin_butler == agent, table.status == _PENDING)
    if connection.execute(waiting).scalar_one() >= most:
        raise OverloadRejected(
            f"{most} messages of {agent} already wait for approval",
            limit_type="approvals",
            retry_after_seconds=_FULL_RETRY_SECONDS,
        )


def move(
    connection: Connection,
    delivery_id: DeliveryId,
    event: DeliveryEvent,
    now_us: int,
    values: Columns | None = None,
) -> None:
    """Out of `awaiting_approval`, once; a row that is not there has been decided by somebody else."""
    table = delivery_requests.c
    change = update(delivery_requests).where(table.id == delivery_id, table.status == str(Status.AWAITING_APPROVAL))
    status = after(Status.AWAITING_APPROVAL, event)
    moment = {"status": str(status), "updated_at": now_us, "not_before": now_us}
    if connection.execute(change.values({**moment, **(values or {})})).rowcount != 1:
        raise RuntimeError("a pending action's delivery does not await approval")
    if status is Status.PENDING:
        _tell_workers(connection)


def _tell_workers(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_notify(PENDING_CHANNEL, "")))


def decided_values(action: Action, decision: ApprovalDecision) -> Columns:
    """The delivery's columns that a decision changes beside its status."""
    if decision.status is not ActionStatus.APPROVED:
        error = {"terminal_error_class": str(ErrorClass.VALIDATION), "terminal_error_message": decision.failure}
        return {**error, "terminal_at": decision.at_us}
    return _content_values(decision.content or action.content) if decision.edited else {}


def _content_values(content: Content) -> Columns:
    identity = f"{content.address}:{content.thread}" if content.thread else content.address
    return {
        "address": content.address,
        "target_identity": identity,
        "order_key": f"{content.channel}:{folded(content.address)}",
        "message_content": content.message,
        "subject": content.subject,
        "emoji": content.emoji,
    }


def all_rules(connection: Connection) -> list[StandingRule]:
    """Those that could still be used."""
    rows = connection.execute(select(approval_rules).where(approval_rules.c.revoked_at.is_(None)))
    return [rule_of(row) for row in rows]


def use(connection: Connection, rule: StandingRule, now_us: int) -> bool:
    """Counted by the database, so that the last use is given to one of those who want it."""
    table = approval_rules.c
    change = update(approval_rules).where(
        table.id == rule.id,
        table.revoked_at.is_(None),
        or_(table.expires_at.is_(None), table.expires_at > now_us),
        or_(table.max_uses.is_(None), table.use_count < table.max_uses),
    )
    return connection.execute(change.values(use_count=table.use_count + 1)).rowcount == 1
