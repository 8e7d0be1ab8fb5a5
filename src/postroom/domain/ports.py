"""What the work needs from the world, by shape alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from postroom.domain.capabilities import Capabilities
from postroom.domain.delivery import Message, Receipt
from postroom.domain.inbound_message import InboundFile, InboundMessage, Listened
from postroom.domain.outcome import Outcome
from postroom.domain.outgoing import Outgoing


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
