"""Why a notice may not be shown at a moment, and the first moment at which nothing speaks against it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from postroom.domain.attention import Because, HoldReason
from postroom.domain.notice_states import UNSENT
from postroom.domain.risk_and_urgency import Urgency
from postroom.domain.time import seconds
from postroom.work.attention.absence import Absence
from postroom.work.attention.budget import frees_at
from postroom.work.attention.routing import route
from postroom.work.attention.rules import LONGEST_HOLD_US, PolicyBook, Rules
from postroom.work.attention.slots import next_slot
from postroom.work.attention.state import AttentionState, NoticeSend, Standing

_MOST_STEPS: Final = 200
_DIGESTED: Final = frozenset({Because.SLOT, Because.COLLECT, Because.BUDGET})


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything a judgement about one notice looks at."""

    state: AttentionState
    book: PolicyBook
    rules: Rules
    standing: Standing
    urgency: Urgency

    @classmethod
    def of(cls, state: AttentionState, book: PolicyBook, standing: Standing) -> Scene:
        rules = book.rules(state.person)
        return cls(state, book, rules, standing, rules.urgency(standing.notice))


@dataclass(frozen=True, slots=True)
class Wait:
    """`free_us`: the first moment at which nothing holds it; None when only something from outside ends it."""

    free_us: int | None
    reasons: tuple[HoldReason, ...] = ()

    @property
    def joins(self) -> bool:
        """Whether what binds is a slot or a window in which notices are collected."""
        return any(one.reason in _DIGESTED and one.until_us == self.free_us for one in self.reasons)


def waits(scene: Scene, now_us: int) -> Wait:
    """
    From the latest reason of each moment to the next, until none is left.

    A reason counts without a break until its own end, so no free moment is jumped over: asked again at any moment in
    between, the answer is the same.
    """
    at, found = now_us, dict[Because, HoldReason]()
    for _ in range(_MOST_STEPS):
        reasons = tuple(reasons_at(scene, at))
        if not reasons:
            break
        found |= {one.reason: one for one in reasons}
        ends = [one.until_us for one in reasons if one.until_us is not None]
        if len(ends) < len(reasons):
            return Wait(None, tuple(found.values()))
        at = min(max(ends), _next_change(scene, at) or max(ends))
    return Wait(at, tuple(found.values()))


def reasons_at(scene: Scene, at_us: int) -> Iterator[HoldReason]:
    """In the order of the stages."""
    standing, absence = scene.standing, away(scene, at_us)
    if standing.parked:
        yield HoldReason(Because.APPROVAL)
    if standing.returned_until_us is not None and standing.returned_until_us > at_us:
        yield HoldReason(Because.RETURNED, standing.returned_until_us)
    if absence is not None and not absence.delegates(standing.notice.category):
        yield HoldReason(Because.AWAY, absence.end_us)
    if standing.snoozed and (standing.snoozed_until_us is None or standing.snoozed_until_us > at_us):
        yield HoldReason(Because.SNOOZE, standing.snoozed_until_us)
    yield from _bounded(scene, at_us)
    way = route(scene.state, scene.rules, standing.notice.channel, at_us)
    if way.channel is None:
        yield HoldReason(Because.CHANNEL, way.until_us)


def longest_us(scene: Scene, at_us: int) -> int:
    """No policy holds a notice longer than its urgency allows; what the person asked for does not count."""
    return _since(scene, at_us) + LONGEST_HOLD_US[scene.urgency]


def recipient(scene: Scene, at_us: int) -> str:
    absence = away(scene, at_us)
    delegated = absence is not None and absence.delegates(scene.standing.notice.category)
    return absence.delegate or "" if absence is not None and delegated else scene.state.person


def away(scene: Scene, at_us: int) -> Absence | None:
    """The absence that counts for this notice: one hop, and what may pass is as if the person were there."""
    absence = next((one for one in scene.state.absences if one.covers(at_us)), None)
    if absence is None or scene.urgency in absence.let_pass:
        return None
    passes = scene.urgency is Urgency.CRITICAL and not absence.delegates(scene.standing.notice.category)
    return None if passes else absence


def opened_by(scene: Scene, at_us: int) -> NoticeSend | None:
    """The send that opened the collect window in which this notice falls at that moment."""
    notice, window_us = scene.standing.notice, seconds(scene.rules.collect.window_seconds)
    if not collectable(scene):
        return None
    opening = (
        one
        for one in scene.state.sends.values()
        if one.leading and one.at_us <= at_us < one.at_us + window_us and not one.returned
    )
    mine = (one for one in opening if (one.agent, one.thread, one.channel) == _place(scene.standing))
    return max((one for one in mine if notice.id not in one.notices), key=lambda one: one.at_us, default=None)


def collectable(scene: Scene) -> bool:
    normal = scene.urgency is Urgency.NORMAL and not _slotted(scene)
    return normal and not scene.standing.notice.needs_ack and scene.rules.collect.window_seconds > 0


def slot_reached(scene: Scene, now_us: int) -> int | None:
    """The moment of the slot by which it leaves, if it waited for one."""
    over = scene.standing.over_us
    since = over if over is not None else _since(scene, now_us) if _slotted(scene) else None
    slot = _slot_after(scene, since) if since is not None else None
    return slot if slot is not None and slot <= now_us else None


def at_slot(scene: Scene, now_us: int) -> bool:
    """Whether this very moment is a slot, for what was there before it."""
    return _since(scene, now_us) < now_us == _slot_after(scene, now_us - 1)


def _place(standing: Standing) -> tuple[str, str | None, str]:
    return standing.notice.agent, standing.notice.thread, standing.notice.channel


def _bounded(scene: Scene, at_us: int) -> Iterator[HoldReason]:
    """What a policy holds, each until its own end and never beyond the longest hold."""
    longest = longest_us(scene, at_us)
    if longest <= at_us:
        return
    for reason, until in _policy_reasons(scene, at_us):
        if until is not None and until > at_us:
            yield HoldReason(reason, min(until, longest))


def _policy_reasons(scene: Scene, at_us: int) -> Iterator[tuple[Because, int | None]]:
    yield Because.QUIET, scene.book.rules(recipient(scene, at_us)).quiet_until(scene.urgency, at_us)
    yield Because.BUDGET, _budget_until(scene, at_us)
    if _slotted(scene):
        yield Because.SLOT, _slot_after(scene, _since(scene, at_us))
    window = opened_by(scene, at_us)
    if window is not None and not _full(scene):
        yield Because.COLLECT, window.at_us + seconds(scene.rules.collect.window_seconds)


def _budget_until(scene: Scene, at_us: int) -> int | None:
    since = scene.standing.over_us
    if since is None:
        return None
    return _slot_after(scene, since) or frees_at(scene.state, scene.rules, scene.standing.notice.agent, at_us)


def _slotted(scene: Scene) -> bool:
    return bool(scene.rules.slots) and scene.urgency in scene.rules.slotted


def _slot_after(scene: Scene, after_us: int) -> int | None:
    rules = scene.rules
    return next_slot(rules.slots, rules.quiet_hours, rules.zone, after_us, scene.state.slots_used)


def _full(scene: Scene) -> bool:
    """As many wait for this window as it may hold."""
    waiting = [
        one for one in scene.state.notices.values() if one.state in UNSENT and _place(one) == _place(scene.standing)
    ]
    members = (one for one in waiting if collectable(Scene.of(scene.state, scene.book, one)))
    return sum(1 for _ in members) >= (scene.rules.collect.most or 1)


def _since(scene: Scene, at_us: int) -> int:
    """From when on its holding counts: from its arrival, or from the end of what the person asked for."""
    standing = scene.standing
    asked = [standing.snoozed_until_us or 0, *(one.end_us for one in scene.state.absences)]
    return max([standing.notice.created_us, *(end for end in asked if end <= at_us)])


def _next_change(scene: Scene, at_us: int) -> int | None:
    """When the person leaves or returns, everything is asked anew."""
    ends = [moment for one in scene.state.absences for moment in (one.start_us, one.end_us)]
    return min((moment for moment in ends if moment > at_us), default=None)
