"""The gate every delivery passes, and what a person can do about what is parked there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from postroom.approvals import rules as ruling
from postroom.approvals.model import (
    CONSOLE,
    Action,
    ActionStatus,
    ApprovalDecision,
    Choose,
    Parking,
    Ruling,
    ShownAction,
    StandingRule,
    attempt_by,
    content_of,
)
from postroom.approvals.rules import (
    ApprovalPolicy,
    Edited,
    RuleRequest,
    always_asks,
    arguments_of,
    edited,
    previews,
    read_reason,
    risk_of,
    standing,
)
from postroom.approvals.store.approvals import ApprovalRide, HeardThreads, StoredApprovals
from postroom.approvals.store.steps import StandingTerms
from postroom.delivery.model import Inserted, NewDelivery
from postroom.delivery.rules.policy import span
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import Code, FieldError, Refused, ValidationError
from postroom.kernel.values.fields import Fields
from postroom.kernel.values.ids import DeliveryId
from postroom.kernel.values.principal import Principal
from postroom.message.attachment import FileContents
from postroom.message.channel import Channel, KnownChannels
from postroom.message.delivery import Intent, Status
from postroom.message.outgoing import ASKER
from postroom.message.wishes import APPROVE, DENY
from postroom.people.model import CONFIRMATION_ORIGIN, Person
from postroom.people.people import HouseholdTrust
from postroom.people.signing_in.rules import SIGN_IN_ORIGIN
from postroom.questions.asked_people import AskedPeople, asked
from postroom.questions.model import (
    AskedPerson,
    Attempt,
    Question,
    QuestionAnswer,
    Verdict,
    VerdictKind,
)
from postroom.questions.rules.cards import ORIGIN as QUESTIONS_ORIGIN
from postroom.questions.rules.plan import expired
from postroom.questions.store.questions import StoredQuestions
from postroom.settings.roster import MESSENGER

_INBOX_ORIGIN: Final = "inbox"
_LONGEST_ID: Final = 64
_Asked = Callable[[str, str], Awaitable[bool]]  # of a channel and an address


# ---- who may be written to unseen, and what is parked for a person ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciders:
    """The owner and, with them, the approvers who are trusted: a card to others would wait for an approval itself."""

    people: AskedPeople
    approvers: Collection[str]
    channels: Collection[str]
    named: str = ""  # the one channel that the settings want

    async def found(self, *, owner_only: bool) -> tuple[Sequence[AskedPerson], Sequence[str]]:
        """The owner first; and on which channels they are shown the card."""
        owner = await self.people.owner()
        others = [] if owner_only else [one for name in sorted(self.approvers) for one in await self.people.find(name)]
        everyone = {one.id: one for one in [owner, *(one for one in others if one.trusted)]}
        firsts = [channel for one in everyone.values() if (channel := self._first(one))]
        return [asked(one) for one in everyone.values()], list(dict.fromkeys(firsts)) or [CONSOLE]

    def _first(self, person: Person) -> str | None:
        own = (one.channel for one in sorted(person.addresses, key=lambda one: one.rank))
        return next((name for name in own if name in self.channels and self.named in ("", name)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalGate:
    """
    Nothing here believes the payload: an agent is the caller's principal, trust goes by address, and a reply counts as
    one only when the message it answers was received. What the household says in an agent's name passes as the agent's
    own message would, unless the same words stand there already.
    """

    trust: HouseholdTrust
    record: StoredApprovals
    policy: ApprovalPolicy
    conversations: HeardThreads
    is_users_own: _Asked  # confirmed by a user of the inbox as the place for copies
    awaits_confirmation: _Asked  # just being asked to confirm that
    deciders: Deciders | None = None  # None asks no one: what waits is seen in the console and listed by the tools
    asked: list[Callable[[], None]] = field(default_factory=list)  # wake those who show the cards

    async def passes(self, new: NewDelivery) -> bool:
        if new.attachments and always_asks(content_of(new)):
            return False
        return (
            _is_own_revision(new)
            or await self.trust.is_trusted(new.channel, new.address)
            or await self._is_own_copy(new)
            or await self._is_confirmation(new)
            or _is_sign_in_link(new)
            or await self._is_answer(new)
            or await self._stands_there_already(new)
        )

    async def park(self, new: NewDelivery) -> Inserted:
        inserted = await self.record.park(new, await self.terms(new, new.created_at_us))
        if inserted.created and inserted.snapshot.status is Status.AWAITING_APPROVAL:
            self.parked_anew()
        return inserted

    async def terms(self, new: NewDelivery, now_us: int) -> StandingTerms:
        content = content_of(new)
        risk = risk_of(content, self.policy.risk)
        people, channels = await self._asked(new)
        parking = Parking(
            risk=risk,
            expires_at_us=now_us + self.policy.expiry_us,
            most_pending=self.policy.most_pending_per_origin,
            people=people,
            channels=channels,
            phone=self.policy.phone,
        )
        choose: Choose = partial(standing, arguments=arguments_of(content, new.agent), risk=risk, now_us=now_us)
        return StandingTerms(parking=parking, choose=_no_rule if always_asks(content) else choose)

    async def _asked(self, new: NewDelivery) -> tuple[Sequence[AskedPerson], Sequence[str]]:
        """A card that waits for an approval itself is shown to the owner alone, who needs none."""
        if self.deciders is None:
            return (), [CONSOLE]
        return await self.deciders.found(owner_only=new.agent == ASKER)

    def parked_anew(self) -> None:
        """People are asked about the new text."""
        for wake in self.asked:
            wake()

    async def _stands_there_already(self, new: NewDelivery) -> bool:
        """On a card that a person let pass as it was worded: ticks, reminders and its end add the household's words."""
        return new.repeats and not await self.record.is_edited(new.request_id)

    async def _is_own_copy(self, new: NewDelivery) -> bool:
        sends = new.origin_butler == _INBOX_ORIGIN and new.intent is Intent.SEND
        return sends and await self.is_users_own(new.channel, new.address)

    async def _is_confirmation(self, new: NewDelivery) -> bool:
        sends = new.origin_butler == CONFIRMATION_ORIGIN and new.intent is Intent.SEND
        return sends and await self.awaits_confirmation(new.channel, new.address)

    async def _is_answer(self, new: NewDelivery) -> bool:
        """What the household passes on for an agent that asks is none, wherever it is said."""
        if not self.policy.replies_pass or new.intent is Intent.SEND or new.asker:
            return False
        return new.thread is not None and await self.conversations.heard(new.channel, new.address, new.thread)


def _no_rule(_rules: Sequence[StandingRule]) -> Sequence[StandingRule]:
    return ()


def _is_own_revision(new: NewDelivery) -> bool:
    """What is deleted says nothing; nor does a card on which no agent's words are left."""
    if new.revises is None:
        return False
    return new.revises.deletes or (new.origin_butler == QUESTIONS_ORIGIN and new.asker is None)


def _is_sign_in_link(new: NewDelivery) -> bool:
    """The household's own words, to an address that a person has proved."""
    return new.origin_butler == SIGN_IN_ORIGIN and new.intent is Intent.SEND


# ---- what a person can do about it ----


def _nothing() -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedActions:
    actions: Sequence[Action]
    next_cursor: str | None


def _every_person(_: Principal) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvals:
    """
    A decision is an answer to the question about what is parked, whatever door it comes through.

    Every method takes the principal: who may not decide sees nothing, and whatever door a call came through, only a
    person changes something. Each is in a trace as if the messenger's tool had been called.
    """

    record: StoredApprovals
    questions: StoredQuestions
    policy: ApprovalPolicy
    channels: Mapping[str, Channel]
    known_channels: KnownChannels
    clock: Clock
    mint: Callable[[int], str]
    released: Callable[[], None]  # wakes whoever sends
    decided: Callable[[], None] = _nothing  # wakes whoever closes the cards
    files: FileContents | None = None
    may_decide: Callable[[Principal], bool] = _every_person
    is_on: bool = True

    @property
    def now_us(self) -> int:
        return self.clock.now_us()

    async def page(
        self, who: Principal, *, status: str = "pending", cursor: str | None = None, limit: int = 50
    ) -> ListedActions:
        with self._acting(who, "list_pending_actions"):
            wanted = None if status == "all" else ActionStatus(status)
            before = None if cursor is None else _id("cursor", cursor)
            await self._end_overdue()
            found = await self.record.page(wanted, before, limit)
            return ListedActions(actions=found, next_cursor=found[-1].id if len(found) == limit else None)

    async def show(self, who: Principal, action_id: str) -> ShownAction:
        with self._acting(who, "show_pending_action"):
            wanted = DeliveryId(_id("action_id", action_id))
            await self._end_overdue()
            action = await self._found(wanted)
            events = await self.record.events(action.id)
            return ShownAction(action=action, events=events, previews=await previews(action.content, self.files))

    async def approve(
        self,
        who: Principal,
        action_id: str,
        *,
        content_hash: str | None = None,
        edits: object = None,
        create_rule: RuleRequest | None = None,
        via: str = CONSOLE,
    ) -> tuple[Action, StandingRule | None]:
        """The delivery is released exactly once, however many people agree at the same time."""
        with self._acting(who, "approve_action"):
            actor, now_us = _person(who), self.now_us
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
                    seen_hash=content_hash,
                    content=wanted.content,
                    edited=wanted.fields,
                    rule=rule,
                    via=via,
                )

            done, decision = await self._decide(action_id, judge, APPROVE, actor=actor, via=via, now_us=now_us)
            self.released()
            return done, decision.rule

    async def reject(self, who: Principal, action_id: str, reason: str, *, via: str = CONSOLE) -> Action:
        with self._acting(who, "reject_action"):
            said, actor, now_us = read_reason(reason), _person(who), self.now_us

            def judge(action: Action) -> Ruling:
                return ruling.rejection(action, actor=actor, now_us=now_us, reason=said, via=via)

            done, _ = await self._decide(action_id, judge, DENY, actor=actor, via=via, now_us=now_us)
            return done

    async def rules(self, who: Principal) -> Sequence[StandingRule]:
        with self._acting(who, "list_approval_rules"):
            return await self.record.rules()

    async def create_rule(self, who: Principal, request: RuleRequest) -> StandingRule:
        with self._acting(who, "create_approval_rule"):
            actor, now_us = _person(who), self.now_us
            rule = request.to_rule(rule_id=self.mint(now_us), actor=actor, now_us=now_us)
            ruling.check_rule(rule, self.policy.risk, now_us)
            await self.record.add_rule(rule)
            return rule

    async def revoke_rule(self, who: Principal, rule_id: str) -> StandingRule:
        with self._acting(who, "revoke_approval_rule"):
            rule = await self.record.revoke_rule(_id("rule_id", rule_id), _person(who), self.now_us)
            if rule is None:
                raise _refusal(FieldError("rule_id", "is not a rule", "unknown_rule"))
            return rule

    def _rule(
        self, request: RuleRequest, action: Action, wanted: Edited, rule_id: str, actor: str, now_us: int
    ) -> StandingRule:
        suggestion = ruling.suggested(wanted.content, action.origin_butler)
        rule = request.to_rule(
            rule_id=rule_id, actor=actor, now_us=now_us, suggestion=suggestion, created_from=action.id
        )
        dangerous = action.risk.is_high or ruling.widest_risk(rule, self.policy.risk).is_high
        if dangerous and not rule.bounded:
            rule = request.once(rule)
        ruling.check_rule(rule, self.policy.risk, now_us)
        return rule

    async def _decide(
        self, action_id: str, judge: Callable[[Action], Ruling], value: str, *, actor: str, via: str, now_us: int
    ) -> tuple[Action, ApprovalDecision]:
        """As an answer to the question about it; to the next one, where it is worded anew just now."""
        wanted = DeliveryId(_id("action_id", action_id))
        ruled = list[Ruling]()

        def rule(action: Action, _question: Question, _attempt: Attempt, _verdict: Verdict) -> Ruling:
            ruled.append(judge(action))
            return ruled[-1]

        while not ruled:
            action = await self._found(wanted)
            question = await self.questions.get(action.question_id) if action.question_id else None
            if question is None:  # a rule let it pass, or it is over for long
                ruled.append(judge(action))
                break
            attempt = attempt_by(question, actor, via=via, value=value, at_us=now_us, id=self.mint(now_us))
            await self.questions.hear(attempt, partial(_as_said, value=value), ApprovalRide(self.record, rule))
        refusal, decision = ruled[-1].refusal, ruled[-1].decision
        if decision is None:
            await self._end_overdue()
            raise _refusal(refusal) if refusal is not None else _unknown()
        self.decided()
        return await self._found(wanted), decision

    async def _found(self, action_id: DeliveryId) -> Action:
        if (action := await self.record.action(action_id)) is None:
            raise _unknown()
        return action

    async def _end_overdue(self) -> None:
        """Who looks sees it as it is, whoever keeps the time; looking is cheap, only what is due costs a write."""
        now_us = self.now_us
        while overdue := await self.record.overdue(now_us):
            for question_id in overdue:
                await self.questions.change(question_id, partial(expired, caught_up=True, now_us=now_us))

    @contextmanager
    def _acting(self, who: Principal, tool: str) -> Iterator[None]:
        if not self.may_decide(who):
            raise Refused(Code.POLICY_DENIED, f"{who} may not call {tool}")
        if not self.is_on:
            raise Refused(Code.NOT_FOUND, "approvals are off ([approvals] enabled = true turns them on)")
        with span(f"tools/call {tool}", {"postroom.part": MESSENGER}):
            yield


def _as_said(_question: Question, _attempt: Attempt, _shown: object, *, value: str) -> Verdict:
    """Who may decide here has been looked at; what it comes to says the rule."""
    return Verdict(kind=VerdictKind.ACCEPTED, answer=QuestionAnswer(value=value))


def _id(name: str, text: str) -> str:
    """Raises ValidationError for what no store could look for."""
    fields = Fields({name: text})
    checked = fields.text(name, maximum=_LONGEST_ID)
    fields.finish()
    return checked


def _person(caller: Principal) -> str:
    if not caller.is_person:
        raise _refusal(FieldError("caller", f"{caller} is not a person; only people decide", "human_actor_required"))
    return str(caller)


def _unknown() -> ValidationError:
    return _refusal(FieldError("action_id", "is not an action", "unknown_action"))


def _refusal(error: FieldError) -> ValidationError:
    return ValidationError.of([error])
