"""The single steps that approval transactions are made of, and how their rows become values."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    delete,
    func,
    insert,
    literal_column,
    not_,
    or_,
    select,
    update,
)

from postroom.approvals.card import approval_question
from postroom.approvals.model import (
    Action,
    ActionStatus,
    ApprovalDecision,
    ApprovalEvent,
    ApprovalEventType,
    Choose,
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
from postroom.questions.model import (
    QuestionChange,
    QuestionEventType,
    QuestionMove,
    QuestionStatus,
    SubjectKind,
    ended,
)
from postroom.questions.store.steps import append, end_question, hold_questions, insert_question
from postroom.questions.store.tables import questions

_WITHDRAWN: Final = "withdrawn"
_FULL_RETRY_SECONDS: Final = 300.0
_DECISIONS: Final = {
    ApprovalEventType.ACTION_AUTO_APPROVED: ActionStatus.APPROVED,
    ApprovalEventType.ACTION_APPROVED: ActionStatus.APPROVED,
    ApprovalEventType.ACTION_REJECTED: ActionStatus.REJECTED,
    ApprovalEventType.ACTION_EXPIRED: ActionStatus.EXPIRED,
    ApprovalEventType.ACTION_WITHDRAWN: ActionStatus.EXPIRED,
}

Mint = Callable[[int], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingTerms:
    """`choose` picks, of the rules that stand, those that agree to the message."""

    parking: Parking
    choose: Choose

    def park(self, connection: Connection, mint: Mint, new: NewDelivery) -> bool:
        """With the question about it; True when a standing rule has agreed to it already, and nobody is asked."""
        return self._parked(connection, mint, new, new.created_at_us, f"butler:{new.agent}")

    def park_again(self, connection: Connection, mint: Mint, new: NewDelivery, *, actor: str, at_us: int) -> bool:
        """
        The approval begins anew with the new text.

        The question about the old text ends, so that no card of it decides anything, and the people are asked again.
        """
        for question in hold_questions(connection, SubjectKind.APPROVAL, [new.id]):
            end_question(connection, question, ended(question, QuestionMove.SUPERSEDE, at_us))
        connection.execute(delete(pending_actions).where(pending_actions.c.id == new.id))
        return self._parked(connection, mint, new, at_us, actor, again=True)

    def _parked(
        self, connection: Connection, mint: Mint, new: NewDelivery, at_us: int, actor: str, *, again: bool = False
    ) -> bool:
        rule = next((one for one in self.choose(all_rules(connection)) if use(connection, one, at_us)), None)
        question = None
        if rule is None:
            refuse_flood(connection, new.agent, self.parking.most_pending)
            question = approval_question(new, self.parking, id=mint(at_us), now_us=at_us, again=again)
        parked: Columns = {"content_hash": content_of(new).hash, "risk": str(self.parking.risk)}
        asked = {
            "question_id": question.id if question else None,
            "requested_at": at_us,
            "expires_at": self.parking.expires_at_us,
            "edited": False,
        }
        connection.execute(insert(pending_actions).values(id=new.id, origin_butler=new.agent, **asked, **parked))
        if again or question is not None:
            kind = ApprovalEventType.ACTION_REVISED if again else ApprovalEventType.ACTION_QUEUED
            log(connection, mint, kind, actor, at_us, action_id=new.id, metadata=parked)
        if rule is not None:
            kind, by = ApprovalEventType.ACTION_AUTO_APPROVED, f"rule:{rule.id}"
            log(connection, mint, kind, by, at_us, action_id=new.id, rule_id=rule.id, metadata=parked)
        if question is not None:
            insert_question(connection, question)
            append(connection, QuestionChange(question=question, event=QuestionEventType.OPENED, at_us=at_us))
        return question is None


class ParkedDeliveries:
    """What is parked, for whoever changes a delivery in the same transaction."""

    def hold(self, connection: Connection, delivery_id: DeliveryId) -> None:
        """Who decides just now comes before, or finds another text."""
        hold_questions(connection, SubjectKind.APPROVAL, [delivery_id])

    def close(self, connection: Connection, mint: Mint, delivery_id: DeliveryId, *, actor: str, at_us: int) -> None:
        """There is nothing left to decide; its cards say so."""
        for question in hold_questions(connection, SubjectKind.APPROVAL, [delivery_id]):
            log(connection, mint, ApprovalEventType.ACTION_WITHDRAWN, actor, at_us, action_id=delivery_id)
            end_question(connection, question, ended(question, QuestionMove.CANCEL, at_us))


def log(connection: Connection, mint: Mint, kind: ApprovalEventType, actor: str, at_us: int, **about: Any) -> None:
    insert_event(connection, ApprovalEvent(id=mint(at_us), type=kind, actor=actor, at_us=at_us, **about))


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


_trail = approval_events.alias("trail")
_LAST_DECISION: Final = (
    select(func.max(_trail.c.id))
    .where(_trail.c.action_id == pending_actions.c.id, _trail.c.event_type.in_(map(str, _DECISIONS)))
    .scalar_subquery()
)
_decision = approval_events.alias("decision")


def actions() -> Select[Any]:
    """Every action with the delivery it stands for, its question, and the line of the trail that says how it ended."""
    delivery, decision = delivery_requests.c, _decision.c
    return (
        select(
            *(one for one in pending_actions.c if one.name != "expires_at"),
            *_CONTENT,
            delivery.request_id,
            delivery.request_envelope,
            delivery.created_at.label("delivery_created_at"),
            delivery.status.label("delivery_status"),
            questions.c.status.label("question_status"),
            func.coalesce(questions.c.expires_at, pending_actions.c.expires_at).label("expires_at"),
            decision.event_type,
            decision.actor,
            decision.reason,
            decision.rule_id,
            decision.occurred_at,
        )
        .join(delivery_requests, delivery.id == pending_actions.c.id)
        .outerjoin(questions, questions.c.id == pending_actions.c.question_id)
        .outerjoin(_decision, decision.id == _LAST_DECISION)
    )


def action_of(row: Any) -> Action:
    """As long as its question is open, a decision about an earlier text counts for nothing."""
    waits = row.question_status == str(QuestionStatus.OPEN)
    kind = ApprovalEventType(row.event_type) if row.event_type and not waits else None
    return read(
        Action,
        row,
        content=_content_of_row(row),
        envelope=envelope_of(row.request_envelope, row.message_content),
        status=_DECISIONS[kind] if kind else ActionStatus.PENDING,
        decided_by=row.actor if kind else None,
        decided_at_us=row.occurred_at if kind else None,
        reason=_WITHDRAWN if kind is ApprovalEventType.ACTION_WITHDRAWN else row.reason if kind else None,
        rule_id=row.rule_id if kind is ApprovalEventType.ACTION_AUTO_APPROVED else None,
        revised=row.requested_at > row.delivery_created_at,
    )


def waits() -> ColumnElement[bool]:
    """Of a row of questions: it is about what is parked, and open."""
    return and_(questions.c.status == str(QuestionStatus.OPEN), questions.c.subject_kind == str(SubjectKind.APPROVAL))


def stands(status: ActionStatus) -> ColumnElement[bool]:
    """Of a row of `actions`; what waits is little, and is found by that."""
    waiting = pending_actions.c.id.in_(select(questions.c.subject_id).where(waits()))
    if status is ActionStatus.PENDING:
        return waiting
    kinds = [str(kind) for kind, become in _DECISIONS.items() if become is status]
    return and_(_decision.c.event_type.in_(kinds), not_(waiting))


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


def insert_delivery(connection: Connection, new: NewDelivery) -> bool:
    """False when the key is taken."""
    values = dict(zip(INSERT_COLUMNS, insert_values(new, None), strict=True))
    values |= {name: literal_column(value) for name, value in INITIALLY.items()}
    statement = insert_for(connection, delivery_requests).values(values)
    return connection.execute(statement.on_conflict_do_nothing(index_elements=["idempotency_key"])).rowcount == 1


def delivery_by_key(connection: Connection, key: str) -> Snapshot:
    columns = [delivery_requests.c[name] for name in SNAPSHOT_COLUMNS]
    return snapshot_of(connection.execute(select(*columns).where(delivery_requests.c.idempotency_key == key)).one())


def refuse_flood(connection: Connection, agent: str, most: int) -> None:
    """A person's attention is a limit like any other."""
    mine = pending_actions.c.origin_butler == agent
    waiting = select(func.count()).join_from(questions, pending_actions, pending_actions.c.id == questions.c.subject_id)
    waiting = waiting.where(waits(), mine)
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
