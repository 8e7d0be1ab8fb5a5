"""Rounds that carry out what is due and see to what is under way; a restart loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import structlog

from postroom.butlers.model import TERMINAL as SESSION_ENDED
from postroom.butlers.model import SessionStatus
from postroom.intents.courier import SYSTEM, Courier, arrived
from postroom.intents.model import (
    APPROVAL,
    AgentIntent,
    IntentChange,
    IntentStatus,
    MoveContext,
    WaitingReason,
    butler_answered,
    failed,
    moved,
    unchanged,
    undeliverable,
)
from postroom.intents.store import RoutedSession, StoredIntents
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import Code, PostroomError, StoreUnavailable
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import BUTLER_PREFIX
from postroom.kernel.webhooks import Webhooks
from postroom.message.delivery import TERMINAL, Status

# Work that failed keeps its distance: longer each time, so that it never stands in the way of other work.

_FIRST_PAUSE_SECONDS: Final = 2.0
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
    return min(_FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 30), LONGEST_PAUSE_SECONDS)


# The rounds.

_AT_ONCE: Final = 32
_BATCH: Final = 100
_LOOK_EVERY_SECONDS: Final = 2.0
_log = structlog.get_logger("postroom.intents")


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    agenda: StoredIntents
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
        if session := await self.agenda.last_session(intent.id):
            await self._change(intent, lambda found: worked(found, session, moment))
            return
        rows = await self.agenda.deliveries(intent.id)
        statuses = [status for status, _ in rows]
        failure = next((failure for _, failure in reversed(rows) if failure), None)
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


def worked(intent: AgentIntent, session: RoutedSession, moment: MoveContext) -> IntentChange:
    """What the session of a butler makes of an intent; the butler has answered, not whom it stands beside."""
    if not intent.carried or not intent.is_open:
        return unchanged(intent)
    if session.status not in SESSION_ENDED:
        return unchanged(replace(intent, updated_at_us=moment.now_us))
    seen = replace(intent, carried=False)
    if session.status is not SessionStatus.DONE:
        return _lost(seen, session.failure, moment)
    if intent.macro_id == APPROVAL:  # routed there before such an approver was refused
        return _lost(seen, "only a person can decide this", moment)
    agent = BUTLER_PREFIX + session.butler
    return butler_answered(seen, session.said, replace(moment, actor=agent))


def given_up(intent: AgentIntent, error: str, moment: MoveContext) -> IntentChange:
    """What our own failure makes of an intent: `error` is the name of its kind, never its words."""
    words = f"it failed {MAX_TRIES} times and was given up ({error})"
    left = replace(intent, carried=False)
    if not intent.is_open:
        return undeliverable(left, Code.INTERNAL, words, moment)
    return failed(left, IntentStatus.FAILED, Code.INTERNAL, words, moment)


def _lost(intent: AgentIntent, failure: str | None, moment: MoveContext) -> IntentChange:
    words = failure or "the delivery failed"
    if any(step.kind != "expire" for step in intent.plan[intent.position :]):
        return undeliverable(intent, Code.DELIVERY_FAILED, words, moment)
    return failed(intent, IntentStatus.FAILED, Code.DELIVERY_FAILED, words, moment)
