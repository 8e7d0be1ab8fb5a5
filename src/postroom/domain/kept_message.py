"""What a person wrote to us, as it is kept, with what was decided about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from postroom.domain.conversation_states import InboundStatus
from postroom.domain.delivery import Format
from postroom.domain.inbound_message import InboundMessage


class RouteKind(StrEnum):
    ANSWER = "answer"  # it answers what was asked
    BUTLER = "butler"
    CHOICE = "choice"  # the person is to say which butler is meant
    NO_MODEL = "no_model"  # no butler can answer
    COMMAND = "command"  # answered without a model
    UNKNOWN = "unknown"  # begins like a command or a butler's name, and there is none
    IGNORED = "ignored"  # not meant for us, or not a person's own words
    STRANGER = "stranger"
    LIMIT = "limit"  # too many sessions for one day


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedMessage:
    """Where a message goes, and why; `target` is a butler, `words` what it is given."""

    kind: RouteKind
    target: str | None = None
    reason: str
    words: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptMessage:
    """`id` is the request under which everything done for it is found."""

    id: str
    message: InboundMessage
    received_us: int
    status: InboundStatus = InboundStatus.RECEIVED
    person: str | None = None
    kind: RouteKind | None = None
    target: str | None = None
    reason: str = ""
    session_id: str | None = None
    changed_us: int = 0

    @property
    def conversation(self) -> tuple[str | None, str, str]:
        """Within it one message is answered after the other."""
        return self.person, self.message.channel, self.message.places[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentBefore:
    """A message of ours; `by` is the butler for whom it was sent, else who sent it: a program, the household itself."""

    id: str
    by: str
    address: str
    text: str = field(repr=False)
    format: Format
    subject: str | None = field(default=None, repr=False)
    at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenTurn:
    """One thing that was said in a conversation."""

    by: str
    text: str = field(repr=False)
    at_us: int
