"""What a person muted."""

from __future__ import annotations

from postroom.work.attention.reasons import Scene
from postroom.work.attention.state import Silence


def silenced(scene: Scene, now_us: int) -> Silence | None:
    """The silence that covers this notice; what is mandatory can be timed, but not muted."""
    notice = scene.standing.notice
    if notice.category in scene.rules.mandatory:
        return None
    labels = (notice.agent, notice.thread, notice.category)
    lasting = (one for one in scene.state.silences if one.until_us is None or one.until_us > now_us)
    return next((one for one in lasting if _covers((one.agent, one.thread, one.category), labels)), None)


def _covers(asked: tuple[str | None, ...], labels: tuple[str | None, ...]) -> bool:
    return all(wanted is None or wanted == label for wanted, label in zip(asked, labels, strict=True))
