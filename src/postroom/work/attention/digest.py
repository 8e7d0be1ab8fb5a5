"""Several notices as one message, frozen when it is decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from postroom.domain.attention import AcceptedNotice, derived_id, rank
from postroom.domain.question import Urgency
from postroom.domain.record import record
from postroom.domain.time import seconds

SHOWN: Final = 10
SHOWN_BY_MAIL: Final = 35
LATE_US: Final = seconds(15 * 60)


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


@record
class Member:
    """A notice that leaves in a digest: with the urgency it has here, and how often it started over."""

    notice: AcceptedNotice
    urgency: Urgency
    round: int


def frozen(members: Sequence[Member], *, person: str, channel: str, zone: str, at_us: int, due_us: int) -> Digest:
    """Highest urgency first, then in the order they came."""
    ordered = sorted(members, key=lambda one: (-rank(one.urgency), one.notice.order))
    named = sorted(f"{one.notice.id}/{one.round}" for one in members)
    return Digest(
        id=derived_id("digest", person, channel, *named),
        person=person,
        channel=channel,
        members=tuple(one.notice.id for one in ordered),
        lines=tuple(
            DigestLine(notice=one.notice.id, agent=one.notice.agent, urgency=one.urgency, text=one.notice.text)
            for one in ordered
        ),
        zone=zone,
        at_us=at_us,
        late=at_us - due_us >= LATE_US,
    )


def render(digest: Digest, *, most: int = SHOWN) -> str:
    """Highest urgency first; ends with "and N more" when it shows fewer than it counts."""
    shown = [f"• {line.agent}: {' '.join(line.text.split())}" for line in digest.lines[:most]]
    rest = len(digest.lines) - len(shown)
    heading = f"{len(digest.lines)} notices" + (", later than planned" if digest.late else "")
    return "\n".join([heading, *shown, *([f"and {rest} more"] if rest else [])])
