"""A channel as the rest of the house knows it: what it can do, and what it may be asked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, Protocol, runtime_checkable

from postroom.message.delivery import Message, Receipt
from postroom.message.inbound import InboundFile, InboundMessage, InboundTrouble, Listened
from postroom.message.outgoing import Outcome, Outgoing

# What a channel can do, in its own words: whatever would ask for a channel's name asks this instead.

Unit = Literal["utf16", "bytes", "characters"]
Style = Literal["chat", "letter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadIdentity:
    """How the message that is answered is named: PLACE:ID, each half by its own pattern."""

    place: str
    id: str
    words: str = "<place>:<id>"
    """As a caller is told to write it."""

    def split(self, thread: str) -> tuple[str, str] | None:
        """A number comes back without leading zeros."""
        found = re.fullmatch(f"(?P<place>{self.place}):(?P<id>{self.id})", thread.strip(), re.ASCII)
        return (found["place"], _plain(found["id"])) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Everything is off until a channel says otherwise: what is not declared is never relied on."""

    dedupes_for_seconds: float = 0.0
    """How long the provider takes a second call with the same key for the first one."""
    reconciles: bool = False
    """The provider can be asked whether a message arrived."""
    receipt: bool = True
    """The provider names what it has taken."""
    formats: tuple[str, ...] = ("plain",)
    max_units: int | None = None
    """What the provider shows as one message, counted in `unit`; None: no limit below ours."""
    unit: Unit = "characters"
    buttons: bool = False
    most_buttons: int | None = None
    """How many fit under one message; a card that needs more has a numbered list or a link instead."""
    edits: bool = False
    deletes: bool = False
    reacts: bool = False
    replies: bool = False
    threads: bool = False
    """An answer stays in a topic or thread of its own."""
    files: bool = False
    most_files: int | None = None
    """How many go with one message; None: as many as we take at all, likewise for their bytes."""
    most_file_bytes: int | None = None
    """Of one file."""
    most_files_bytes: int | None = None
    """Of all files of one message together."""
    inbound: bool = False
    """What people write there is heard."""
    comes_back: bool = False
    """What was taken may come back days later, so addresses that are gone are remembered."""
    own_app: bool = False
    """Shown by the household's own app: what is pressed comes to its own door, and a press beside it opens a page."""

    style: Style = "chat"
    """A letter has a subject and shows who speaks; in a chat the words say it."""
    thread_identity: ThreadIdentity | None = None
    """Set: a reply or a reaction names the message it answers in this form, and goes to that place."""
    timeout_seconds: float | None = None
    """How long one call may take; None: as long as on any channel."""
    spacing_seconds: float = 0.0
    """The pause between two messages to one address."""
    bot_per_minute: int | None = None
    """None: the household's limit for any channel; the same for people's own accounts."""
    user_per_minute: int | None = None


KnownChannels = Mapping[str, Capabilities]
"""What a message may name, with what it can; one without credentials is known and unavailable."""

UNDECLARED: Final = Capabilities(replies=True)
"""Of a channel written before channels declared anything: it refuses by itself the replies it cannot carry."""


def _plain(identity: str) -> str:
    return str(int(identity)) if identity.isdecimal() else identity


# An account of a household on a channel.


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountHealth:
    circuit: str
    reason: str | None = None
    """Why the circuit is not closed."""
    retry_after_seconds: float | None = None
    throttled_seconds: float | None = None
    """How long the provider has asked us to wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedAccount:
    name: str
    kind: str
    configured: bool
    capabilities: Capabilities
    health: AccountHealth | None = None
    """None while the part that sends cannot be asked."""
    trouble: InboundTrouble | None = None
    """What keeps it from hearing people, if anything does."""


# What a channel is, by shape alone.


class Channel(Protocol):
    """
    One way out to people.

    A channel never retries, never logs what it carries and never knows the
    store. `send` raises one of our errors: not sent (`TargetUnavailable`,
    `ProviderThrottled`, `DeliveryTimeout`), never acceptable (`ValidationError`)
    or possibly sent (`OutcomeUncertain`).
    """

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities:
        """What it can do; the same for as long as it lives."""
        ...

    def address(self, text: str) -> str | None:
        """The text as a canonical address of this channel, or None when it is not one."""
        ...

    def prepare(self, message: Message) -> Sequence[Any]:
        """The provider calls this message takes, in order. Pure; raises ValidationError."""
        ...

    async def send(self, part: Any, timeout_seconds: float) -> Receipt: ...

    async def close(self) -> None: ...


@runtime_checkable
class AnswersPresses(Channel, Protocol):
    """A channel that lets a person who pressed a button wait for an answer."""

    async def answer_press(self, callback_id: str, text: str = "", *, alert: bool = False) -> bool:
        """Ends the waiting of the one who pressed; False when that came too late."""
        ...


@runtime_checkable
class Probe(Protocol):
    """A channel that can tell whether its credentials work, without sending anything."""

    async def probe(self, timeout_seconds: float) -> str:
        """Who the provider says we are; raises one of our errors."""
        ...


@runtime_checkable
class Reconcile(Protocol):
    """A channel whose provider can be asked whether a message arrived; it declares `reconciles`."""

    async def find(self, part: Any, since: datetime, timeout_seconds: float) -> Receipt | None:
        """
        The receipt of a part that was sent at `since` or later; None when the provider has no such message.

        Raises one of our errors when the provider cannot say.
        """
        ...


@runtime_checkable
class Listen(Protocol):
    """A channel that hears what people write there."""

    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        """
        What came since `position`; waits up to `timeout_seconds` for something to come.

        Asking with a position says that everything before it has been handled, so only then is it acknowledged
        to a provider that wants that. Positions grow, over restarts too.
        """
        ...


@runtime_checkable
class BringsFiles(Protocol):
    """A channel that can fetch what came with a person's words."""

    async def bring_files(self, message: InboundMessage, timeout_seconds: float) -> Sequence[InboundFile]:
        """Each with its content or what is wrong with it; raises one of our errors when none can be had now."""
        ...


@runtime_checkable
class ShowsWork(Protocol):
    """A channel on which people can see for a moment that an answer is being worked on."""

    async def show_work(self, place: str, message_id: str, timeout_seconds: float) -> bool:
        """Shown for some seconds; False when it could not be, which matters to no message."""
        ...


@runtime_checkable
class HidesWork(Protocol):
    """One on which that does not go away by itself."""

    async def hide_work(self, place: str, message_id: str, timeout_seconds: float) -> None:
        """It is over; what cannot be taken away stays, which matters to no message."""
        ...


class Outbound(Protocol):
    """The next part on a message's way out; in the end the delivery plane itself."""

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        """Never raises one of our errors: what went wrong is an outcome."""
        ...
