"""Approvals on disk: parking, deciding and expiring are each one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Select, select, update

from postroom.approvals.model import (
    Action,
    ActionStatus,
    ApprovalDecision,
    ApprovalEvent,
    ApprovalEventType,
    DecisionRule,
    StandingRule,
    refused_verdict,
)
from postroom.approvals.rules import expiration
from postroom.approvals.store import steps
from postroom.approvals.store.steps import StandingTerms, action_of, actions, event_of, insert_rule, log, rule_of
from postroom.approvals.store.tables import approval_events, approval_rules, heard_threads, pending_actions
from postroom.delivery.model import Inserted, NewDelivery
from postroom.delivery.store.rows import new_snapshot
from postroom.delivery.store.tables import delivery_requests
from postroom.kernel.database.engine import Database, insert_for
from postroom.kernel.database.rows import Columns
from postroom.kernel.values.errors import FieldError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import DeliveryEvent, Status
from postroom.questions.model import Attempt, Question, Subject, Verdict, VerdictKind
from postroom.questions.store.steps import make_due
from postroom.questions.store.tables import questions

_EVENTS: Final = {
    ActionStatus.APPROVED: ApprovalEventType.ACTION_APPROVED,
    ActionStatus.REJECTED: ApprovalEventType.ACTION_REJECTED,
    ActionStatus.EXPIRED: ApprovalEventType.ACTION_EXPIRED,
}
_OVERDUE_BATCH: Final = 200
_GONE: Final = FieldError("action_id", "there is nothing left to decide", "unknown_action")
_WORDED_ANEW: Final = Verdict(kind=VerdictKind.LATE, code="superseded", reason="another question took its place")
_Value = TypeVar("_Value")


class StoredApprovals:
    def __init__(self, database: Database, mint: Callable[[int], str]) -> None:
        self._database = database
        self._mint = mint

    async def park(self, new: NewDelivery, terms: StandingTerms) -> Inserted:
        def work(connection: Connection) -> Inserted:
            if not steps.insert_delivery(connection, replace(new, status=Status.AWAITING_APPROVAL)):
                return Inserted(created=False, snapshot=steps.delivery_by_key(connection, new.idempotency_key))
            if terms.park(connection, self._mint, new):
                steps.move(connection, new.id, DeliveryEvent.APPROVE, new.created_at_us)
                return Inserted(created=True, snapshot=new_snapshot(new, Status.PENDING))
            return Inserted(created=True, snapshot=new_snapshot(new, Status.AWAITING_APPROVAL))

        return await self._database.write(work)

    def decide(
        self, connection: Connection, question: Question, attempt: Attempt, verdict: Verdict, rule: DecisionRule
    ) -> Verdict:
        """
        What the answer comes to, in the transaction that ends its question, from whatever door it came.

        A refusal decides nothing; one that is worth a line in the audit has it.
        """
        action = steps.action_by_id(connection, question.subject.id) if question.subject else None
        if action is None:
            return refused_verdict(_GONE, question)
        if action.question_id != question.id:
            return _WORDED_ANEW
        ruling = rule(action, question, attempt, verdict)
        if ruling.refusal is None and (decision := ruling.decision) is not None:
            self._settle(connection, action, decision)
            return replace(verdict, reason=f"edited: {', '.join(decision.edited)}" if decision.edited else "")
        if ruling.refusal is not None and ruling.refused is not None:
            actor, at_us = ruling.refused
            code = {"code": ruling.refusal.code}
            self._log(connection, ApprovalEventType.DECISION_REFUSED, actor, at_us, action_id=action.id, metadata=code)
        return refused_verdict(ruling.refusal or _GONE, question)

    def expire(self, connection: Connection, question: Question, at_us: int) -> None:
        """Nobody decided in time; in the transaction that ends its question."""
        action = steps.action_by_id(connection, question.subject.id) if question.subject else None
        if action is not None and action.question_id == question.id:
            self._settle(connection, action, expiration(action, at_us))

    async def overdue(self, now_us: int) -> Sequence[str]:
        """The questions about what nobody decided in time, and that have not ended yet."""
        wanted = select(questions.c.id).where(steps.waits(), questions.c.expires_at <= now_us)
        return await self._read(wanted.order_by(questions.c.id).limit(_OVERDUE_BATCH), lambda row: str(row.id))

    async def is_edited(self, request_id: str) -> bool:
        """Whether a person changed the words of something that was sent for this request before they agreed to it."""
        mine = (delivery_requests.c.request_id == request_id, pending_actions.c.edited.is_(True))
        found = select(pending_actions.c.id).join(delivery_requests).where(*mine).limit(1)
        return await self._database.read(lambda connection: connection.execute(found).first() is not None)

    async def action(self, action_id: DeliveryId) -> Action | None:
        return await self._database.read(lambda connection: steps.action_by_id(connection, action_id))

    async def page(self, status: ActionStatus | None, before: str | None, limit: int) -> Sequence[Action]:
        wanted = actions().order_by(pending_actions.c.id.desc()).limit(limit)
        if status is not None:
            wanted = wanted.where(steps.stands(status))
        if before is not None:
            wanted = wanted.where(pending_actions.c.id < before)
        return await self._read(wanted, action_of)

    async def events(self, action_id: DeliveryId) -> Sequence[ApprovalEvent]:
        table = approval_events
        return await self._read(select(table).where(table.c.action_id == action_id).order_by(table.c.id), event_of)

    async def add_rule(self, rule: StandingRule) -> None:
        await self._database.write(lambda connection: self._add_rule(connection, rule))

    async def revoke_rule(self, rule_id: str, actor: str, now_us: int) -> StandingRule | None:
        table = approval_rules.c

        def work(connection: Connection) -> StandingRule | None:
            change = update(approval_rules).where(table.id == rule_id, table.revoked_at.is_(None))
            if connection.execute(change.values(revoked_by=actor, revoked_at=now_us)).rowcount:
                self._log(connection, ApprovalEventType.RULE_REVOKED, actor, now_us, rule_id=rule_id)
            row = connection.execute(select(approval_rules).where(table.id == rule_id)).first()
            return rule_of(row) if row else None

        return await self._database.write(work)

    async def rules(self) -> Sequence[StandingRule]:
        return await self._read(select(approval_rules).order_by(approval_rules.c.id.desc()), rule_of)

    async def _read(self, statement: Select[Any], shape: Callable[[Any], _Value]) -> list[_Value]:
        def work(connection: Connection) -> list[_Value]:
            return [shape(row) for row in connection.execute(statement)]

        return await self._database.read(work)

    def _settle(self, connection: Connection, action: Action, decision: ApprovalDecision) -> None:
        """Its question is locked and open."""
        approved = decision.status is ActionStatus.APPROVED
        agreed = (decision.content or action.content).hash if approved else action.content_hash
        if decision.edited:
            mine = update(pending_actions).where(pending_actions.c.id == action.id)
            connection.execute(mine.values(content_hash=agreed, edited=True))
        event = DeliveryEvent.APPROVE if approved else DeliveryEvent.REFUSE
        steps.move(connection, action.id, event, decision.at_us, steps.decided_values(action, decision))
        make_due(connection, action.request_id, decision.at_us)
        self._log_decision(connection, action, decision, agreed)
        if decision.rule is not None:
            self._add_rule(connection, decision.rule)

    def _log_decision(self, connection: Connection, action: Action, decision: ApprovalDecision, agreed: str) -> None:
        metadata: Columns = {"content_hash": action.content_hash}
        if decision.edited:
            metadata |= {"edited": list(decision.edited), "content_hash_after": agreed}
        self._log(
            connection,
            _EVENTS[decision.status],
            decision.actor,
            decision.at_us,
            action_id=action.id,
            rule_id=decision.rule.id if decision.rule else None,
            reason=decision.reason,
            metadata=metadata,
        )

    def _add_rule(self, connection: Connection, rule: StandingRule) -> None:
        insert_rule(connection, rule)
        metadata = {"created_from": rule.created_from} if rule.created_from else {}
        self._log(
            connection,
            ApprovalEventType.RULE_CREATED,
            rule.created_by,
            rule.created_at_us,
            rule_id=rule.id,
            metadata=metadata,
        )

    def _log(self, connection: Connection, kind: ApprovalEventType, actor: str, at_us: int, **about: Any) -> None:
        log(connection, self._mint, kind, actor, at_us, **about)


@dataclass(frozen=True, slots=True)
class ApprovalRide:
    """A parked delivery, decided as its question is answered; `rule` says what the answer comes to."""

    record: StoredApprovals
    rule: DecisionRule

    def hold(self, connection: Connection, subject: Subject) -> None:
        """Its question is all there is to hold."""

    def decide(self, connection: Connection, question: Question, attempt: Attempt, verdict: Verdict) -> Verdict:
        return self.record.decide(connection, question, attempt, verdict, self.rule)

    def expire(self, connection: Connection, question: Question, at_us: int) -> None:
        self.record.expire(connection, question, at_us)


# ---- the threads people wrote to us from: the only proof that a reply is one ----


class HeardThreads:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def hear(self, channel: str, address: str, thread: str, now_us: int) -> None:
        """A message came in; for whoever receives it from the provider, never for a payload's claim."""

        def work(connection: Connection) -> None:
            row = {"channel": channel, "address": address, "thread": thread, "heard_at": now_us}
            connection.execute(insert_for(connection, heard_threads).values(row).on_conflict_do_nothing())

        await self._database.write(work)

    async def heard(self, channel: str, address: str, thread: str) -> bool:
        table = heard_threads.c
        wanted = select(table.heard_at).where(
            table.channel == channel, table.address == address, table.thread == thread
        )

        def work(connection: Connection) -> bool:
            return connection.execute(wanted).first() is not None

        return await self._database.read(work)
