"""Why a notice may not be shown at a moment, and the first moment at which nothing speaks against it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import time, timedelta
from typing import Final

from postroom.attention.model import UNSENT
from postroom.attention.rules.policy import LONGEST_HOLD_US, Absence, PolicyBook, Rules
from postroom.attention.rules.times import next_slot
from postroom.attention.state import AttentionState, NoticeSend, SendKind, Silence, Standing
from postroom.kernel.values.ids import altered, seconds, to_datetime, to_us
from postroom.kernel.values.zones import instant, known_zone
from postroom.message.wishes import AcceptedNotice, Because, HoldReason, Urgency

_HOUR_US: Final = seconds(3600)
PATIENCE_US: Final = seconds(120)
MUTES: Final = "attention.mutes"  # who tells of it; no butler's name has a dot
_COUNTED: Final = (Urgency.NORMAL, Urgency.TIME_SENSITIVE)
_MOST_STEPS: Final = 200
_NEVER_US: Final = 2**62
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
        reasons = tuple(_reasons_at(scene, at))
        if not reasons:
            break
        found |= {one.reason: one for one in reasons}
        ends = [one.until_us for one in reasons if one.until_us is not None]
        if len(ends) < len(reasons):
            return Wait(None, tuple(found.values()))
        at = min(max(ends), _next_change(scene, at) or max(ends))
    return Wait(at, tuple(found.values()))


def _reasons_at(scene: Scene, at_us: int) -> Iterator[HoldReason]:
    """In the order of the stages."""
    standing, absence = scene.standing, away(scene, at_us)
    if standing.returned_until_us is not None and standing.returned_until_us > at_us:
        yield HoldReason(Because.RETURNED, standing.returned_until_us)
    if absence is not None and not absence.delegates(standing.notice.category):
        yield HoldReason(Because.AWAY, absence.end_us)
    if standing.snoozed_until_us is not None and standing.snoozed_until_us > at_us:
        yield HoldReason(Because.SNOOZE, standing.snoozed_until_us)
    yield from _bounded(scene, at_us)
    way = route(scene.state, scene.rules, standing.notice.channel, at_us)
    if way.channel is None:
        yield HoldReason(Because.CHANNEL, way.until_us)


def longest_us(scene: Scene, at_us: int) -> int:
    """
    No policy holds a notice longer than its urgency allows; what the person asked for does not count.

    A copy waits for the whole of quiet hours: what it says is shown already.
    """
    if scene.standing.notice.apart is not None:
        return _NEVER_US
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
    if not _collectable(scene):
        return None
    opening = (
        one
        for one in scene.state.sends.values()
        if one.leading and one.at_us <= at_us < one.at_us + window_us and not one.returned
    )
    mine = (one for one in opening if (one.agent, one.thread, one.channel) == place_of(scene.standing))
    return max((one for one in mine if notice.id not in one.notices), key=lambda one: one.at_us, default=None)


def _collectable(scene: Scene) -> bool:
    normal = scene.urgency is Urgency.NORMAL and not _slotted(scene)
    return normal and not scene.standing.notice.needs_ack and scene.rules.collect.window_seconds > 0


def slot_reached(scene: Scene, now_us: int) -> int | None:
    """The moment of the slot by which it leaves, if it waited for one."""
    over = scene.standing.over_us
    since = over if over is not None else _since(scene, now_us) if _slotted(scene) else None
    slot = _slot_after(scene, since) if since is not None else None
    return slot if slot is not None and slot <= now_us else None


def _at_slot(scene: Scene, now_us: int) -> bool:
    """Whether this very moment is a slot, for what was there before it."""
    return _since(scene, now_us) < now_us == _slot_after(scene, now_us - 1)


def place_of(standing: Standing) -> tuple[str, str | None, str]:
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
    return _slot_after(scene, since) or _frees_at(scene.state, scene.rules, scene.standing.notice.agent, at_us)


def _slotted(scene: Scene) -> bool:
    return bool(scene.rules.slots) and scene.urgency in scene.rules.slotted


def _slot_after(scene: Scene, after_us: int) -> int | None:
    rules = scene.rules
    return next_slot(rules.slots, rules.quiet_hours, rules.zone, after_us, scene.state.slots_used)


def _full(scene: Scene) -> bool:
    """As many wait for this window as it may hold."""
    waiting = [
        one for one in scene.state.notices.values() if one.state in UNSENT and place_of(one) == place_of(scene.standing)
    ]
    members = (one for one in waiting if _collectable(Scene.of(scene.state, scene.book, one)))
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


# -- Which channel it leaves by: its own, or another when that one is down --


@dataclass(frozen=True, slots=True)
class Way:
    """Without a channel: when another may be chosen, None for as soon as one is up."""

    channel: str | None
    until_us: int | None = None


def route(state: AttentionState, rules: Rules, wanted: str, at_us: int) -> Way:
    """A channel that is down gets a little time to come back before another takes its place."""
    if wanted not in state.down:
        return Way(wanted)
    other = another(state, rules, (wanted,))
    given_up = state.down[wanted] + PATIENCE_US
    if other is None:
        return Way(None)
    return Way(other) if at_us >= given_up else Way(None, given_up)


def another(state: AttentionState, rules: Rules, tried: tuple[str, ...]) -> str | None:
    return next((one for one in rules.fallback if one not in tried and one not in state.down), None)


# -- How often one agent may interrupt a person: in a sliding hour, and in the person's local day --


def _frees_at(state: AttentionState, rules: Rules, agent: str, at_us: int) -> int | None:
    """When the agent may interrupt again, or None when it may at this moment."""
    past = sorted(moment for moment in _interruptions(state, agent) if moment <= at_us)
    hour = _hour_frees(past, rules.budget.per_hour, at_us)
    day = _day_frees(past, rules, at_us)
    return max((moment for moment in (hour, day) if moment is not None), default=None)


def _interruptions(state: AttentionState, agent: str) -> list[int]:
    """Each notice counts once, by the moment it left; digests, repeats and steps do not count."""
    sends = (one for one in state.sends.values() if one.kind is SendKind.NOTICE and one.agent == agent)
    return [one.at_us for one in sends if one.urgency in _COUNTED and not one.returned and not one.replaced]


def _hour_frees(past: list[int], limit: int | None, at_us: int) -> int | None:
    recent = [moment for moment in past if moment > at_us - _HOUR_US]
    if limit is None or len(recent) < limit:
        return None
    return recent[-limit] + _HOUR_US if limit else at_us + _HOUR_US


def _day_frees(past: list[int], rules: Rules, at_us: int) -> int | None:
    """Counted by the moments that lie in the local day as it is now, so a journey does not start it twice."""
    limit, zone = rules.budget.per_day, known_zone(rules.zone)
    if limit is None:
        return None
    today = to_datetime(at_us).astimezone(zone).date()
    start, end = (to_us(instant(today + timedelta(days=days), time(0), zone, last=False)) for days in (0, 1))
    return end if sum(1 for moment in past if moment >= start) >= limit else None


@dataclass(frozen=True, slots=True)
class Over:
    """Without a `wait` it is sent all the same, and marked."""

    wait: Wait | None


def over_budget(scene: Scene, now_us: int) -> Over | None:
    """Asked once, when nothing else holds it: afterwards it leaves at its slot, or when the budget frees."""
    standing = scene.standing
    if scene.urgency not in _COUNTED or standing.over_us is not None or slot_reached(scene, now_us) is not None:
        return None
    if _frees_at(scene.state, scene.rules, standing.notice.agent, now_us) is None:
        return None
    if scene.urgency is Urgency.TIME_SENSITIVE or standing.notice.needs_ack or longest_us(scene, now_us) <= now_us:
        return Over(None)
    if _at_slot(scene, now_us):
        return None
    wait = waits(replace(scene, standing=replace(standing, over_us=now_us)), now_us)
    return Over(wait if wait.free_us != now_us else None)


# -- What a person muted, and what they hear when that ends --


def silenced(scene: Scene, now_us: int) -> Silence | None:
    """The silence that covers this notice; what is mandatory can be timed, but not muted."""
    notice = scene.standing.notice
    if notice.category in scene.rules.mandatory:
        return None
    return next((one for one in scene.state.silences if one.covers(notice, now_us)), None)


def counted(silences: Iterable[Silence], notice: AcceptedNotice, at_us: int) -> tuple[Silence, ...]:
    """With this notice among what the first of those that cover it kept from the person."""
    found = list(silences)
    place = next((place for place, one in enumerate(found) if one.covers(notice, at_us)), None)
    if place is not None:
        missed = dict(found[place].missed)
        missed[notice.agent] = missed.get(notice.agent, 0) + 1
        found[place] = altered(found[place], missed=tuple(missed.items()), channel=notice.channel)
    return tuple(found)


def missed_words(silence: Silence) -> str:
    named = zip(("", "thread ", "category "), silence.what, strict=True)
    what = ", ".join(f"{kind}{name}" for kind, name in named if name is not None)
    many = ", ".join(f"{count} of {agent}" for agent, count in silence.missed)
    return f"No longer muted: {what}. Not shown meanwhile: {many}. The console keeps them, under Attention."
