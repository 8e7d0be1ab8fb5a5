"""Deliveries and actions as tests of approvals need them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.clock import START_US
from tests.support.kinds import KINDS

from postroom.approvals.approvals import Approvals
from postroom.approvals.card import ruling_by
from postroom.approvals.model import (
    Action,
    ActionStatus,
    ApprovalEventType,
    Choose,
    Content,
    Parking,
    StandingRule,
    content_of,
)
from postroom.approvals.rules import ApprovalPolicy, RiskPolicy
from postroom.approvals.store.approvals import ApprovalRide, StoredApprovals
from postroom.approvals.store.steps import StandingTerms
from postroom.channels.email.channel import Email
from postroom.channels.telegram.channel import Telegram
from postroom.delivery.model import NewDelivery
from postroom.kernel.database.engine import Database
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.process import Seal
from postroom.kernel.values.ids import DeliveryId, IdMint, seconds
from postroom.message.delivery import Intent, OnUncertain, Priority
from postroom.message.wishes import Risk
from postroom.questions.model import Question, SubjectKind
from postroom.questions.store.questions import StoredQuestions

CHANNELS = {
    "telegram": Telegram("1:token", "http://127.0.0.1:1"),
    "email": Email("127.0.0.1", 1, "none", None, None, "postroom@sandbox.example"),
}
MINT = IdMint()
HOUR_US = seconds(3600)


def new_delivery(**changes: Any) -> NewDelivery:
    fresh = MINT.mint(START_US)
    new = NewDelivery(
        id=DeliveryId(fresh),
        idempotency_key=f"key-{fresh}",
        fingerprint=f"key-{fresh}",
        request_id="request",
        origin_butler="general",
        channel="telegram",
        intent=Intent.SEND,
        target_identity="555",
        address="555",
        thread=None,
        message="See you at eight",
        subject=None,
        emoji=None,
        envelope='{"schema_version":"notify.v1","origin_butler":"general","delivery":{"intent":"send",'
        '"channel":"telegram","message":"See you at eight","recipient":"555"}}',
        priority=Priority.MEDIUM,
        on_uncertain=OnUncertain.RESEND,
        created_at_us=START_US,
    )
    return replace(new, **changes)


def content(**changes: Any) -> Content:
    return replace(content_of(new_delivery()), **changes)


def pending_action(**changes: Any) -> Action:
    new = new_delivery()
    action = Action(
        id=new.id,
        origin_butler="general",
        request_id="request",
        content=content_of(new),
        content_hash=content_of(new).hash,
        envelope={"schema_version": "notify.v1", "origin_butler": "general", "delivery": {}},
        risk=Risk.MEDIUM,
        status=ActionStatus.PENDING,
        requested_at_us=START_US,
        expires_at_us=START_US + 48 * HOUR_US,
    )
    return replace(action, **changes)


PARKING = Parking(risk=Risk.MEDIUM, expires_at_us=START_US + 48 * HOUR_US, most_pending=100)


def no_rule(_: Sequence[StandingRule]) -> Sequence[StandingRule]:
    return []


def terms(choose: Choose = no_rule, **parking: Any) -> StandingTerms:
    return StandingTerms(parking=replace(PARKING, **parking), choose=choose)


@dataclass(frozen=True, slots=True)
class DecidingDesk:
    """Where people decide on what is parked in a database: in the console, and on cards."""

    record: StoredApprovals
    questions: StoredQuestions
    approvals: Approvals
    released: list[int]

    async def park(self, choose: Choose = no_rule, /, *, parking: Mapping[str, Any] = {}, **changes: Any) -> Action:
        new = new_delivery(**changes)
        await self.record.park(new, terms(choose, **parking))
        return await self.now(new.id)

    async def now(self, action_id: str) -> Action:
        action = await self.record.action(DeliveryId(action_id))
        assert action is not None
        return action

    async def question(self, action: Action) -> Question:
        question = await self.questions.get(action.question_id or "")
        assert question is not None
        return question

    async def types(self, action_id: str) -> list[ApprovalEventType]:
        return [event.type for event in await self.record.events(DeliveryId(action_id))]


def deciding_desk(database: Database, clock: Clock, approvers: Sequence[str] = (), **changes: Any) -> DecidingDesk:
    record, released = StoredApprovals(database, MINT.mint), list[int]()
    ride = ApprovalRide(record, ruling_by(approvers))
    questions = StoredQuestions(database, Seal(bytes(32)), {SubjectKind.APPROVAL: ride})
    approvals = Approvals(
        record=record,
        questions=questions,
        policy=ApprovalPolicy(risk=RiskPolicy(by_channel={"email": Risk.HIGH})),
        channels=CHANNELS,
        known_channels=KINDS,
        clock=clock,
        mint=MINT.mint,
        released=lambda: released.append(1),
    )
    return DecidingDesk(record, questions, replace(approvals, **changes), released)
