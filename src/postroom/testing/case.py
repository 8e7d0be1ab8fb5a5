"""Everything the suite has to know about one channel and its provider."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from postroom.domain.delivery import Receipt
from postroom.domain.ports import Channel, Listen
from postroom.testing.servers.fake_server import FakeProvider
from postroom.testing.servers.http_reply import Reply
from postroom.testing.servers.http_request import TakenRequest
from postroom.testing.situation import Situation

TEXT: Final = "the kettle is on and nobody is watching it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the fake provider is; `tls` when the channel is to speak TLS to it."""

    port: int
    host: str = "127.0.0.1"
    tls: bool = False

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"


class Words(Protocol):
    """How a kind of provider says what it says: `HttpWords`, `SmtpWords` or your own."""

    @property
    def absent(self) -> Mapping[str, str]:
        """Standard situations that this kind of provider cannot bring about, each with the reason."""
        ...

    def provider(self) -> FakeProvider: ...

    def situations(self, text: str, secrets: Sequence[str], now: datetime) -> Iterable[Situation]:
        """Those of the standard ones that have a script."""
        ...


class HearingChannel(Channel, Listen, Protocol):
    """A channel that hears people, too."""


class PersonSide(Protocol):
    """The provider's other side: people who write and press, and what the provider may forget since."""

    @property
    def sender(self) -> str:
        """Who writes, as the channel names them."""
        ...

    @property
    def acknowledged(self) -> int:
        """How many events the channel has acknowledged."""
        ...

    def connect(self) -> HearingChannel:
        """A new channel, as after a restart."""
        ...

    async def write(self, text: str, *, by_bot: bool = False, forged: bool = False) -> None:
        """`forged`: words that look like this person's and are not, forwarded ones or those behind another name."""
        ...

    async def press(self, token: str) -> None: ...

    async def show_again(self) -> None:
        """The provider shows its last event once more, as if it had not been acknowledged."""
        ...

    async def leave(self) -> None:
        """The provider is away from now on."""
        ...


Arrived = tuple[str, bytes]
"""The name and the bytes of a file, as a provider got them."""
OwnProof = Callable[[Channel, FakeProvider], Awaitable[None]]
"""Raises AssertionError when the channel cannot do what it declares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proofs:
    """
    One for each capability that is declared: what the provider was asked for, read from what it was sent.

    `dedupes`: the key by which the provider knows a second call. `reconciles`: the provider's answer when it is
    asked what it has, given the request and the messages it took; None when the request is no such question.
    `edits`: the id of the message to edit; `deletes`: of the one to delete. `buttons`: the tokens. `reacts`: the emoji.
    `replies` and `threads`: the id of the message that is answered. `files`: given the fake provider, every file it
    was brought, in order; the channel is connected with `files=FILES`.
    """

    dedupes: Callable[[Any], str] | None = None
    reconciles: Callable[[TakenRequest, Sequence[TakenRequest]], Reply | None] | None = None
    edits: Callable[[Any], str] | None = None
    buttons: Callable[[Any], Sequence[str]] | None = None
    reacts: Callable[[Any], str] | None = None
    replies: Callable[[Any], str] | None = None
    threads: Callable[[Any], str] | None = None
    deletes: Callable[[Any], str] | None = None
    files: Callable[[Any], Sequence[Arrived]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """
    How to set one channel up against its fake provider, and what its messages look like.

    `visible` is what a person sees of a part, `counted` what the provider counts of it (unless that is the same),
    `mentions` whatever in it would call somebody or be taken for markup. `not_applicable` gives, for each id of a
    check that makes no sense here, the reason that the report shows.
    """

    name: str
    connect: Callable[[Place], Channel]
    words: Words
    address: str
    not_an_address: str
    visible: Callable[[Any], str] | None = None
    counted: Callable[[Any], str] | None = None
    mentions: Callable[[Any], Sequence[str]] | None = None
    secrets: Sequence[str] = ()
    text: str = TEXT
    thread: str = "55"
    """The message that a reply or a reaction answers."""
    sent: Receipt = field(default_factory=lambda: Receipt("77"))
    """Of a message that is edited."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    """The channel's own clock."""
    changing_headers: frozenset[str] = frozenset({"date"})
    """In small letters: those that may differ between two calls with the same part."""
    examples: int = 60
    """How many texts each property is tried with; always the same ones."""
    proofs: Proofs = field(default_factory=Proofs)
    person: Callable[[], AbstractAsyncContextManager[PersonSide]] | None = None
    presses_only: bool = False
    """People there can press a button and write nothing, so presses stand for words where both would do."""
    more: Sequence[Situation] = ()
    not_applicable: Mapping[str, str] = field(default_factory=dict)
