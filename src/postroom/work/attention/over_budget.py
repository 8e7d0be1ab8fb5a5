"""What happens to a notice whose agent has used up what it may interrupt."""

from __future__ import annotations

from dataclasses import dataclass, replace

from postroom.domain.risk_and_urgency import Urgency
from postroom.work.attention.budget import frees_at
from postroom.work.attention.reasons import Scene, Wait, at_slot, longest_us, slot_reached, waits


@dataclass(frozen=True, slots=True)
class Over:
    """Without a `wait` it is sent all the same, and marked."""

    wait: Wait | None


def over_budget(scene: Scene, now_us: int) -> Over | None:
    """Asked once, when nothing else holds it: afterwards it leaves at its slot, or when the budget frees."""
    standing = scene.standing
    counted = scene.urgency in (Urgency.NORMAL, Urgency.TIME_SENSITIVE)
    if not counted or standing.over_us is not None or slot_reached(scene, now_us) is not None:
        return None
    if frees_at(scene.state, scene.rules, standing.notice.agent, now_us) is None:
        return None
    if scene.urgency is Urgency.TIME_SENSITIVE or standing.notice.needs_ack or longest_us(scene, now_us) <= now_us:
        return Over(None)
    if at_slot(scene, now_us):
        return None
    wait = waits(replace(scene, standing=replace(standing, over_us=now_us)), now_us)
    return Over(wait if wait.free_us != now_us else None)
