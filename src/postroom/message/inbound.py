"""What comes in on a channel, whatever the provider calls its parts: words, a pressed button, news of our messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from postroom.kernel.values.ids import DeliveryId
from postroom.message.attachment import Attachment


class Flag(StrEnum):
    """Marks of a message that never answers."""

    FORWARDED = "forwarded"
    BOT = "bot"
    ANONYMOUS = "anonymous"
    AUTOMATIC = "automatic"  # an absence note, a bounce
    UNVERIFIED = "unverified"  # no proof that the sender is who they say


class Assurance(StrEnum):
    """How far it is certain that this very person acted; in rising order."""

    NONE = "none"
    LOW = "low"  # the sender's address could be forged
    CHANNEL = "channel"  # a verified identity on that channel
    SIGNED_IN = "signed_in"  # a token or a session of the person's own

    @property
    def rank(self) -> int:
        return list(Assurance).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundFile:
    """
    A file that came with what a person wrote, still at the provider's under `reference`.

    Once it is brought, `content` holds it, or `problem` says to the person why it cannot be had.
    """

    reference: str = field(default="", repr=False)
    name: str = field(default="", repr=False)
    size: int | None = None
    content: bytes | None = field(default=None, repr=False)
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundMessage:
    channel: str
    number: int
    """The provider's own count, for logs and ids; 0 when it gave none."""
    message_id: str
    places: tuple[str, ...]
    """Every address the place is known by, its own id first."""
    sender: str | None = None
    """Who wrote it, by the channel's own proof; None for bots."""
    text: str | None = field(default=None, repr=False)
    replies_to: str | None = None
    """The provider's id of our message that is answered."""
    answers: DeliveryId | None = None
    """Our own name of that message, where the channel knows it."""
    alone: bool = False
    """A person wrote it where only they and we are."""
    addressed: bool = False
    """Written to us by name, or as a reply to us, where others are as well."""
    said_at_us: int | None = None
    """By the provider's clock."""
    flags: frozenset[Flag] = frozenset()
    assurance: Assurance = Assurance.CHANNEL
    original: str | None = field(default=None, repr=False)
    """As it was written, with the quotes and signatures that `text` is without; where the channel cuts any."""

    subject: str | None = field(default=None, repr=False)
    """Of a letter, without what marks it as an answer; one line."""
    offers: tuple[InboundFile, ...] = ()
    """What came with the words, and is not fetched yet."""
    files: tuple[Attachment, ...] = ()
    """What came with the words, and is kept."""

    @property
    def author(self) -> str | None:
        """The person whose own words these are; None for bots, forwarded words and those who hide behind a chat."""
        return None if self.flags else self.sender

    @property
    def event_id(self) -> str:
        return f"message:{self.thread_identity}"

    @property
    def thread_identity(self) -> str:
        return f"{self.places[0]}:{self.message_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    """
    `places` are all addresses of the chat it was pressed in, `sender` is who pressed, by the channel's own proof.

    `callback_id` may let whoever knows it speak to that person for a while, so it is not shown either.
    """

    channel: str
    event_id: str
    callback_id: str = field(repr=False)
    places: tuple[str, ...]
    sender: str | None
    token: str = field(repr=False)
    message_id: str | None = None
    """The provider's id of the message it was pressed on, where it says so."""
    flags: frozenset[Flag] = frozenset()
    assurance: Assurance = Assurance.CHANNEL
    """Lower where the channel proves less than an account of the person's own."""


class NewsKind(StrEnum):
    BOUNCED = "bounced"
    FAILED = "failed"
    DELAYED = "delayed"
    READ = "read"
    DELETED = "deleted"


BAD_NEWS: Final = frozenset({NewsKind.BOUNCED, NewsKind.FAILED})
"""What whoever sent the message is to hear of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LateNews:
    """
    What a provider says about a message of ours after it had taken it.

    It names the message by our id or by its own; `places` are the addresses it stands at, as far as they are known.
    """

    channel: str
    event_id: str
    """The provider's own name for this piece of news: the same one again is no news."""
    kind: NewsKind
    at_us: int
    words: str = field(default="", repr=False)
    delivery_id: DeliveryId | None = None
    provider_id: str | None = None
    places: tuple[str, ...] = ()
    recipients: tuple[str, ...] = ()
    """Whom a report names, folded: one that does not name the address we wrote to is none. Empty: it names no one."""
    for_good: bool = False
    """There is no such address, or no more."""

    def __post_init__(self) -> None:
        if (self.delivery_id is None) == (self.provider_id is None):
            raise ValueError("news names a message by our id or by the provider's")


InboundEvent = InboundMessage | Press | LateNews


@dataclass(frozen=True, slots=True, kw_only=True)
class Listened:
    """One look into a channel."""

    events: Sequence[InboundEvent] = ()
    position: int | None = None
    """Where the next look begins; None when nothing new came."""
    everything: bool = True
    """Nothing more was waiting."""


# What a person wrote in answer to a message of ours.


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundReply:
    """What somebody wrote in answer to one of our messages: `address` is where, `sender` is who."""

    channel: str
    address: str
    sender: str
    provider_id: str
    text: str
    thread: str = ""
    """Of what they wrote, for an answer to it."""
    assurance: Assurance = Assurance.CHANNEL


# What keeps a channel from hearing people, in one sentence, and since when.


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundTrouble:
    channel: str
    sentence: str
    since_us: int
