"""What a person did on a channel that could be an answer: pressed a button, or wrote something."""

from __future__ import annotations

from dataclasses import dataclass, field

from postroom.domain.answer_attempt import Flag
from postroom.domain.question_answer import Assurance


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    """`places` are all addresses of the chat it was pressed in, `sender` is who pressed, by the channel's own proof."""

    channel: str
    event_id: str
    callback_id: str
    places: tuple[str, ...]
    sender: str | None
    token: str = field(repr=False)
    flags: frozenset[Flag] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """`alone`: only the person and we are there. `said_at_us` is the provider's time, `assurance` the sender's."""

    channel: str
    event_id: str
    places: tuple[str, ...]
    sender: str | None
    message_id: str
    text: str = field(repr=False)
    replies_to: str | None = None
    alone: bool = False
    said_at_us: int | None = None
    flags: frozenset[Flag] = frozenset()
    assurance: Assurance = Assurance.CHANNEL
