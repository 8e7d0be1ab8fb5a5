"""Where a notice goes when it leaves, and what has to be said with it."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.domain.attention import Because, HoldReason
from postroom.domain.risk_and_urgency import Urgency
from postroom.work.attention.facts import SendOutcome
from postroom.work.attention.reasons import Scene, longest_us, recipient, slot_reached
from postroom.work.attention.routing import PATIENCE_US, another, route
from postroom.work.attention.slots import slots_at
from postroom.work.attention.state import NoticeSend, Standing


@dataclass(frozen=True, slots=True)
class Leaving:
    """`marks`: what was not as its agent asked. `due_us`: when it could have left. `slots`: those it leaves by."""

    standing: Standing
    urgency: Urgency
    person: str
    channel: str
    marks: tuple[HoldReason, ...]
    due_us: int
    slots: tuple[tuple[str, int], ...]

    @property
    def alone(self) -> bool:
        """What asks for an answer has a card of its own."""
        return self.standing.notice.needs_ack or self.urgency is Urgency.CRITICAL


def leaving(scene: Scene, now_us: int) -> Leaving:
    standing, rules = scene.standing, scene.rules
    way = route(scene.state, rules, standing.notice.channel, now_us)
    slot = slot_reached(scene, now_us)
    names = slots_at(rules.slots, rules.quiet_hours, rules.zone, slot) if slot is not None else ()
    return Leaving(
        standing=standing,
        urgency=scene.urgency,
        person=recipient(scene, now_us),
        channel=way.channel or standing.notice.channel,
        marks=tuple(_marks(scene, way.channel, now_us)),
        due_us=standing.until_us if standing.until_us is not None else now_us,
        slots=tuple((name, slot) for name in names) if slot is not None else (),
    )


def _marks(scene: Scene, channel: str | None, now_us: int) -> list[HoldReason]:
    standing = scene.standing
    found = [
        (Because.CEILING, scene.urgency is not standing.notice.urgency),
        (Because.CHANNEL, channel != standing.notice.channel),
        (Because.LONGEST_HOLD, standing.until_us is not None and standing.until_us == longest_us(scene, now_us)),
    ]
    return [HoldReason(reason) for reason, counts in found if counts]


@dataclass(frozen=True, slots=True)
class Detour:
    """Another channel for what was sent, or none when there is none left; `at_us` is when it is taken."""

    at_us: int
    channel: str | None
    because: Because


def detour(scene: Scene, send: NoticeSend) -> Detour | None:
    """After a send that failed finally, or one without a receipt whose channel stays down."""
    other = another(scene.state, scene.rules, scene.standing.tried)
    if send.outcome is SendOutcome.FAILED:
        return Detour(send.receipt_us or 0, other, Because.FAILED)
    if send.pending and other is not None and send.channel in scene.state.down:
        return Detour(scene.state.down[send.channel] + PATIENCE_US, other, Because.CHANNEL)
    return None
