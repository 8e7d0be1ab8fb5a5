"""The single steps that approval transactions are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, func, insert, literal_column, or_, select, update

from postroom.domain.address_folding import folded
from postroom.domain.approval import Action, ActionStatus, ApprovalDecision, Content, Parking, StandingRule, content_of
from postroom.domain.delivery import DeliveryEvent, Status, after
from postroom.domain.errors import ErrorClass, OverloadRejected
from postroom.domain.ids import DeliveryId
from postroom.domain.ledger import NewDelivery, Snapshot
from postroom.world.store.approvals.rows import action_of, actions, rule_of
from postroom.world.store.deliveries.ledger_rows import (
    INITIALLY,
    INSERT_COLUMNS,
    SNAPSHOT_COLUMNS,
    insert_values,
    snapshot_of,
)
from postroom.world.store.engine.insert_for import insert_for
from postroom.world.store.shared.signal_names import PENDING_CHANNEL
from postroom.world.store.tables.approvals import approval_rules, pending_actions
from postroom.world.store.tables.deliveries import delivery_requests

_PENDING: Final = str(ActionStatus.PENDING)
_FULL_RETRY_SECONDS: Final = 300.0


def insert_delivery(connection: Connection, new: NewDelivery) -> bool:
    """False when the key is taken."""
    values = dict(zip(INSERT_COLUMNS, insert_values(new, None), strict=True))
    values |= {name: literal_column(value) for name, value in INITIALLY.items()}
    statement = insert_for(connection, delivery_requests).values(values)
    return connection.execute(statement.on_conflict_do_nothing(index_elements=["idempotency_key"])).rowcount == 1


def delivery_by_key(connection: Connection, key: str) -> Snapshot:
    columns = [delivery_requests.c[name] for name in SNAPSHOT_COLUMNS]
    return snapshot_of(connection.execute(select(*columns).where(delivery_requests.c.idempotency_key == key)).one())


def insert_action(
    connection: Connection, new: NewDelivery, parking: Parking, status: ActionStatus, rule: StandingRule | None = None
) -> None:
    connection.execute(
        insert(pending_actions).values(
            id=new.id,
            origin_butler=new.agent,
            content_hash=content_of(new).hash,
            risk=str(parking.risk),
            status=str(status),
            requested_at=new.created_at_us,
            expires_at=parking.expires_at_us,
            decided_by=f"rule:{rule.id}" if rule else None,
            decided_at=new.created_at_us if rule else None,
            approval_rule_id=rule.id if rule else None,
            edited=False,
        )
    )


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
    values: Mapping[str, Any] | None = None,
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


def decided_values(action: Action, decision: ApprovalDecision) -> dict[str, Any]:
    """The delivery's columns that a decision changes beside its status."""
    if decision.status is not ActionStatus.APPROVED:
        error = {"terminal_error_class": str(ErrorClass.VALIDATION), "terminal_error_message": decision.failure}
        return {**error, "terminal_at": decision.at_us}
    return _content_values(decision.content or action.content) if decision.edited else {}


def _content_values(content: Content) -> dict[str, Any]:
    identity = f"{content.address}:{content.thread}" if content.thread else content.address
    return {
        "address": content.address,
        "target_identity": identity,
        "order_key": f"{content.channel}:{folded(content.address)}",
        "message_content": content.message,
        "subject": content.subject,
        "emoji": content.emoji,
    }


def action_by_id(connection: Connection, action_id: str) -> Action | None:
    row = connection.execute(actions().where(pending_actions.c.id == action_id)).first()
    return action_of(row) if row else None


def locked(*conditions: ColumnElement[bool], skip: bool = False) -> Select[Any]:
    """For PostgreSQL; SQLite has one writer and needs no lock."""
    return actions().where(*conditions).with_for_update(of=pending_actions, skip_locked=skip)


def overdue(now_us: int) -> tuple[ColumnElement[bool], ...]:
    return pending_actions.c.status == _PENDING, pending_actions.c.expires_at <= now_us


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
