"""What follows when a notice that needs an answer has none: repeat it, take it further, or give up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from postroom.domain.attention import Because, rank
from postroom.domain.risk_and_urgency import Urgency
from postroom.domain.time import seconds
from postroom.work.attention.decisions import DecisionKind
from postroom.work.attention.policy import EscalationStep
from postroom.work.attention.quiet import after_open_time
from postroom.work.attention.reasons import Scene

REPEATED_FOR_US: Final = seconds(3 * 3600)
LAST_CHANCE_US: Final = seconds(600)  # for the one who was reached last
WAITED_FOR_US: Final = seconds(72 * 3600)  # when it is not urgent enough to be repeated
_ROUNDS: Final = 8


@dataclass(frozen=True, slots=True)
class FollowUp:
    """The next thing that happens by itself. `person` None for a step that reaches no one."""

    at_us: int
    kind: DecisionKind
    because: Because
    step: str | None = None
    person: str | None = None
    channel: str | None = None


def next_due(scene: Scene) -> FollowUp | None:
    """The earliest; of those due at one moment the repeat comes first. None while only a receipt can go on."""
    found = [due for due in (_repeat(scene), _step(scene), _give_up(scene)) if due is not None]
    return min(found, key=lambda due: due.at_us, default=None)


def _urgent(scene: Scene) -> bool:
    return rank(scene.standing.urgency) >= rank(Urgency.TIME_SENSITIVE)


def _repeat(scene: Scene) -> FollowUp | None:
    standing, gaps = scene.standing, scene.rules.repeat_seconds
    if not _urgent(scene) or not gaps or standing.last_us is None or standing.first_us is None:
        return None
    if scene.state.pending(standing.repeat_send):
        return None
    at = standing.last_us + seconds(gaps[min(standing.repeats, len(gaps) - 1)])
    at = scene.rules.quiet_until(standing.urgency, at) or at
    if at > standing.first_us + REPEATED_FOR_US:
        return None
    person, channel = standing.reached[0]
    return FollowUp(at, DecisionKind.REPEAT, Because.REPEAT, person=person, channel=channel)


def _remaining(scene: Scene) -> EscalationStep | None:
    """By id: an edited chain neither pages again nor skips."""
    return next((step for step in scene.rules.escalation if step.id not in scene.standing.steps), None)


def _step(scene: Scene) -> FollowUp | None:
    """Counted from the receipt of the step before, so a machine that slept takes one step and not three."""
    standing, step = scene.standing, _remaining(scene)
    if not _urgent(scene) or step is None or standing.step_us is None or scene.state.pending(standing.step_send):
        return None
    at, person = _step_time(scene, step, standing.step_us)
    channel = step.channel or standing.notice.channel
    if person is None or (person, channel) in standing.reached:
        return FollowUp(at, DecisionKind.ESCALATE, Because.EMPTY_STEP, step=step.id)
    return FollowUp(at, DecisionKind.ESCALATE, Because.STEP, step=step.id, person=person, channel=channel)


def _step_time(scene: Scene, step: EscalationStep, from_us: int) -> tuple[int, str | None]:
    """Who is on duty depends on when, and when depends on whose quiet hours let the clock stand still."""
    urgency, delay = scene.standing.urgency, seconds(step.after_seconds)
    at = from_us + delay
    for _ in range(_ROUNDS):
        person = scene.book.someone(step.person, at) if step.person else scene.state.person
        if person is None:
            return at, None
        rules = scene.book.rules(person)
        moved = from_us + delay
        if not rules.passes(urgency):
            moved = after_open_time(rules.quiet_hours, rules.zone, from_us, delay)
            moved = rules.quiet_until(urgency, moved) or moved
        if moved <= at:
            return at, person
        at = moved
    return at, person


def _give_up(scene: Scene) -> FollowUp | None:
    """When every step is taken and the last one reached has had a chance, or when it is no longer worth an answer."""
    standing, expires = scene.standing, scene.rules.expiry(scene.standing.notice)
    if standing.first_us is None or standing.last_us is None:
        return None
    if not _urgent(scene):
        at = expires if expires is not None else standing.first_us + WAITED_FOR_US
        return FollowUp(at, DecisionKind.GIVE_UP, Because.UNANSWERED)
    on_its_way = scene.state.pending(standing.step_send) or scene.state.pending(standing.repeat_send)
    if _remaining(scene) is None and not on_its_way:
        at = max(standing.first_us + REPEATED_FOR_US, standing.last_us + LAST_CHANCE_US)
        if expires is None or at <= expires:
            return FollowUp(at, DecisionKind.GIVE_UP, Because.UNANSWERED)
    return FollowUp(expires, DecisionKind.GIVE_UP, Because.EXPIRED) if expires is not None else None
