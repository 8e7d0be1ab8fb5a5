"""A digest of notices: which leave in one message, in which order and words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from postroom.kernel.values.ids import record, seconds
from postroom.message.delivery import Intent
from postroom.message.outgoing import Outgoing, known_as
from postroom.message.wire import plain_words
from postroom.message.wishes import AcceptedNotice, Urgency, derived_id, rank

_LATE_US: Final = seconds(15 * 60)
MOST_CHARACTERS: Final = 50_000  # of one digest; how many messages that is, its channel knows
_FIRST: Final = 10  # lines of which each agent has its share
_LONGEST: Final = 4_000  # characters; what says more, or is more than words, is a message of its own
_ONE_LINE: Final = 200


@record
class Digest:
    """`id` is derived from person, channel and members; `late`: it left a quarter of an hour or more after its time."""

    id: str
    person: str
    channel: str
    members: tuple[str, ...]
    late: bool = False


@record
class Member:
    """A notice that leaves in a digest: with the urgency it has here, and how often it started over."""

    notice: AcceptedNotice
    urgency: Urgency
    round: int


def frozen(members: Sequence[Member], *, person: str, channel: str, at_us: int, due_us: int) -> Digest:
    named = sorted(f"{one.notice.id}/{one.round}" for one in members)
    return Digest(
        id=derived_id("digest", person, channel, *named),
        person=person,
        channel=channel,
        members=tuple(one.notice.id for one in _in_order(members)),
        late=at_us - due_us >= _LATE_US,
    )


def shared_out(members: Sequence[Member]) -> list[list[Member]]:
    """As many digests as they need, each with a receipt of its own; what takes no line is alone in one, at the end."""
    digests, alone, room = list[list[Member]](), list[list[Member]](), 0
    for one in _in_order(members):
        if one.notice.room is None:
            alone.append([one])
            continue
        room -= one.notice.room
        if room < 0:
            digests.append([])
            room = MOST_CHARACTERS - one.notice.room
        digests[-1].append(one)
    return digests + alone


def _in_order(members: Iterable[Member]) -> list[Member]:
    """
    Highest urgency first, and of one urgency the agents by turns, each beginning with its oldest.

    The first lines are shared out before that, so that no agent fills them alone, however urgent it says it is.
    """
    turns: dict[str, int] = {}
    by_turns: list[tuple[int, Member]] = []
    for one in sorted(members, key=lambda one: (-rank(one.urgency), one.notice.order)):
        turns[one.notice.agent] = turns.get(one.notice.agent, 0) + 1
        by_turns.append((turns[one.notice.agent], one))
    by_turns.sort(key=lambda pair: pair[0])  # of one turn still the most urgent first
    halves = (by_turns[:_FIRST], by_turns[_FIRST:])
    return [one for half in halves for _, one in sorted(half, key=lambda pair: -rank(pair[1].urgency))]


def line_of(asked: Outgoing) -> str:
    """All that it says, and nothing twice. A text of several lines cannot pass for lines of others."""
    words, subject = plain_words(asked.message, asked.format).strip(), (asked.subject or "").strip()
    kind, colon, start = subject.partition(": ")
    if colon and " ".join(words.split()).startswith(start.removesuffix("...")):
        words = f"{kind}: {words}"  # a subject that begins to say the same
    elif subject:
        words = f"{subject}: {words}"
    if len(words) <= _ONE_LINE:
        words = " ".join(words.split())
    return f"• {known_as(asked.origin_butler)}: " + "\n  | ".join(words.splitlines())


def room_of(asked: Outgoing) -> int | None:
    """How many characters its line takes; None when no line can stand for it."""
    words_only = asked.intent is Intent.SEND and not asked.attachments and asked.markup is None
    if not words_only or len(asked.message) + len(asked.subject or "") > _LONGEST:
        return None
    return len(line_of(asked)) + 1


def subject(digest: Digest) -> str:
    return f"{len(digest.members)} notices"


def render(digest: Digest, asked: Iterable[Outgoing]) -> str:
    heading = subject(digest) + (", later than planned" if digest.late else "")
    return "\n".join([heading, *map(line_of, asked)])
