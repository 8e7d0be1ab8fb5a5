"""What is due of an intent: its next step is carried out, and what is under way is seen to; a restart loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

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
    asked_at_once,
    butler_answered,
    failed,
    moved,
    unchanged,
    undeliverable,
)
from postroom.intents.store import GLANCE_US, RoutedSession, StoredIntents
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import Code, PostroomError, StoreUnavailable
from postroom.kernel.values.moments import Due, Reason
from postroom.kernel.values.principal import BUTLER_PREFIX
from postroom.message.delivery import TERMINAL, Status

MAX_TRIES: Final = 6  # a minute of failures: longer than a database needs to come back
_log = structlog.get_logger("postroom.intents")


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentSteps:
    store: StoredIntents
    courier: Courier
    signal: Signal
    clock: Clock
    mint: Callable[[int], str]

    async def take(self, due: Due) -> int | None:
        """The step that is due, or what is under way; what can never work fails its intent."""
        try:
            intent = await self.store.get(due.id)
            if intent is None:
                return None
            if due.reason is not Reason.LOOK_AFTER:
                if intent.next_at_us is not None and intent.next_at_us <= due.now_us:
                    await self.courier.carry_out(intent)
                return None
            await self._look_after(intent)
            return self.clock.now_us() + GLANCE_US
        except StoreUnavailable:
            raise
        except Exception as error:
            is_for_now = isinstance(error, PostroomError) and error.retryable
            if due.moment.tries + 1 < MAX_TRIES or is_for_now:
                raise
            await self._give_up(due.id, _kind_of(error))
            return None

    async def _give_up(self, intent_id: str, error: str) -> None:
        """Whatever stops this from being written down leaves the intent where it is, at its distance."""
        moment = MoveContext(self.clock.now_us(), SYSTEM, self.mint)
        await self.store.update(intent_id, lambda found: given_up(found, error, moment))
        _log.error("intent.given_up", id=intent_id, error=error)
        self.signal.ring()

    async def _look_after(self, intent: AgentIntent) -> None:
        if not intent.carried:
            return
        if not intent.is_open:
            await self.courier.send_on(intent)
            return
        moment = MoveContext(self.clock.now_us(), SYSTEM, self.mint)
        if session := await self.store.last_session(intent.id):
            await self._change(intent, lambda found: worked(found, session, moment))
            return
        rows = await self.store.deliveries(intent.id)
        statuses = [status for status, _ in rows]
        failure = next((failure for _, failure in reversed(rows) if failure), None)
        await self._change(intent, lambda found: followed(found, statuses, failure, moment))

    async def _change(self, intent: AgentIntent, decide: Callable[[AgentIntent], IntentChange]) -> None:
        change = await self.store.update(intent.id, decide)
        if change.events:
            self.signal.ring()


def _kind_of(error: Exception) -> str:
    return str(error.error_class) if isinstance(error, PostroomError) else type(error).__name__


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
        return undeliverable(asked_at_once(intent, moment.now_us), Code.DELIVERY_FAILED, words, moment)
    return failed(intent, IntentStatus.FAILED, Code.DELIVERY_FAILED, words, moment)
