"""Everything the suite has to know about one channel and its provider."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final, Protocol

from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.attachment import Attachment
from postroom.message.channel import Channel, Listen
from postroom.message.delivery import Intent, Message, Receipt
from postroom.message.markup import Button, Markup, Revision
from postroom.testing.servers.http import FakeProvider, Reply, TakenRequest

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


# Files in memory, for a channel that is looked at: what `files=` is given instead of a household's own.


class HeldFiles:
    """Kept by their hash; `read` counts, so that a test can see when bytes are taken."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}
        self.reads = 0

    def hold(self, name: str, content: bytes, media_type: str = "application/octet-stream") -> Attachment:
        sha256 = hashlib.sha256(content).hexdigest()
        self._contents[sha256] = content
        return Attachment(
            upload_id=f"upload-{sha256[:12]}", sha256=sha256, name=name, media_type=media_type, size=len(content)
        )

    async def read(self, attachment: Attachment) -> bytes:
        self.reads += 1
        return self._contents[attachment.sha256]


FILES: Final = HeldFiles()
"""Those that the suite sends: a channel that carries files is connected with `files=FILES`."""

# The messages that the suite sends.


DELIVERY: Final = DeliveryId("0198c0de-0000-7000-8000-000000000001")
_LINK: Final = "https://home.example/a/canary-link"
CARD: Final = Markup(buttons=((Button(label="Yes, do", url=_LINK), Button(label="Open", url=f"{_LINK}/2")),))


def message(case: Case, **changes: Any) -> Message:
    plain = Message(delivery_id=DELIVERY, intent=Intent.SEND, address=case.address, text=case.text)
    return replace(plain, **changes)


def numbered(case: Case, number: int) -> Message:
    return message(case, delivery_id=DeliveryId(f"0198c0de-0000-7000-8000-{number:012d}"))


def revision(case: Case) -> Revision:
    return Revision(delivery_id=DELIVERY, provider_ids=(case.sent.provider_id,), conversation=case.sent.conversation)


def choices(count: int) -> Markup:
    """So many buttons that each say a token of their own."""
    return Markup(buttons=tuple((Button(label=f"Choice {one}", token=f"token-{one}"),) for one in range(1, count + 1)))


# One thing that can happen to a message at a provider, and what a channel may make of it.


Ending = type[PostroomError] | None
"""The error that is raised; None: a receipt."""
Endings = Ending | tuple[Ending, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """
    `script` is what the provider does: one step, or a tuple with one for each message.

    `raises` is what the channel must make of it, or any of several; `then` what it makes of the messages after the
    first. `taken` counts complete messages the provider read, whatever it then answered.
    """

    id: str
    script: Any
    sentence: str = ""
    raises: Endings = None
    then: tuple[Endings, ...] = ()
    taken: int = 1
    retry_after_seconds: float | tuple[float, float] | None = None
    """Exactly this, or between these two."""
    timeout_seconds: float = 10.0
    held: bool = False
    """The answer waits until the test has seen that the channel waits."""
    editing: bool = False
    """Of something sent before, instead of sending."""

    @property
    def steps(self) -> tuple[Any, ...]:
        return self.script if isinstance(self.script, tuple) else (self.script,)

    @property
    def endings(self) -> tuple[Endings, ...]:
        return (self.raises, *self.then)


# The situations that every channel is put into, each as a sentence.


STANDARD: Final[Mapping[str, str]] = MappingProxyType(
    {
        "accepted": "The provider takes the message: one call, and a receipt.",
        "held": "The provider takes its time: the channel waits, and makes no second call.",
        "refused-for-ever": "The provider says that this message can never be delivered: ValidationError.",
        "refused-quoting-us": "Its refusal quotes the message and our credentials: neither appears in the error.",
        "credentials": "The provider does not accept our credentials: TargetUnavailable, no fault of the message.",
        "throttled-seconds": "429 with Retry-After in seconds: ProviderThrottled with that wait.",
        "throttled-date": "429 with Retry-After as an HTTP date: ProviderThrottled with the time until then.",
        "throttled-float": "429 with a broken number of seconds in the body: ProviderThrottled with that wait.",
        "throttled-milliseconds": "429 with milliseconds in the body: ProviderThrottled with that wait in seconds.",
        "throttled-day": "429 for a whole day: ProviderThrottled, and the next try is an hour to a day away.",
        "throttled-skewed": "429 until a date that our clock has passed: ProviderThrottled, the wait is not negative.",
        "throttled-otherwise": "A throttle under another name than 429: not a fault of the message.",
        "error-inside": "Status 200 with an error inside: no receipt.",
        "broken-500": "The provider had everything and broke (500): ProviderFailed, for it may have been sent.",
        "unavailable-503": "The provider is away (503): not sent, try again.",
        "connection-refused": "Nothing listens there: TargetUnavailable, not sent.",
        "unknown-host": "The provider's name cannot be looked up: not sent.",
        "handshake-cut": "The line is cut inside the TLS handshake: not sent.",
        "reset-before-reading": "The line is reset before the provider has read the message.",
        "read-then-reset": "The provider reads the message and resets the line: OutcomeUncertain, no second call.",
        "read-then-silence": "The provider reads the message and says nothing: OutcomeUncertain at the deadline.",
        "cut-in-head": "The answer ends inside its first lines: OutcomeUncertain.",
        "cut-in-content": "The answer ends inside its content: OutcomeUncertain.",
        "wrong-length": "The answer names a length that is too short for its content: OutcomeUncertain.",
        "drip": "A complete answer that comes a few bytes at a time is a complete answer.",
        "drip-past-deadline": "An answer that drips past the deadline of the whole call: OutcomeUncertain, then.",
        "early-refusal": "The provider refuses before it has read everything: the refusal counts.",
        "old-protocol": "The provider answers in HTTP/1.0 and closes the line: a receipt.",
        "early-hints": "A provisional answer (1xx) comes before the answer: a receipt, and no second call.",
        "swollen": "The answer unpacks to a hundred times its size: it is not read to the end, OutcomeUncertain.",
        "redirect": "The provider redirects elsewhere: not followed, so the message and our credentials stay here.",
        "reused-connection": "A connection kept from before is closed on reuse: OutcomeUncertain, no silent repeat.",
        "not-json": "The answer is a page for people: OutcomeUncertain.",
        "other-shape": "The answer has another shape than documented: OutcomeUncertain.",
        "missing-id": "Taken, but the answer names no message: OutcomeUncertain.",
        "same-id": "Two messages get the same id: both calls are made, and each has its receipt.",
        "credentials-expire": "Our credentials expire between two messages, and are accepted again for a third.",
        "cancelled": "A send that is cancelled stays cancelled, and is not repeated.",
        "close-while-sending": "The channel is closed while the provider has the message: never said to be not sent.",
        "many-at-once": "Twenty messages at once: each is sent once.",
    }
)
