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
    Choose,
    DecisionTried,
    Judge,
    Parking,
    Ruling,
    StandingRule,
    attempt_by,
    bound_of,
    content_of,
    ended_by,
    refused,
    subject_of,
    verdict_on,
)
from postroom.approvals.store import steps
from postroom.approvals.store.steps import action_of, actions, event_of, insert_event, insert_rule, rule_of
from postroom.approvals.store.tables import approval_events, approval_rules, heard_threads, pending_actions
from postroom.delivery.model import Inserted, NewDelivery
from postroom.delivery.store.rows import new_snapshot
from postroom.delivery.store.tables import delivery_requests
from postroom.kernel.database.engine import Database, insert_for
from postroom.kernel.database.rows import Columns
from postroom.kernel.values.errors import FieldError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import DeliveryEvent, Status
from postroom.questions.model import Attempt, Question, QuestionChange, QuestionEventType, Subject, SubjectKind, Verdict
from postroom.questions.store.steps import (
    append,
    end_question,
    hold_questions,
    insert_attempt,
    insert_question,
    make_due,
    questions_about,
)

_EVENTS: Final = {
    ActionStatus.APPROVED: ApprovalEventType.ACTION_APPROVED,
    ActionStatus.REJECTED: ApprovalEventType.ACTION_REJECTED,
    ActionStatus.EXPIRED: ApprovalEventType.ACTION_EXPIRED,
}
_EXPIRE_BATCH: Final = 200
_GONE: Final = FieldError("action_id", "there is nothing left to decide", "unknown_action")
_Value = TypeVar("_Value")
_Expiration = Callable[[Action, int], ApprovalDecision]
_Rule = Callable[[Action, Question, Attempt, Verdict], Ruling]


class StoredApprovals:
    """`expiration` words the end of an action that nobody decided; the store only knows when."""

    def __init__(self, database: Database, mint: Callable[[int], str], expiration: _Expiration) -> None:
        self._database = database
        self._mint = mint
        self._expiration = expiration

    async def park(self, new: NewDelivery, parking: Parking, choose: Choose) -> Inserted:
        def work(connection: Connection) -> Inserted:
            if not steps.insert_delivery(connection, replace(new, status=Status.AWAITING_APPROVAL)):
                return Inserted(created=False, snapshot=steps.delivery_by_key(connection, new.idempotency_key))
            for rule in choose(steps.all_rules(connection)):
                if steps.use(connection, rule, new.created_at_us):
                    return self._let_pass(connection, new, parking, rule)
            return self._queue(connection, new, parking)

        return await self._database.write(work)

    async def decide(
        self, action_id: DeliveryId, judge: Judge, tried: DecisionTried | None = None
    ) -> tuple[Action, Ruling] | None:
        def work(connection: Connection) -> tuple[Action, Ruling] | None:
            row = connection.execute(steps.locked(pending_actions.c.id == action_id)).first()
            if row is None:
                return None
            action = action_of(row)
            ruling = judge(action)
            self._write(connection, action, ruling)
            if tried is not None:
                self._keep(connection, action_id, tried, ruling)
            return steps.action_by_id(connection, action_id) or action, ruling

        return await self._database.write(work)

    async def expire(self, now_us: int) -> int:
        def due(connection: Connection) -> bool:
            waiting = select(pending_actions.c.id).where(*steps.overdue(now_us)).limit(1)
            return connection.execute(waiting).first() is not None

        def work(connection: Connection) -> int:
            found = connection.execute(steps.locked(*steps.overdue(now_us), skip=True).limit(_EXPIRE_BATCH)).all()
            overdue = [action_of(row) for row in found]
            self._decided(connection, [(action, self._expiration(action, now_us)) for action in overdue])
            return len(found)

        ended = 0
        while await self._database.read(due):  # looking is cheap; only what is due costs a write
            count = await self._database.write(work)
            ended += count
            if count < _EXPIRE_BATCH:
                break
        return ended

    async def unasked(self, limit: int) -> Sequence[Action]:
        table = pending_actions.c
        wanted = actions().where(table.status == str(ActionStatus.PENDING), table.asked_at.is_(None))
        return await self._read(wanted.order_by(table.id).limit(limit), action_of)

    async def asked(self, action_id: DeliveryId, now_us: int) -> None:
        def work(connection: Connection) -> None:
            connection.execute(update(pending_actions).where(pending_actions.c.id == action_id).values(asked_at=now_us))

        await self._database.write(work)

    async def ask(self, question: Question, action_id: DeliveryId, now_us: int) -> bool:
        """
        The question about a pending action, opened once; False when there is nothing to ask any more.

        Under the action's lock, so that a decision that is being taken ends it or comes before it.
        """

        def work(connection: Connection) -> bool:
            row = connection.execute(steps.locked(pending_actions.c.id == action_id)).first()
            if row is None or row.status != str(ActionStatus.PENDING) or row.asked_at is not None:
                return False
            if (bound := bound_of(question)) is None or bound.content_hash != row.content_hash:
                return False  # it was worded anew since the question was written, and is asked about next
            connection.execute(update(pending_actions).where(pending_actions.c.id == action_id).values(asked_at=now_us))
            insert_question(connection, question)
            opened = QuestionEventType.OPENED
            append(connection, QuestionChange(question=question, event=opened, at_us=now_us))
            return True

        return await self._database.write(work)

    async def is_edited(self, request_id: str) -> bool:
        """Whether a person changed the words of something that was sent for this request before they agreed to it."""
        mine = (delivery_requests.c.request_id == request_id, pending_actions.c.edited.is_(True))
        found = select(pending_actions.c.id).join(delivery_requests).where(*mine).limit(1)
        return await self._database.read(lambda connection: connection.execute(found).first() is not None)

    def hold(self, connection: Connection, subject: Subject) -> None:
        connection.execute(steps.locked(pending_actions.c.id == subject.id)).first()

    def decide_within(self, connection: Connection, action_id: str, judge: Judge) -> Ruling | None:
        """In the transaction that ends its question; a refusal is noted and decides nothing."""
        action = steps.action_by_id(connection, action_id)
        if action is None:
            return None
        ruling = judge(action)
        if ruling.refusal is None and ruling.decision is not None:
            self._settle(connection, action, ruling.decision)
        elif ruling.decision is None:
            self._write(connection, action, ruling)
        return ruling

    async def action(self, action_id: DeliveryId) -> Action | None:
        return await self._database.read(lambda connection: steps.action_by_id(connection, action_id))

    async def page(self, status: ActionStatus | None, before: str | None, limit: int) -> Sequence[Action]:
        wanted = actions().order_by(pending_actions.c.id.desc()).limit(limit)
        if status is not None:
            wanted = wanted.where(pending_actions.c.status == str(status))
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

    def _queue(self, connection: Connection, new: NewDelivery, parking: Parking) -> Inserted:
        steps.refuse_flood(connection, new.agent, parking.most_pending)
        steps.insert_action(connection, new, parking)
        self._log(
            connection,
            ApprovalEventType.ACTION_QUEUED,
            f"butler:{new.agent}",
            new.created_at_us,
            action_id=new.id,
            metadata={"content_hash": content_of(new).hash, "risk": str(parking.risk)},
        )
        return Inserted(created=True, snapshot=new_snapshot(new, Status.AWAITING_APPROVAL))

    def _let_pass(self, connection: Connection, new: NewDelivery, parking: Parking, rule: StandingRule) -> Inserted:
        steps.insert_action(connection, new, parking, rule)
        steps.move(connection, new.id, DeliveryEvent.APPROVE, new.created_at_us)
        self._log(
            connection,
            ApprovalEventType.ACTION_AUTO_APPROVED,
            f"rule:{rule.id}",
            new.created_at_us,
            action_id=new.id,
            rule_id=rule.id,
            metadata={"content_hash": content_of(new).hash, "risk": str(parking.risk)},
        )
        return Inserted(created=True, snapshot=new_snapshot(new, Status.PENDING))

    def _write(self, connection: Connection, action: Action, ruling: Ruling) -> None:
        if ruling.decision is not None:
            self._decided(connection, [(action, ruling.decision)])
        elif ruling.refusal is not None and ruling.refused is not None:
            actor, at_us = ruling.refused
            code = {"code": ruling.refusal.code}
            self._log(connection, ApprovalEventType.DECISION_REFUSED, actor, at_us, action_id=action.id, metadata=code)

    def _decided(self, connection: Connection, decisions: Sequence[tuple[Action, ApprovalDecision]]) -> None:
        """
        With the ends of the questions about them, so that their cards close.

        All are held before the first line is written to the feed: from there on the other writers wait.
        """
        for action, decision in decisions:
            self._settle(connection, action, decision)
        taken = {subject_of(action.id): decision for action, decision in decisions}
        for question in hold_questions(connection, SubjectKind.APPROVAL, [one.id for one in taken]):
            if question.subject is not None:
                end_question(connection, question, ended_by(question, taken[question.subject]))

    def _keep(self, connection: Connection, action_id: DeliveryId, tried: DecisionTried, ruling: Ruling) -> None:
        """Among the answers to its question, whether it won or not; one who presses waits at the action meanwhile."""
        for question in questions_about(connection, subject_of(action_id)):
            attempt = attempt_by(question, tried, self._mint(tried.at_us))
            insert_attempt(connection, attempt, verdict_on(question, ruling.refusal), secret=question.wording.secret)

    def _settle(self, connection: Connection, action: Action, decision: ApprovalDecision) -> None:
        """The row is locked and pending; the conditions hold the database to it all the same."""
        approved = decision.status is ActionStatus.APPROVED
        agreed = (decision.content or action.content).hash if approved else action.content_hash
        table = pending_actions.c
        change = update(pending_actions).where(table.id == action.id, table.status == str(ActionStatus.PENDING))
        connection.execute(
            change.values(
                status=str(decision.status),
                decided_by=decision.actor,
                decided_at=decision.at_us,
                decision_reason=decision.reason,
                content_hash=agreed,
                edited=bool(decision.edited),
            )
        )
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
        insert_event(connection, ApprovalEvent(id=self._mint(at_us), type=kind, actor=actor, at_us=at_us, **about))


# ---- decides a parked delivery in the transaction in which the question about it is answered ----


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRide:
    """`rule` says what the answer comes to; it is the same ruling as in the console."""

    record: StoredApprovals
    rule: _Rule

    def hold(self, connection: Connection, subject: Subject) -> None:
        self.record.hold(connection, subject)

    def decide(self, connection: Connection, question: Question, attempt: Attempt, verdict: Verdict) -> Verdict:
        action_id = question.subject.id if question.subject else ""
        ruled = self.record.decide_within(
            connection, action_id, lambda action: self.rule(action, question, attempt, verdict)
        )
        refusal = _GONE if ruled is None else ruled.refusal
        return verdict if refusal is None else refused(refusal)


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
