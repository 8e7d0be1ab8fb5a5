"""Which other notice makes one superfluous: it says the same, or it is newer."""

from __future__ import annotations

from typing import Final

from postroom.domain.attention import AcceptedNotice, Because, rank
from postroom.domain.notice_states import OPEN, UNSENT, NoticeState
from postroom.work.attention.reasons import Scene
from postroom.work.attention.state import Standing

_LEFT: Final = frozenset({NoticeState.SENT, NoticeState.DIGESTED, NoticeState.ACKNOWLEDGED})
_COUNTS: Final = OPEN | _LEFT | {NoticeState.UNANSWERED}


def superfluous(scene: Scene) -> tuple[str, Because] | None:
    """The notice it is merged into, and why."""
    if (original := _original(scene)) is not None:
        return original, Because.DUPLICATE
    if (newer := _newer(scene)) is not None:
        return newer, Because.SUPERSEDED
    return None


def _others(scene: Scene) -> list[Standing]:
    own = scene.standing.notice.id
    return [one for one in scene.state.in_order() if one.notice.id != own and one.state in _COUNTS]


def _original(scene: Scene) -> str | None:
    """The first that said the same shortly before; asked once, when it arrives."""
    notice, window = scene.standing.notice, scene.rules.duplicate_us
    if scene.standing.state is not NoticeState.ACCEPTED or notice.key is not None or not notice.fingerprint:
        return None
    for other in _others(scene):
        one = other.notice
        same = one.agent == notice.agent and one.fingerprint == notice.fingerprint and one.order < notice.order
        if same and notice.created_us - one.created_us < window and _covers(scene, one):
            return one.id
    return None


def _newer(scene: Scene) -> str | None:
    """What is unsent gives way to any newer one of its key; what waits for an answer only to one that asks as well."""
    standing, notice = scene.standing, scene.standing.notice
    if notice.key is None:
        return None
    newer = [one for one in _others(scene) if one.notice.order > notice.order and _same_key(one.notice, notice)]
    asking = [one for one in newer if standing.state in UNSENT or one.notice.needs_ack]
    return asking[-1].notice.id if asking else None


def _same_key(one: AcceptedNotice, other: AcceptedNotice) -> bool:
    return one.agent == other.agent and one.key == other.key


def _covers(scene: Scene, other: AcceptedNotice) -> bool:
    """It is at least as urgent, and asks for an answer if this one does."""
    asks = other.needs_ack or not scene.standing.notice.needs_ack
    return asks and rank(scene.rules.urgency(other)) >= rank(scene.urgency)
