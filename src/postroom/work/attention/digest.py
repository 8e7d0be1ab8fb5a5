"""Several notices as one message, frozen when it is decided."""

from __future__ import annotations

from postroom.domain.question import Urgency
from postroom.domain.record import record


@record
class DigestLine:
    notice: str
    agent: str
    urgency: Urgency
    text: str


@record
class Digest:
    """`id` is derived from person, channel and members; `late`: it left a quarter of an hour or more after its time."""

    id: str
    person: str
    channel: str
    members: tuple[str, ...]
    lines: tuple[DigestLine, ...]
    zone: str
    at_us: int
    late: bool = False


def render(digest: Digest, *, most: int = 10) -> str:
    """Highest urgency first; ends with "and N more" when it shows fewer than it counts."""
    raise NotImplementedError
