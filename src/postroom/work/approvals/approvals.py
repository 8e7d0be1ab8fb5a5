"""What a person can do about parked messages and standing rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from postroom.domain.approval import CONSOLE, Action, ActionStatus, ApprovalEvent, Ruling, StandingRule
from postroom.domain.approval_question import DecisionTried
from postroom.domain.capabilities import KnownChannels
from postroom.domain.clock import Clock
from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.file_contents import FileContents
from postroom.domain.ids import DeliveryId
from postroom.domain.ports import Channel
from postroom.domain.principal import Principal
from postroom.domain.question_states import APPROVE, DENY
from postroom.work.approvals import rules, ruling
from postroom.work.approvals.edit import Edited, edited
from postroom.work.approvals.file_previews import previews
from postroom.work.approvals.policy import ApprovalPolicy
from postroom.work.approvals.record import ActionReader, DecisionRecord, RuleRecord
from postroom.work.approvals.rule_request import RuleRequest
from postroom.work.approvals.shapes import detail


def _nothing() -> None:
    return None


class ApprovalRecord(DecisionRecord, ActionReader, RuleRecord, Protocol):
    """What deciding needs of the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvals:
    """
    Every method that changes something takes the principal and refuses all but people,
    whatever door the call came through.
    """

    record: ApprovalRecord
    policy: ApprovalPolicy
    channels: Mapping[str, Channel]
    known_channels: KnownChannels
    clock: Clock
    mint: Callable[[int], str]
    released: Callable[[], None]  # wakes whoever sends
    decided: Callable[[], None] = _nothing  # wakes whoever closes the cards
    files: FileContents | None = None

    async def page(
        self, status: ActionStatus | None = None, *, before: str | None = None, limit: int = 50
    ) -> Sequence[Action]:
        await self.record.expire(self.clock.now_us())
        return await self.record.page(status, before, limit)

    async def show(self, action_id: str) -> tuple[Action, Sequence[ApprovalEvent]]:
        await self.record.expire(self.clock.now_us())
        action = await self._action(action_id)
        return action, await self.record.events(action.id)

    async def detail(self, action_id: str) -> dict[str, Any]:
        """As a person is shown it, with the beginning of every file."""
        action, events = await self.show(action_id)
        return detail(action, events, await previews(action.content, self.files))

    async def approve(
        self,
        caller: Principal,
        action_id: str,
        *,
        seen_hash: str | None = None,
        edits: object = None,
        create_rule: RuleRequest | None = None,
        via: str = CONSOLE,
    ) -> tuple[Action, StandingRule | None]:
        """The delivery is released exactly once, however many people agree at the same time."""
        actor, now_us = _person(caller), self.clock.now_us()
        rule_id = self.mint(now_us)

        def judge(action: Action) -> Ruling:
            if refused := ruling.closed(action, now_us):
                return refused
            wanted = edited(action, edits, self.channels, self.known_channels)
            rule = self._rule(create_rule, action, wanted, rule_id, actor, now_us) if create_rule else None
            return ruling.approval(
                action,
                actor=actor,
                now_us=now_us,
                seen_hash=seen_hash,
                content=wanted.content,
                edited=wanted.fields,
                rule=rule,
                via=via,
            )

        tried = DecisionTried(actor=actor, via=via, value=APPROVE, at_us=now_us)
        done, written = await self._decide(action_id, judge, tried)
        self.released()
        return done, written.decision.rule if written.decision else None

    async def reject(self, caller: Principal, action_id: str, reason: str, *, via: str = CONSOLE) -> Action:
        actor, now_us = _person(caller), self.clock.now_us()
        done, _ = await self._decide(
            action_id,
            lambda action: ruling.rejection(action, actor=actor, now_us=now_us, reason=reason, via=via),
            DecisionTried(actor=actor, via=via, value=DENY, at_us=now_us),
        )
        return done

    async def rules(self) -> Sequence[StandingRule]:
        return await self.record.rules()

    async def create_rule(self, caller: Principal, request: RuleRequest) -> StandingRule:
        actor, now_us = _person(caller), self.clock.now_us()
        rule = request.to_rule(rule_id=self.mint(now_us), actor=actor, now_us=now_us)
        rules.check_rule(rule, self.policy.risk, now_us)
        await self.record.add_rule(rule)
        return rule

    async def revoke_rule(self, caller: Principal, rule_id: str) -> StandingRule:
        rule = await self.record.revoke_rule(rule_id, _person(caller), self.clock.now_us())
        if rule is None:
            raise _refusal(FieldError("rule_id", "is not a rule", "unknown_rule"))
        return rule

    def _rule(
        self, request: RuleRequest, action: Action, wanted: Edited, rule_id: str, actor: str, now_us: int
    ) -> StandingRule:
        suggestion = rules.suggested(wanted.content, action.origin_butler)
        rule = request.to_rule(
            rule_id=rule_id, actor=actor, now_us=now_us, suggestion=suggestion, created_from=action.id
        )
        dangerous = action.risk.is_high or rules.widest_risk(rule, self.policy.risk).is_high
        if dangerous and not rule.bounded:
            rule = request.once(rule)
        rules.check_rule(rule, self.policy.risk, now_us)
        return rule

    async def _decide(
        self, action_id: str, judge: Callable[[Action], Ruling], tried: DecisionTried
    ) -> tuple[Action, Ruling]:
        found = await self.record.decide(DeliveryId(action_id), judge, tried)
        if found is None:
            raise _unknown()
        if (refusal := found[1].refusal) is not None:
            raise _refusal(refusal)
        self.decided()
        return found

    async def _action(self, action_id: str) -> Action:
        if action := await self.record.action(DeliveryId(action_id)):
            return action
        raise _unknown()


def _person(caller: Principal) -> str:
    if not caller.is_person:
        raise _refusal(FieldError("caller", f"{caller} is not a person; only people decide", "human_actor_required"))
    return str(caller)


def _unknown() -> ValidationError:
    return _refusal(FieldError("action_id", "is not an action", "unknown_action"))


def _refusal(error: FieldError) -> ValidationError:
    return ValidationError.of([error])
