"""Shows questions where their people are and closes what has ended: each card is a delivery, and follows it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import structlog

from postroom.attention.attention import QuestionTimes
from postroom.attention.rules.policy import PolicyBook
from postroom.delivery.accept import Plane
from postroom.delivery.afterwards.corrections import Corrections
from postroom.delivery.model import outcome_of
from postroom.delivery.rules.breaker import CircuitState
from postroom.delivery.rules.policy import caller_key
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import ErrorClass, PostroomError
from postroom.kernel.values.ids import SECOND_US, DeliveryId, seconds
from postroom.message.delivery import Status
from postroom.message.outgoing import AnswerStatus, Outcome, Outgoing
from postroom.people.model import Person
from postroom.questions.asked_people import AskedPeople
from postroom.questions.model import (
    PASSED_ON,
    Hold,
    PlannedPresentation,
    Presentation,
    PresentationClaim,
    PresentationMove,
    PresentationStatus,
    Question,
    Shown,
    Token,
    is_approval,
)
from postroom.questions.rules.cards import ORIGIN, Card, CardMaker, Made, made
from postroom.questions.rules.plan import GONE, Channels, Turns, nowhere, places
from postroom.questions.store.presentations import StoredPresentations

_NEXT_CHANNEL_SECONDS: Final = 300.0
QUIET_SECONDS: Final = 300.0  # how soon what waits for the end of quiet hours is judged anew
_WAIT_SECONDS: Final = 20.0  # for a delivery, before its card is said to be held up
_BRIEFLY_SECONDS: Final = 1.0  # before it is noted that a card is under way: most arrive within it, and are noted once
LEASE_SECONDS: Final = 60.0
_AGAIN_SECONDS: Final = 10.0
PARKED_SECONDS: Final = 600.0  # a decision rings at once; this is for one that was not heard
_COUNT_SECONDS: Final = 3.0
_LOOK_SECONDS: Final = 1.0  # how soon what another process asked is shown
_AT_A_TIME: Final = 50
_IN_HAND: Final = 50
_ACTOR: Final = "the household"  # who takes a card back
NO_EDITS: Final = "what was sent on this channel cannot be changed"
_log = structlog.get_logger("postroom.questions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """`times` know of channels that a person wishes to be asked on, and when."""

    plans: StoredPresentations
    people: AskedPeople
    channels: Channels
    clock: Clock
    next_channel_seconds: float = _NEXT_CHANNEL_SECONDS
    times: QuestionTimes | None = None

    async def plan(self, question: Question, people: Sequence[str] | None = None) -> Sequence[Presentation]:
        """For these people of it, or for all for whom it was not done yet."""
        ids = sorted(await self.plans.unplanned(question.id) if people is None else people)
        chosen = [place for one in ids for place in await self._places(question, one)]
        return await self.plans.plan(question.id, ids, chosen, self.clock.now_us())

    def chosen(self, question: Question, people: Sequence[Person], mint: Callable[[int], str]) -> list[Presentation]:
        """For people who are known already, so that it can be stored with the question."""
        now_us, in_order = question.created_at_us, sorted(people, key=lambda one: one.id)
        found = [one for person in in_order for one in self._on_channels(question, person)]
        return [one.under(mint(now_us), question.id, now_us) for one in found]

    async def take_up(self) -> None:
        """What was asked and not planned, by a process that died or because people were added."""
        for question in await self.plans.to_plan(_AT_A_TIME):
            await self.plan(question)

    async def _places(self, question: Question, person_id: str) -> list[PlannedPresentation]:
        found = await self.people.find(person_id)
        person = next((one for one in found if one.id == person_id), None)
        return self._on_channels(question, person) if person else [nowhere(person_id, GONE)]

    def _on_channels(self, question: Question, person: Person) -> list[PlannedPresentation]:
        return places(person, question.channels, self.channels, self._turns(person.id))

    async def turn_us(self, question: Question, shown: Presentation, now_us: int) -> int | None:
        """When this channel has its turn, if the person's channel before it came up late; None when that is now."""
        if question.channels is not None or now_us - shown.created_at_us < SECOND_US:  # it is the first
            return None
        mine = [one for one in await self.plans.of(question.id) if one.person_id == shown.person_id]
        before = [one for one in mine if one.id < shown.id and one.status is not PresentationStatus.FAILED][-1:]
        gap_us = seconds(self._turns(shown.person_id).gap(shown.channel))
        for one in before:
            is_held = one.status is PresentationStatus.PLANNED and one.hold is Hold.QUIET
            at_us = (now_us if is_held else one.updated_at_us) + gap_us
            if at_us > now_us and (is_held or one.status is PresentationStatus.SHOWN):
                return at_us
        return None

    def _turns(self, person_id: str) -> Turns:
        steps = self.times.channels_after(person_id) if self.times is not None else ()
        return Turns(seconds=self.next_channel_seconds, steps=steps)


@dataclass(frozen=True, slots=True)
class CardPost:
    """The one way out, and what it knows of what went out before."""

    plane: Plane
    corrections: Corrections

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        return await self.plane.submit(outgoing, request_id=request_id, wait_seconds=wait_seconds)

    async def under(self, key: str) -> DeliveryId | None:
        """What was submitted under this key."""
        found = await self.plane.acceptance.ledger.find(caller_key(ORIGIN, key))
        return found.id if found else None

    async def outcome(self, delivery_id: DeliveryId, wait_seconds: float) -> Outcome | None:
        """As soon as it is settled, or as it stands when the time is up."""
        settled = await self.plane.outcomes.wait(delivery_id, wait_seconds, look_first=True)
        snapshot = settled or await self.plane.acceptance.ledger.get(delivery_id)
        return outcome_of(snapshot, request_id=snapshot.request_id) if snapshot else None

    async def parts(self, delivery_id: DeliveryId) -> tuple[str, ...]:
        """The provider's names for its parts, once it has arrived."""
        sent = await self.plane.acceptance.sent.sent(delivery_id)
        return sent.revision().standing if sent else ()

    async def is_away(self, channel: str) -> bool:
        """It failed so often that nothing goes out on it for now."""
        return (await self.plane.acceptance.breakers.circuit(channel)).state is not CircuitState.CLOSED

    async def take_back(self, delivery_id: DeliveryId) -> bool:
        """Whether it will not be sent any more; False when it has left already."""
        return await self.corrections.take_back(delivery_id, actor=_ACTOR)


@dataclass(slots=True, kw_only=True)
class Presenter:
    """
    Every claim is worked on in a task of its own, so that a slow channel holds up no other. `follow` counts the
    times of open questions anew when people have other wishes.

    A process that dies loses its leases; the next one takes its claims up, and finds what was sent by its key.
    """

    planning: Planning
    claims: StoredPresentations
    cards: CardMaker
    post: CardPost
    clock: Clock
    wake: Signal
    times: QuestionTimes | None = None
    follow: Callable[[], Awaitable[None]] | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _policies: PolicyBook | None = None
    _uncounted: dict[str, PresentationClaim] = field(default_factory=dict)  # the first of a line that has changed
    _counted_us: int = 0

    async def look(self) -> int | None:
        """One round; answers when the next is due, unless the signal rings before."""
        await self._follow_policies()
        await self.planning.take_up()
        await self._begin_what_is_due()
        self._count()
        return self.clock.now_us() + seconds(_LOOK_SECONDS)

    async def _follow_policies(self) -> None:
        """What was quiet for someone may not be any more."""
        if self.times is None:
            return
        before, self._policies = self._policies, await self.times.policies()
        if before == self._policies:
            return
        if self.follow is not None:
            await self.follow()  # first of all, so that cards say until when there is time now
        if before is not None:
            await self.claims.again(Hold.QUIET, self.clock.now_us())

    async def idle(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def stop(self) -> None:
        """What is cut short here is taken up by the next process."""
        for task in self._tasks:
            task.cancel()
        await self.idle()

    async def _begin_what_is_due(self) -> None:
        now_us, room = self.clock.now_us(), self._room()
        lease_us = now_us + seconds(LEASE_SECONDS)
        if not room:
            return
        for claim in await self.claims.due(now_us, lease_until_us=lease_us, limit=room, tokens_of=self._first_tokens):
            self._begin(self._work(claim))

    def _first_tokens(self, claim: PresentationClaim) -> Sequence[Token]:
        """Of a card that will be shown for the first time; all others are issued just before they are sent."""
        if _is_first(claim):
            with suppress(Exception):  # a card that cannot be made holds up no other: its own task says so
                return self.cards.tokens(claim.question, claim.presentation)
        return ()

    def _room(self) -> int:
        return max(0, _IN_HAND - len(self._tasks))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A claim that failed comes back when its lease has run out."""
        if not self._room():
            self.wake.ring()
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, PostroomError):
            _log.error("questions.card_failed", error=type(error).__name__)

    async def _work(self, claim: PresentationClaim) -> None:
        if claim.presentation.status is PresentationStatus.CLOSING:
            await self._close(claim)
        elif claim.presentation.status is PresentationStatus.PLANNED:
            await self._show_first(claim)
        elif claim.question.is_open:
            await self._show_revised(claim)

    async def _show_first(self, claim: PresentationClaim) -> None:
        delivery_id, revision = await self._sent_before(claim)
        outdated = not claim.question.is_open or revision < claim.question.revision
        if delivery_id is not None and outdated and await self.post.take_back(delivery_id):
            delivery_id, never = None, replace(claim.presentation, delivery_id=None, revision=0)
            claim = replace(claim, presentation=never)
        if delivery_id is None and not claim.question.is_open:
            await self._tell(claim, Shown(move=PresentationMove.DROP, hold=Hold.ENDED))
            await self._line(claim)
        elif delivery_id is None and (turn_us := await self._turn_us(claim)) is not None:
            await self.claims.later(claim, turn_us)
        elif delivery_id is None and (line := await self._line(claim)) and not _is_first_in(line, claim):
            await self._stand_in_line(claim)
        elif delivery_id is None and (quiet_us := await self._quiet_until(claim)) is not None:
            await self.claims.later(claim, quiet_us, Hold.QUIET)
        elif delivery_id is None:
            card = partial(self.cards.asking, behind=max(0, len(line) - 1))
            await self._send(claim, await _made(claim, card), issued=_is_first(claim))
        else:
            await self._follow(claim, delivery_id, revision)

    async def _turn_us(self, claim: PresentationClaim) -> int | None:
        return await self.planning.turn_us(claim.question, claim.presentation, self.clock.now_us())

    async def _line(self, claim: PresentationClaim) -> Sequence[PresentationClaim]:
        """Approvals for one person are shown there one at a time; the card that is shown says how many wait."""
        line = await self.claims.line(claim) if is_approval(claim.question) else ()
        if line and line[0].presentation.id != claim.presentation.id:
            self._uncounted.setdefault(line[0].presentation.id, line[0])
        return line

    async def _stand_in_line(self, claim: PresentationClaim) -> None:
        """Until the one before it makes it due; that may have ended while we looked."""
        await self.claims.later(claim, self.clock.now_us() + seconds(PARKED_SECONDS), Hold.IN_LINE)
        if _is_first_in(await self.claims.line(claim), claim):
            await self.claims.later(claim, self.clock.now_us(), Hold.IN_LINE)

    def _count(self) -> None:
        """Now and then, however many come."""
        now_us = self.clock.now_us()
        if now_us < self._counted_us + seconds(_COUNT_SECONDS):
            return
        for first in list(self._uncounted.values())[: self._room()]:
            self._counted_us = now_us
            del self._uncounted[first.presentation.id]
            self._begin(self._count_on(first))

    async def _count_on(self, first: PresentationClaim) -> None:
        line = await self.claims.line(first)
        if not _is_first_in(line, first):
            return
        question, shown = line[0].question, line[0].presentation
        if shown.status is PresentationStatus.PLANNED:  # on its way
            self._uncounted.setdefault(shown.id, first)
        elif self.cards.ability(shown).edits:
            more = len(line) - 1, self.clock.now_us()
            edit = await made(question, self.cards.counted, question, shown, *more)
            await self._submit(line[0], edit, 0)

    async def _quiet_until(self, claim: PresentationClaim) -> int | None:
        """Looked at again now and then, because policies change. What would end unseen is shown all the same."""
        question, now_us = claim.question, self.clock.now_us()
        if self.times is None:
            return None
        shown_us = await self.times.shown_at(claim.presentation.person_id, question.asker, question.urgency, now_us)
        if shown_us <= now_us or shown_us >= question.expires_at_us:
            return None
        return min(shown_us, now_us + seconds(QUIET_SECONDS))

    async def _sent_before(self, claim: PresentationClaim) -> tuple[DeliveryId | None, int]:
        """What an earlier claim sent, and in which wording: it may have died before it could note it."""
        shown, newest = claim.presentation, claim.question.revision
        if shown.delivery_id is not None:
            return DeliveryId(shown.delivery_id), shown.revision
        for revision in range(newest, 0, -1) if claim.taken_up else ():
            if found := await self.post.under(f"ask:{shown.id}:{revision}"):
                return found, revision
        return None, newest

    async def _show_revised(self, claim: PresentationClaim) -> None:
        """
        Edited in place; as a new message only where the old one cannot be edited.

        When a person says no to the new words, the card stays as it is, and its presses do not count.
        """
        question, shown = claim.question, claim.presentation
        await self._take_back_unshown(claim, question.revision)
        card = await _made(claim, self.cards.asking)
        if card.outgoing.revises is None or shown.status is PresentationStatus.UNCERTAIN:
            await self._send(claim, await _made(claim, self.cards.anew))
            return
        await self.claims.issue(card.tokens)
        outcome = await self._submit(claim, card.outgoing, _WAIT_SECONDS)
        if outcome.status is AnswerStatus.OK:
            parts = await self.post.parts(card.outgoing.revises)  # a longer text may have added some
            await self._tell(claim, Shown(move=PresentationMove.SHOW, revision=question.revision, provider_ids=parts))
        elif _is_under_way(outcome):
            await self._later(claim, outcome)
        elif shown.hold is Hold.APPROVAL:
            await self.claims.later(claim, question.expires_at_us, failure=_failure(outcome))
        else:
            await self._send(claim, await _made(claim, self.cards.anew))

    async def _send(self, claim: PresentationClaim, card: Card, *, issued: bool = False) -> None:
        if not issued:
            await self.claims.issue(card.tokens)
        stored = await self._submit(claim, card.outgoing, _BRIEFLY_SECONDS)
        if stored.status is AnswerStatus.OK and stored.delivery_id is not None:
            await self._arrived(claim, stored.delivery_id, claim.question.revision, stored)
        elif stored.delivery_id is not None:
            await self._follow(claim, stored.delivery_id, claim.question.revision, stored)
        elif stored.retryable:
            await self._later(claim, stored)
        else:
            await self._tell(claim, Shown(move=PresentationMove.FAIL, failure=_failure(stored)))

    async def _follow(
        self, claim: PresentationClaim, delivery_id: DeliveryId, revision: int, stored: Outcome | None = None
    ) -> None:
        """One that waits for an approval is not waited for here: the decision makes its card due."""
        now_us = self.clock.now_us()
        again_us = now_us + seconds(LEASE_SECONDS)
        noted = {"revision": revision, "look_again_us": again_us, "now_us": now_us}
        if not await self.claims.submitted(claim, delivery_id, **noted):
            return
        outcome = stored or await self.post.outcome(delivery_id, 0)
        if outcome is None or outcome.status is AnswerStatus.ACCEPTED:
            outcome = await self.post.outcome(delivery_id, _WAIT_SECONDS)
        if outcome is None or _is_under_way(outcome):
            await self._later(claim, outcome)
        elif outcome.status is AnswerStatus.OK:
            await self._arrived(claim, delivery_id, revision, outcome)
        else:
            await self._tell(claim, _not_shown(claim, outcome, revision))

    async def _arrived(
        self, claim: PresentationClaim, delivery_id: DeliveryId, revision: int, outcome: Outcome
    ) -> None:
        only = (outcome.provider_delivery_id,) if outcome.in_one_part and outcome.provider_delivery_id else None
        parts = only or await self.post.parts(delivery_id)
        shown = Shown(move=PresentationMove.SHOW, revision=revision, provider_ids=parts, delivery_id=delivery_id)
        await self._tell(claim, shown)

    async def _close(self, claim: PresentationClaim) -> None:
        claim = await self._take_back_unshown(claim, claim.question.revision + 1)
        question, shown = claim.question, claim.presentation
        if shown.delivery_id is None or not self.cards.ability(shown).edits:
            if self._is_owed_a_letter(question, shown):
                await self._submit(claim, await _made(claim, self.cards.letter), 0)
            await self._tell(claim, Shown(move=PresentationMove.LEAVE, failure=NO_EDITS))
            return
        for closing in await _made(claim, self.cards.closings):
            outcome = await self._submit(claim, closing, _WAIT_SECONDS)
            if outcome.status is not AnswerStatus.PENDING_APPROVAL:
                break
        if outcome.status is AnswerStatus.OK:
            wording = shown.revision if closing.asker is None else question.revision
            await self._tell(claim, Shown(move=PresentationMove.CLOSE, revision=wording))
        elif _is_under_way(outcome):
            await self._later(claim, outcome)
        else:
            await self._leave(claim, _failure(outcome))

    async def _take_back_unshown(self, claim: PresentationClaim, before: int) -> PresentationClaim:
        """
        Words that still wait for an approval are not to come after newer ones, or after the end.

        Those that have arrived are what the card says: whoever showed them may have been overtaken by a press on them.
        """
        shown = claim.presentation
        for revision in range(shown.revision + 1, before):
            if (found := await self.post.under(f"ask:{shown.id}:{revision}:anew")) is not None:
                await self.post.take_back(found)
            found = await self.post.under(f"ask:{shown.id}:{revision}")
            if found is not None and not await self.post.take_back(found) and await self._has_arrived(found):
                claim = replace(claim, presentation=replace(shown, revision=revision))
        return claim

    async def _has_arrived(self, delivery_id: DeliveryId) -> bool:
        outcome = await self.post.outcome(delivery_id, _WAIT_SECONDS)
        return outcome is not None and outcome.status is AnswerStatus.OK

    def _is_owed_a_letter(self, question: Question, shown: Presentation) -> bool:
        """Who answered by words, on a card that stays as it is, would else not know whether they were heard."""
        ability, by = self.cards.ability(shown), question.answered_by
        by_words = ability.inbound and not ability.buttons and shown.delivery_id is not None
        return by_words and by is not None and (by.channel, by.person_id) == (shown.channel, shown.person_id)

    async def _leave(self, claim: PresentationClaim, failure: str) -> None:
        """The card is gone or fixed; a short reply says how it ended, where replies are short."""
        shown = claim.presentation
        if self.cards.ability(shown).threads and shown.provider_ids:
            await self._submit(claim, self.cards.over(claim.question, shown), 0)
        await self._tell(claim, Shown(move=PresentationMove.LEAVE, failure=failure))

    async def _submit(self, claim: PresentationClaim, outgoing: Outgoing, wait_seconds: float) -> Outcome:
        """Every message about a card bears the card's id, so that a reply to any of them finds it."""
        return await self.post.submit(outgoing, request_id=claim.presentation.id, wait_seconds=wait_seconds)

    async def _later(self, claim: PresentationClaim, outcome: Outcome | None) -> None:
        is_parked = outcome is not None and outcome.status is AnswerStatus.PENDING_APPROVAL
        pause, shown, now_us = PARKED_SECONDS if is_parked else _AGAIN_SECONDS, claim.presentation, self.clock.now_us()
        is_first = shown.status is PresentationStatus.PLANNED and not is_parked
        if not (is_first and await self.post.is_away(shown.channel)):
            why = (Hold.APPROVAL, None) if is_parked else (None, _failure(outcome))
            await self.claims.later(claim, now_us + seconds(pause), *why)
        elif shown.hold is Hold.AWAY:  # as it was when we looked before
            await self.claims.later(claim, now_us + seconds(pause), Hold.AWAY)
        else:
            await self.claims.away(claim, now_us + seconds(pause), now_us)
            self.wake.ring()

    async def _tell(self, claim: PresentationClaim, shown: Shown) -> None:
        await self.claims.presented(claim, shown, self.clock.now_us())
        if shown.move in PASSED_ON:
            self.wake.ring()  # for the next channel, or for those whom it is passed on to


async def _made(claim: PresentationClaim, make: Callable[[Question, Presentation], Made]) -> Made:
    return await made(claim.question, make, claim.question, claim.presentation)


def _is_first(claim: PresentationClaim) -> bool:
    """No earlier claim can have sent anything."""
    is_planned = claim.presentation.status is PresentationStatus.PLANNED
    return is_planned and not claim.taken_up and claim.question.is_open


def _is_first_in(line: Sequence[PresentationClaim], claim: PresentationClaim) -> bool:
    return bool(line) and line[0].presentation.id == claim.presentation.id


def _is_under_way(outcome: Outcome) -> bool:
    """Or refused for now, with nothing stored."""
    waiting = outcome.status in (AnswerStatus.ACCEPTED, AnswerStatus.PENDING_APPROVAL)
    return waiting or (outcome.delivery_id is None and outcome.retryable)


def _not_shown(claim: PresentationClaim, outcome: Outcome, revision: int) -> Shown:
    """A dead letter that ran out of time may have arrived all the same."""
    doubtful = (
        outcome.delivery_status is Status.DEAD_LETTERED
        and outcome.error is not None
        and outcome.error.error_class is ErrorClass.TIMEOUT
        and claim.presentation.status is PresentationStatus.PLANNED
    )
    move = PresentationMove.DOUBT if doubtful else PresentationMove.FAIL
    return Shown(move=move, revision=revision, failure=_failure(outcome))


def _failure(outcome: Outcome | None) -> str:
    if outcome is None:
        return "not delivered yet"
    if outcome.error is not None:
        return outcome.error.message
    return f"not delivered yet: {outcome.waiting_reason}" if outcome.waiting_reason else "not delivered yet"
