"""What a person muted, and what they hear when that ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from postroom.domain.attention import AcceptedNotice
from postroom.domain.record import altered
from postroom.work.attention.reasons import Scene
from postroom.work.attention.state import Silence

MUTES: Final = "attention.mutes"  # who tells of it; no butler's name has a dot


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
