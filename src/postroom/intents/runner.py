"""What an agent asks a person is put to them as a question with a card, where they have proved who they are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Protocol, assert_never

import structlog

from postroom.butlers.model import TERMINAL as SESSION_ENDED
from postroom.butlers.model import SessionStatus
from postroom.butlers.wire import Route
from postroom.intents.adapt import AgentTarget, ButlerTarget, Directory, PersonTarget, book_of
from postroom.intents.gateway import MAX_ANSWER_CHARACTERS
from postroom.intents.model import (
    APPROVAL,
    ASK,
    REPLY,
    AgentIntent,
    IntentChange,
    IntentEventType,
    IntentStatus,
    Step,
    StepKind,
    WaitingReason,
    agent_of,
    subject_of,
)
from postroom.intents.moves import (
    Agenda,
    IntentStore,
    MoveContext,
    answer_payload,
    answered,
    butler_answer,
    butler_route,
    completion,
    decided,
    moved,
    noted,
    then,
    to_person,
    unchanged,
)
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import Code, PostroomError, Refused, StoreUnavailable
from postroom.kernel.values.ids import seconds, to_text
from postroom.kernel.values.principal import BUTLER_PREFIX
from postroom.kernel.webhooks import Webhooks
from postroom.message.channel import UNDECLARED, Capabilities, KnownChannels, Outbound
from postroom.message.delivery import TERMINAL, Status
from postroom.message.outgoing import AnswerStatus, Outcome
from postroom.message.wire import Routed
from postroom.questions.asked_people import AskedPeople, asked
from postroom.questions.model import (
    APPROVE,
    APPROVE_OPTIONS,
    AskedPerson,
    Attempt,
    Presentation,
    PresentationStatus,
    Question,
    QuestionKind,
    Subject,
    Verdict,
    Wording,
)
from postroom.questions.questions import Questions
from postroom.questions.rules.cards import CardMaker, request_id_of
from postroom.questions.rules.changes import opened
from postroom.questions.rules.plan import Channels, next_at
from postroom.questions.rules.request import MAX_DEADLINE_SECONDS, QuestionRequest
from postroom.questions.store.presentations import StoredPresentations

_PUT = (StepKind.ASK, StepKind.ESCALATE)
_NUDGES = (StepKind.REMIND, StepKind.ESCALATE)


class AskedBefore(Protocol):
    async def about(self, subject: Subject) -> Sequence[Question]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionCards:
    questions: Questions
    store: AskedBefore
    shown: StoredPresentations
    cards: CardMaker
    outbound: Outbound
    people: AskedPeople
    channels: Channels
    clock: Clock
    mint: Callable[[int], str]

    async def remind(
        self, intent: AgentIntent, step: Step, person: PersonTarget, wait_seconds: float
    ) -> Outcome | None:
        """
        A reply to the card they have, sent before it is noted and under a key of the step.

        None when they have none: then it is put to them as everything else is.
        """
        found = await self._card(intent, person) if step.kind in _NUDGES else None
        if found is None:
            return None
        question, shown = found
        reminder = self.cards.reminder(question, shown, f"remind:{intent.position}")
        outcome = await self.outbound.submit(reminder, request_id=request_id_of(shown.id), wait_seconds=wait_seconds)
        if outcome.delivery_id is not None:
            await self.questions.reminded(question.id)
        return outcome

    async def _card(self, intent: AgentIntent, person: PersonTarget) -> tuple[Question, Presentation] | None:
        return next(iter(await self._cards(intent, person, PresentationStatus.SHOWN)), None)

    async def _cards(
        self, intent: AgentIntent, person: PersonTarget, status: PresentationStatus
    ) -> list[tuple[Question, Presentation]]:
        """Theirs of what this intent asks and is still open."""
        known = await self.people.at(person.channel, person.address)
        asked_before = await self.store.about(subject_of(intent.id)) if known else ()
        return [
            (question, shown)
            for question in asked_before
            if question.is_open
            for shown in await self.shown.of(question.id)
            if known and shown.person_id == known.id and shown.status is status
        ]

    async def ask(self, intent: AgentIntent, step: Step, person: PersonTarget, sender: str) -> bool:
        """
        False when it is to be put to them in a letter, as everything else is.

        While the card they were to have first is on its way, they are not asked again, and are not reminded of it.
        """
        if step.kind in _NUDGES and await self._cards(intent, person, PresentationStatus.PLANNED):
            return True
        if intent.intent_type != ASK or step.kind not in _PUT:
            return False
        ability = self.channels.get(person.channel)
        known = await self.people.at(person.channel, person.address)
        if known is None or ability is None or not ability.configured:
            return False
        now_us = self.clock.now_us()
        await self.questions.ask(_question(intent, person, asked(known), sender, self.mint(now_us), now_us))
        return True


def _question(
    intent: AgentIntent, person: PersonTarget, who: AskedPerson, sender: str, id: str, now_us: int
) -> Question:
    """Open until the intent runs out; whatever ends the intent ends it as well."""
    request = QuestionRequest(
        wording=_wording(intent),
        channels=(person.channel,),
        deadline_seconds=MAX_DEADLINE_SECONDS,
        state={"agent": person.agent},
        key=f"{intent.id}:{intent.position}",
    )
    question = opened(
        request, id=id, asker=f"intents:{sender}", people=(who,), subject=subject_of(intent.id), now_us=now_us
    )
    ends = [step.at_us for step in intent.plan if step.kind is StepKind.EXPIRE]
    question = replace(question, expires_at_us=max(ends[-1], now_us) if ends else question.expires_at_us)
    return replace(question, next_at_us=next_at(question))


def _wording(intent: AgentIntent) -> Wording:
    context = intent.payload.get("context")
    decides = intent.macro_id == APPROVAL
    return Wording(
        kind=QuestionKind.APPROVE if decides else QuestionKind.TEXT,
        question=intent.text,
        context=str(context) if context else None,
        options=APPROVE_OPTIONS if decides else (),
        allow_text=not decides,
    )


def answer_by(mint: Callable[[int], str]) -> Callable[[AgentIntent, Question, Attempt, Verdict], IntentChange]:
    """What the answer makes of the intent: the same as one that comes in by reply or by the API. Raises Refused."""

    def ruled(intent: AgentIntent, question: Question, attempt: Attempt, verdict: Verdict) -> IntentChange:
        if not intent.is_open:
            raise Refused(Code.ILLEGAL_TRANSITION, f"this is {intent.status.lower()} already")
        moment = MoveContext(attempt.heard_at_us, agent_of(question), mint)
        if verdict.answer is None or verdict.answer.value is None:
            words = verdict.answer.text[:MAX_ANSWER_CHARACTERS] if verdict.answer and verdict.answer.text else None
            status = "answered" if words else "declined"
            return answered(intent, answer_payload(words or "declined", moment, status), moment)
        approve = verdict.answer.value == APPROVE
        return decided(intent, approve=approve, comment="", moment=moment)

    return ruled


# Work that failed keeps its distance: longer each time, so that it never stands in the way of other work.


FIRST_PAUSE_SECONDS: Final = 2.0
LONGEST_PAUSE_SECONDS: Final = 60.0
MAX_TRIES: Final = 6  # a minute of failures: longer than a database needs to come back
_MOST_AWAY: Final = 5_000  # as many ids as fit into one question to the database
_FORGET_US: Final = seconds(600.0)


@dataclass(frozen=True, slots=True)
class _Setback:
    failures: int
    until_us: int


@dataclass(frozen=True, slots=True)
class Setbacks:
    """In memory: after a restart everything is tried again, and what still fails has gone again soon."""

    _known: dict[str, _Setback] = field(default_factory=dict)

    def note(self, key: str, now_us: int) -> int:
        """How often it has failed by now; it keeps away until its pause is over."""
        failures = self._known[key].failures + 1 if key in self._known else 1
        self._known[key] = _Setback(failures, now_us + seconds(pause_seconds(failures)))
        return failures

    def clear(self, key: str) -> None:
        self._known.pop(key, None)

    def keeps_away(self, key: str, now_us: int) -> bool:
        return key in self._known and self._known[key].until_us > now_us

    def away(self, now_us: int) -> list[str]:
        """Everything that keeps its distance now; what has not been tried for long is forgotten."""
        for key in [key for key, one in self._known.items() if one.until_us + _FORGET_US < now_us]:
            del self._known[key]
        return [key for key in self._known if self.keeps_away(key, now_us)][:_MOST_AWAY]


def pause_seconds(failures: int) -> float:
    return min(FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 30), LONGEST_PAUSE_SECONDS)


# Rounds that carry out what is due and see to what is under way; a restart loses nothing.


_AT_ONCE: Final = 32
_BATCH: Final = 100
_LOOK_EVERY_SECONDS: Final = 2.0
_log = structlog.get_logger("postroom.intents")


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    agenda: Agenda
    courier: Courier
    webhooks: Webhooks
    signal: Signal
    clock: Clock
    mint: Callable[[int], str]
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    setbacks: Setbacks = field(default_factory=Setbacks)
    _running: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def stop(self, grace_seconds: float) -> None:
        self.stopping.set()
        self.signal.close()
        webhooks = asyncio.create_task(self.webhooks.stop(grace_seconds))
        if self._running:
            await asyncio.wait(set(self._running.values()), timeout=grace_seconds)
        for task in self._running.values():
            task.cancel()  # the step is not marked done, so the next start does it again under the same key
        await webhooks

    async def tick(self) -> int:
        """One round; returns when the next one is due, unless the signal is rung before."""
        now = self.clock.now_us()
        work = await self.agenda.round(now, _BATCH, without=self.setbacks.away(now))
        for unreadable in work.unreadable:
            self._failed(unreadable, "UnreadableRow")
        for intent in work.due:
            self._begin(intent.id, partial(self.courier.carry_out, intent))
        for intent in work.carried:
            self._begin(intent.id, partial(self._look_after, intent))
        next_notice_us = await self.webhooks.tick(now)
        soon = now + seconds(_LOOK_EVERY_SECONDS)
        return min(moment for moment in (soon, work.next_due_us, next_notice_us) if moment is not None)

    async def idle(self) -> None:
        """Until nothing is being carried out; for tests and for stopping."""
        while self._running:
            await asyncio.wait(set(self._running.values()))
        await self.webhooks.idle()

    def _begin(self, key: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if key in self._running or len(self._running) >= _AT_ONCE or self.stopping.is_set():
            return
        if self.setbacks.keeps_away(key, self.clock.now_us()):
            return
        task = asyncio.create_task(self._guarded(key, work))
        self._running[key] = task
        task.add_done_callback(lambda _: self._running.pop(key, None))

    async def _guarded(self, key: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """A step that fails is tried again, later each time; one that can never work fails its intent."""
        try:
            await work()
        except StoreUnavailable as error:  # no fault of the intent's, so it costs no try
            _log.warning("intent.step_failed", id=key, error_class=str(error.error_class))
        except PostroomError as error:
            _log.warning("intent.step_failed", id=key, error_class=str(error.error_class))
            if self.setbacks.note(key, self.clock.now_us()) >= MAX_TRIES and not error.retryable:
                await self._give_up(key, str(error.error_class))
        except Exception as error:
            if self._failed(key, type(error).__name__) >= MAX_TRIES:
                await self._give_up(key, type(error).__name__)
        else:
            self.setbacks.clear(key)

    def _failed(self, key: str, error: str) -> int:
        _log.error("intent.bug", id=key, error=error)
        return self.setbacks.note(key, self.clock.now_us())

    async def _give_up(self, key: str, error: str) -> None:
        """Whatever stops this from being written down leaves the intent where it is, at its distance."""
        moment = MoveContext(self.clock.now_us(), SYSTEM, self.mint)
        try:
            await self.courier.store.update(key, lambda found: given_up(found, error, moment))
        except Exception as failure:  # a notice to a subscriber is no intent, and has a limit of its own
            _log.error("intent.not_given_up", id=key, error=type(failure).__name__)
            return
        self.setbacks.clear(key)
        self.signal.ring()

    async def _look_after(self, intent: AgentIntent) -> None:
        if not intent.is_open:
            await self.courier.send_on(intent)
            return
        moment = MoveContext(self.clock.now_us(), SYSTEM, self.mint)
        if sessions := await self.agenda.sessions(intent.id):
            await self._change(intent, lambda found: worked(found, sessions[-1], moment))
            return
        rows = await self.agenda.deliveries(intent.id)
        statuses = [Status(row[0]) for row in rows]
        failure = next((row[2] for row in reversed(rows) if row[2]), None)
        await self._change(intent, lambda found: followed(found, statuses, failure, moment))

    async def _change(self, intent: AgentIntent, decide: Callable[[AgentIntent], IntentChange]) -> None:
        change = await self.courier.store.update(intent.id, decide)
        if change.events:
            self.signal.ring()


def followed(intent: AgentIntent, statuses: list[Status], failure: str | None, moment: MoveContext) -> IntentChange:
    """What the deliveries of an intent make of it."""
    if not intent.carried or not intent.is_open:
        return unchanged(intent)
    if Status.DELIVERED in statuses:
        return arrived(intent, moment)
    if statuses and all(status in TERMINAL for status in statuses):
        return _lost(replace(intent, carried=False), failure, moment)
    if Status.AWAITING_APPROVAL in statuses and intent.status is not IntentStatus.WAITING:
        return moved(intent, IntentStatus.WAITING, moment, waiting_reason=WaitingReason.HUMAN)
    return unchanged(replace(intent, updated_at_us=moment.now_us))


def worked(intent: AgentIntent, session: tuple[str, str, str | None, str], moment: MoveContext) -> IntentChange:
    """What the session of a butler makes of an intent; the butler has answered, not whom it stands beside."""
    status, text, failure, butler = session
    if not intent.carried or not intent.is_open:
        return unchanged(intent)
    if SessionStatus(status) not in SESSION_ENDED:
        return unchanged(replace(intent, updated_at_us=moment.now_us))
    seen = replace(intent, carried=False)
    if status != SessionStatus.DONE:
        return _lost(seen, failure, moment)
    if intent.macro_id == APPROVAL:  # routed there before such an approver was refused
        return _lost(seen, "only a person can decide this", moment)
    agent = BUTLER_PREFIX + butler
    answer = butler_answer({"text": text}, agent, to_text(moment.now_us))
    says = {"author": agent, "message": answer["answer"]}
    actor = MoveContext(moment.now_us, agent, moment.mint)
    return moved(seen, IntentStatus.COMPLETED, actor, result=answer, says=says)


def given_up(intent: AgentIntent, error: str, moment: MoveContext) -> IntentChange:
    """What our own failure makes of an intent: `error` is the name of its kind, never its words."""
    payload = {"code": str(Code.INTERNAL), "message": f"it failed {MAX_TRIES} times and was given up ({error})"}
    left = replace(intent, carried=False)
    if not intent.is_open:
        return noted(left, IntentEventType.DELIVERY_FAILED, moment, payload)
    return moved(left, IntentStatus.FAILED, moment, payload=payload, result={"error": payload})


def _lost(intent: AgentIntent, failure: str | None, moment: MoveContext) -> IntentChange:
    payload = {"code": str(Code.DELIVERY_FAILED), "message": failure or "the delivery failed"}
    if any(step.kind != "expire" for step in intent.plan[intent.position :]):
        return noted(intent, IntentEventType.DELIVERY_FAILED, moment, payload)
    return moved(intent, IntentStatus.FAILED, moment, payload=payload, result={"error": payload})


# Carry out one step of an intent: to a person, to a butler, or to nobody but the inbox.


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
