"""One step of an intent, carried out: a card or a letter to a person, a route to a butler, or the inbox alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, assert_never

from postroom.butlers.wire import Route
from postroom.intents.directory import AgentTarget, ButlerTarget, Directory, PersonTarget, book_of
from postroom.intents.model import (
    APPROVAL,
    APPROVE_WORD,
    ASK,
    MAX_ANSWER_CHARACTERS,
    ORIGIN,
    REJECT_WORD,
    REPLY,
    AgentIntent,
    Details,
    IntentChange,
    IntentEventType,
    IntentStatus,
    MoveContext,
    Step,
    StepKind,
    WaitingReason,
    agent_of,
    answered,
    asked_at_once,
    butler_answered,
    decided,
    failed,
    given_answer,
    moved,
    noted,
    subject_of,
    then,
    unchanged,
    undeliverable,
)
from postroom.intents.store import StoredIntents
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import Code, PostroomError, Refused
from postroom.kernel.values.ids import seconds, to_text
from postroom.message.channel import UNDECLARED, Capabilities, KnownChannels, Outbound
from postroom.message.outgoing import AnswerStatus, Outcome, Outgoing
from postroom.message.wire import Routed
from postroom.message.wishes import APPROVE
from postroom.questions.asked_people import AskedPeople, asked
from postroom.questions.model import (
    APPROVE_OPTIONS,
    AskedPerson,
    Attempt,
    Presentation,
    PresentationStatus,
    Question,
    QuestionKind,
    Verdict,
    Wording,
)
from postroom.questions.questions import Questions
from postroom.questions.rules.cards import CardMaker
from postroom.questions.rules.plan import Channels, opened
from postroom.questions.rules.request import MAX_DEADLINE_SECONDS, QuestionRequest
from postroom.questions.store.presentations import StoredPresentations
from postroom.questions.store.questions import StoredQuestions

SYSTEM: Final = "postroom"

_SUBJECT_CHARACTERS = 60
_SHORTEST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 300.0
_GIVE_UP_SECONDS: Final = 86_400.0

_PUT = (StepKind.ASK, StepKind.ESCALATE)
_NUDGES = (StepKind.REMIND, StepKind.ESCALATE)


# The words in which an intent reaches a person.


@dataclass(frozen=True, slots=True)
class Letter:
    subject: str
    text: str


def letter(intent: AgentIntent, kind: StepKind, sender: str, *, heard: bool, proved: bool = True) -> Letter:
    """What was said comes first and unchanged; who says it follows and, where a reply is heard, how to answer."""
    if intent.intent_type == REPLY:
        return Letter(_line(f"Answer from {sender}"), f"{intent.text}\n\n— {sender}")
    opening = {StepKind.REMIND: "A reminder: ", StepKind.ESCALATE: "Nobody has answered yet: "}.get(kind, "")
    parts = [opening + intent.text]
    if context := intent.payload.get("context"):
        parts.append(str(context))
    parts.append(f"— {sender}{_how_to_answer(intent, proved) if heard else ''}")
    return Letter(_line(f"{opening}{sender} asks: {intent.text}"), "\n\n".join(parts))


def _answer_letter(intent: AgentIntent, sender: str) -> Letter:
    said = str((intent.result or {}).get("answer") or "done")
    return Letter(_line(f"Answer from {sender}"), f"{said}\n\n— {sender}, to your question: {intent.text}")


def _how_to_answer(intent: AgentIntent, proved: bool) -> str:
    """Who has not proved their address yet decides nothing by replying."""
    if intent.macro_id == APPROVAL and not proved:
        return " (to decide this here, your address has to be verified first; ask the owner)"
    if intent.macro_id == APPROVAL:
        return f' (reply to this message with "{APPROVE_WORD}" or "{REJECT_WORD}")'
    return " (reply to this message to answer)"


def _line(text: str) -> str:
    line = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    return line if len(line) <= _SUBJECT_CHARACTERS else line[: _SUBJECT_CHARACTERS - 1] + "…"


# What leaves the household for it: a message to a person, a route to a butler.


def to_person(intent: AgentIntent, step: Step, person: PersonTarget, sender: str, can: Capabilities) -> Outgoing:
    """The same however often the step is tried."""
    written = letter(intent, step.kind, sender, heard=can.inbound, proved=person.proved)
    return _outgoing(intent, written, person, f"{intent.id}:{intent.position}", can)


def completion(intent: AgentIntent, person: PersonTarget, sender: str, can: Capabilities) -> Outgoing:
    return _outgoing(intent, _answer_letter(intent, sender), person, f"{intent.id}:completion", can)


def _outgoing(intent: AgentIntent, written: Letter, person: PersonTarget, key: str, can: Capabilities) -> Outgoing:
    return Outgoing(
        origin_butler=ORIGIN,
        asker=intent.from_agent,
        channel=person.channel,
        recipient=person.address,
        message=written.text,
        subject=written.subject if can.style == "letter" else None,
        idempotency_key=key,
    )


def butler_route(intent: AgentIntent, received_at: str) -> Route:
    """What was said goes as the prompt, who said it as the sender: text stays data on both."""
    return Route(
        request_id=intent.id,
        sender=intent.from_agent,
        prompt=intent.text,
        context={
            "intent_id": intent.id,
            "correlation_id": intent.correlation_id,
            "intent_type": intent.intent_type,
            "from_agent": intent.from_agent,
            "context": intent.payload.get("context"),
            "how_to_answer": "The last thing you say is given to the asker as your answer.",
        },
        request_context={
            "request_id": intent.id,
            "received_at": received_at,
            "source_channel": "mcp",
            "source_endpoint_identity": "gateway",
            "source_sender_identity": intent.from_agent,
        },
    )


# A question with a card, for people who have proved where they are.


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionCards:
    questions: Questions
    store: StoredQuestions
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
        outcome = await self.outbound.submit(reminder, request_id=shown.id, wait_seconds=wait_seconds)
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
    return replace(question, expires_at_us=max(ends[-1], now_us) if ends else question.expires_at_us)


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
            return answered(intent, given_answer(words or "declined", moment, status), moment)
        approve = verdict.answer.value == APPROVE
        return decided(intent, approve=approve, comment="", moment=moment)

    return ruled


# The steps.


TakeRoute = Callable[[str, Route, float], Awaitable[Routed]]
"""To a butler, with the seconds it may take; raises one of our errors when the butler cannot be reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Courier:
    store: StoredIntents
    directory: Directory
    outbound: Outbound
    route: TakeRoute
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
                await self._let_go(intent, error)
                return
            if isinstance(target, PersonTarget):
                sender = await self.directory.display_name(intent.handler, book_of(intent.from_agent))
                outgoing = completion(intent, target, sender, self._can(target))
                outcome = await self.outbound.submit(outgoing, request_id=intent.id, wait_seconds=0)
                if outcome.retryable:
                    return
        await self.store.update(intent.id, lambda found: unchanged(replace(found, carried=False)))

    async def _let_go(self, intent: AgentIntent, error: Refused) -> None:
        """Whoever wanted the answer is not known any more; the intent itself has its answer."""

        def note(found: AgentIntent) -> IntentChange:
            return undeliverable(replace(found, carried=False), error.code, error.message, self._moment(SYSTEM))

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
            routed = await self.route(butler.name, route, self.route_seconds)
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
        others = any(step.kind in (StepKind.ASK, StepKind.ESCALATE) for step in intent.plan[intent.position + 1 :])
        first = intent.plan[intent.position].kind is StepKind.ASK
        if first and not others and intent.status is not IntentStatus.DELIVERED and not intent.carried:
            return then(advanced, lambda found: failed(found, IntentStatus.FAILED, code, message, self._moment(SYSTEM)))
        at_once = replace(advanced, intent=asked_at_once(advanced.intent, self.clock.now_us()))
        return then(at_once, lambda found: undeliverable(found, code, message, self._moment(SYSTEM)))

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
        if not routed.finished or routed.said is None:
            return advanced
        words = routed.said
        return then(advanced, lambda found: butler_answered(found, words, self._moment(butler.agent)))

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
        return noted(after, kind, self._moment(SYSTEM), Details(to_agent=step.to_agent))

    def _expired(self, intent: AgentIntent) -> IntentChange:
        words = "nobody answered in time"
        return failed(intent, IntentStatus.TIMED_OUT, Code.INTENT_TIMEOUT, words, self._moment(SYSTEM))

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
