"""Which other notice makes one superfluous: it says the same, it is newer, or it speaks for the whole."""

from __future__ import annotations

from typing import Final

from postroom.domain.attention import AcceptedNotice, Because, rank
from postroom.domain.notice_states import OPEN, UNSENT, NoticeState
from postroom.domain.time import seconds
from postroom.work.attention.reasons import Scene
from postroom.work.attention.state import Standing

_LEFT: Final = frozenset({NoticeState.SENT, NoticeState.DIGESTED, NoticeState.DONE, NoticeState.ACKNOWLEDGED})
_COUNTS: Final = OPEN | _LEFT | {NoticeState.UNANSWERED}
PARENT_SPEAKS_US: Final = seconds(1800)  # how long after it left a parent's notice still stands for its children


def superfluous(scene: Scene, now_us: int) -> tuple[str, Because] | None:
    """The notice it is merged into, and why."""
    if (original := _original(scene)) is not None:
        return original, Because.DUPLICATE
    if (newer := _newer(scene)) is not None:
        return newer, Because.SUPERSEDED
    if (parent := _parent(scene, now_us)) is not None:
        return parent, Because.PARENT
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


def _parent(scene: Scene, now_us: int) -> str | None:
    """A missing label matches nothing; two that would each be the other's parent do not silence one another."""
    notice = scene.standing.notice
    if scene.standing.state not in UNSENT or notice.parent is None:
        return None
    for other in _others(scene):
        one = other.notice
        both = _is_own_parent(notice) and _is_own_parent(one)
        if one.source == notice.parent and not both and _speaks(other, now_us) and _covers(scene, one):
            return one.id
    return None


def _is_own_parent(notice: AcceptedNotice) -> bool:
    return notice.source is not None and notice.source == notice.parent


def _speaks(parent: Standing, now_us: int) -> bool:
    if parent.state in OPEN:
        return True
    return parent.last_us is not None and now_us - parent.last_us < PARENT_SPEAKS_US


def _covers(scene: Scene, other: AcceptedNotice) -> bool:
    """It is at least as urgent, and asks for an answer if this one does."""
    asks = other.needs_ack or not scene.standing.notice.needs_ack
    return asks and rank(scene.rules.urgency(other)) >= rank(scene.urgency)
