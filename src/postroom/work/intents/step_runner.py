"""Carry out one step of an intent: to a person, to a butler, or to nobody but the inbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, assert_never

from postroom.domain.capabilities import UNDECLARED, Capabilities, KnownChannels
from postroom.domain.clock import Clock
from postroom.domain.errors import Code, PostroomError, Refused
from postroom.domain.intent import (
    APPROVAL,
    REPLY,
    AgentIntent,
    IntentChange,
    IntentEventType,
    IntentStatus,
    Step,
    StepKind,
    WaitingReason,
)
from postroom.domain.outcome import AnswerStatus, Outcome
from postroom.domain.ports import Outbound
from postroom.domain.route import Route
from postroom.domain.routed import Routed
from postroom.domain.time import seconds, to_text
from postroom.system.signal import Signal
from postroom.work.intents.directory import AgentTarget, ButlerTarget, Directory, PersonTarget, book_of
from postroom.work.intents.dispatch import butler_answer, butler_route, completion, to_person
from postroom.work.intents.moves import MoveContext, moved, noted, then, unchanged
from postroom.work.intents.question_cards import QuestionCards
from postroom.work.intents.store import IntentStore

SYSTEM: Final = "postroom"
_SHORTEST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 300.0
_GIVE_UP_SECONDS: Final = 86_400.0


class ButlerRoutes(Protocol):
    async def route(self, butler: str, route: Route, timeout_seconds: float) -> Routed:
        """Raises one of our errors when the butler cannot be reached."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Courier:
    store: IntentStore
    directory: Directory
    outbound: Outbound
    routes: ButlerRoutes
    signal: Signal
    clock: Clock
    mint: Callable[[int], str]
    channels: KnownChannels
    cards: QuestionCards | None = None  # None puts everything in letters
    wait_seconds: float = 15.0
    route_seconds: float = 120.0

    async def carry_out(self, intent: AgentIntent) -> None:
        """The step that is due; whoever got here first has advanced the plan, and then nothing happens."""
        step = intent.plan[intent.position]
        if step.kind is StepKind.EXPIRE:
            await self._change(intent, self._expired)
            return
        try:
            target = await self.directory.find(intent.from_agent, step.to_agent)
        except Refused as error:
            code, message = str(error.code), error.message
            await self._change(intent, lambda found: self._refused(found, code, message))
            return
        match target:
            case PersonTarget():
                await self._to_person(intent, step, target)
            case ButlerTarget() if intent.macro_id == APPROVAL:  # stored before such an approver was refused
                message = "only a person can decide this"
                await self._change(intent, lambda found: self._refused(found, str(Code.POLICY_DENIED), message))
            case ButlerTarget():
                await self._to_butler(intent, target)
            case AgentTarget():
                await self._change(intent, lambda found: self._advanced(found, carried=False))
            case _:
                assert_never(target)

    async def send_on(self, intent: AgentIntent) -> None:
        """The answer to whoever it was to be sent on to; an agent finds it in its inbox anyway."""
        if intent.status is IntentStatus.COMPLETED and intent.reply_to is not None and intent.result is not None:
            try:
                target = await self.directory.find(intent.from_agent, intent.reply_to)
            except Refused as error:
                await self._let_go(intent, {"code": str(error.code), "message": error.message})
                return
            if isinstance(target, PersonTarget):
                sender = await self.directory.display_name(intent.handler, book_of(intent.from_agent))
                outgoing = completion(intent, target, sender, self._can(target))
                outcome = await self.outbound.submit(outgoing, request_id=intent.id, wait_seconds=0)
                if outcome.retryable:
                    return
        await self.store.update(intent.id, lambda found: unchanged(replace(found, carried=False)))

    async def _let_go(self, intent: AgentIntent, payload: Mapping[str, Any]) -> None:
        """Whoever wanted the answer is not known any more; the intent itself has its answer."""

        def note(found: AgentIntent) -> IntentChange:
            return noted(replace(found, carried=False), IntentEventType.DELIVERY_FAILED, self._moment(SYSTEM), payload)

        await self.store.update(intent.id, note)
        self.signal.ring()

    async def _to_person(self, intent: AgentIntent, step: Step, person: PersonTarget) -> None:
        sender = await self.directory.display_name(intent.from_agent, book_of(intent.from_agent))
        if self.cards and (reminded := await self.cards.remind(intent, step, person, self.wait_seconds)):
            await self._change(intent, lambda found: self._after(found, reminded))
            return
        if self.cards is not None and await self.cards.ask(intent, step, person, sender):
            await self._change(intent, lambda found: self._advanced(found, carried=True))
            return
        outgoing = to_person(intent, step, person, sender, self._can(person))
        outcome = await self.outbound.submit(outgoing, request_id=intent.id, wait_seconds=self.wait_seconds)
        await self._change(intent, lambda found: self._after(found, outcome))

    def _can(self, person: PersonTarget) -> Capabilities:
        return self.channels.get(person.channel, UNDECLARED)

    async def _to_butler(self, intent: AgentIntent, butler: ButlerTarget) -> None:
        route = butler_route(intent, to_text(self.clock.now_us()))
        try:
            routed = await self.routes.route(butler.name, route, self.route_seconds)
        except PostroomError as error:
            unreached = error
            await self._change(
                intent, lambda found: self._not_delivered(found, unreached, retryable=unreached.retryable)
            )
            return
        await self._change(intent, lambda found: self._routed(found, butler, routed))

    async def _change(self, intent: AgentIntent, decide: Callable[[AgentIntent], IntentChange]) -> None:
        def still(found: AgentIntent) -> IntentChange:
            same_step = found.is_open and found.position == intent.position
            return decide(found) if same_step else unchanged(found)

        change = await self.store.update(intent.id, still)
        if change.events:
            self.signal.ring()

    def _after(self, intent: AgentIntent, outcome: Outcome) -> IntentChange:
        """What became of the delivery, as far as it is known now; the rest is seen to later."""
        if outcome.error is not None:
            return self._not_delivered(intent, outcome.error, retryable=outcome.retryable)
        delivered = outcome.status is AnswerStatus.OK
        advanced = self._advanced(intent, carried=not delivered)
        if delivered:
            return then(advanced, lambda found: arrived(found, self._moment(SYSTEM)))
        if outcome.status is not AnswerStatus.PENDING_APPROVAL or intent.status is IntentStatus.WAITING:
            return advanced
        return then(
            advanced,
            lambda found: moved(found, IntentStatus.WAITING, self._moment(SYSTEM), waiting_reason=WaitingReason.HUMAN),
        )

    def _not_delivered(self, intent: AgentIntent, error: PostroomError, *, retryable: bool) -> IntentChange:
        step = intent.plan[intent.position]
        if retryable and self.clock.now_us() - step.at_us < seconds(_GIVE_UP_SECONDS):
            return self._postponed(intent, error.retry_after_seconds)
        return self._refused(intent, str(error.error_class), error.message)

    def _postponed(self, intent: AgentIntent, retry_after_seconds: float | None) -> IntentChange:
        """Our limits or a provider in trouble: the step waits and loses nothing."""
        pause = 5.0 if retry_after_seconds is None else retry_after_seconds
        pause = min(max(pause, _SHORTEST_PAUSE_SECONDS), _LONGEST_PAUSE_SECONDS)
        later = replace(intent, next_at_us=self.clock.now_us() + seconds(pause))
        if intent.status in (IntentStatus.WAITING, IntentStatus.DELIVERED):
            return unchanged(later)
        return moved(later, IntentStatus.WAITING, self._moment(SYSTEM), waiting_reason=WaitingReason.TOOL)

    def _refused(self, intent: AgentIntent, code: str, message: str) -> IntentChange:
        """An ask that reaches nobody has failed; a reminder that does not is only noted."""
        advanced = self._advanced(intent, carried=intent.carried)
        payload = {"code": code, "message": message}
        others = any(step.kind in (StepKind.ASK, StepKind.ESCALATE) for step in intent.plan[intent.position + 1 :])
        first = intent.plan[intent.position].kind is StepKind.ASK
        if first and not others and intent.status is not IntentStatus.DELIVERED and not intent.carried:
            result = {"error": payload}
            return then(
                advanced,
                lambda found: moved(found, IntentStatus.FAILED, self._moment(SYSTEM), payload=payload, result=result),
            )
        return then(
            advanced, lambda found: noted(found, IntentEventType.DELIVERY_FAILED, self._moment(SYSTEM), payload)
        )

    def _routed(self, intent: AgentIntent, butler: ButlerTarget, routed: Routed) -> IntentChange:
        if routed.error is not None:
            return self._not_delivered(intent, routed.error, retryable=routed.retryable)
        advanced = then(
            self._advanced(intent, carried=not routed.finished),
            lambda found: (
                moved(found, IntentStatus.IN_PROGRESS, self._moment(butler.agent))
                if found.status is not IntentStatus.IN_PROGRESS
                else unchanged(found)
            ),
        )
        if not routed.finished or routed.result is None:
            return advanced
        done = butler_answer(routed.result, butler.agent, to_text(self.clock.now_us()))
        says = {"author": butler.agent, "message": done["answer"]}
        return then(
            advanced,
            lambda found: moved(found, IntentStatus.COMPLETED, self._moment(butler.agent), result=done, says=says),
        )

    def _advanced(self, intent: AgentIntent, *, carried: bool) -> IntentChange:
        """On to the next step; reminders and escalations leave an event."""
        step, position = intent.plan[intent.position], intent.position + 1
        after = replace(
            intent,
            position=position,
            next_at_us=intent.plan[position].at_us if position < len(intent.plan) else None,
            carried=carried or intent.carried,
        )
        kinds = {StepKind.REMIND: IntentEventType.REMINDER, StepKind.ESCALATE: IntentEventType.ESCALATED}
        if (kind := kinds.get(step.kind)) is None:
            return unchanged(after)
        if step.kind is StepKind.ESCALATE:
            after = replace(after, handler=step.to_agent)
        return noted(after, kind, self._moment(SYSTEM), {"to_agent": step.to_agent})

    def _expired(self, intent: AgentIntent) -> IntentChange:
        payload = {"code": str(Code.INTENT_TIMEOUT), "message": "nobody answered in time"}
        return moved(intent, IntentStatus.TIMED_OUT, self._moment(SYSTEM), payload=payload, result={"error": payload})

    def _moment(self, actor: str) -> MoveContext:
        return MoveContext(self.clock.now_us(), actor, self.mint)


def arrived(intent: AgentIntent, moment: MoveContext) -> IntentChange:
    """The provider has it. A reply is then done; an ask waits for its answer."""
    seen = replace(intent, carried=False)
    match intent.status:
        case IntentStatus.SUBMITTED:
            change = moved(seen, IntentStatus.DELIVERED, moment)
        case IntentStatus.WAITING:
            change = moved(seen, IntentStatus.IN_PROGRESS, moment)
        case _:
            change = unchanged(seen)
    if intent.intent_type != REPLY:
        return change
    return then(change, lambda found: moved(found, IntentStatus.COMPLETED, moment))
