"""What people write on a channel: fetched once, in order, kept, and handed to the handler it concerns."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final

import structlog

from postroom.approvals.store.approvals import HeardThreads
from postroom.conversations.history import StoredTalk
from postroom.conversations.model import InboundFacts, InboundStatus, RoutedMessage, RouteKind, is_for_named, route
from postroom.conversations.store import StoredInbound, StoredTroubles
from postroom.conversations.texts import texts_for
from postroom.delivery.afterwards.news import StoredReplies
from postroom.delivery.files.taking import MOST_FILES, FileTaking
from postroom.kernel.database.engine import Marks
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.timekeeper import Listening
from postroom.kernel.values.errors import OverloadRejected, PostroomError, StoreUnavailable, ValidationError
from postroom.kernel.values.ids import seconds
from postroom.message.attachment import Attachment
from postroom.message.channel import BringsFiles, Listen, Outbound
from postroom.message.inbound import (
    Flag,
    InboundEvent,
    InboundFile,
    InboundMessage,
    InboundReply,
    InboundTrouble,
    LateNews,
    Press,
)
from postroom.message.outgoing import said_back
from postroom.people.model import Person
from postroom.people.store.rows import StoredClosedAddresses
from postroom.questions.asked_people import AskedPeople

_POLL_SECONDS: Final = 25.0
_PAUSE_SECONDS: Final = 5.0
UNKNOWN: Final = "unknown"  # what an earlier process left may still stand in the record
_log = structlog.get_logger("postroom.inbound")
Handler = Callable[[InboundEvent], Awaitable[bool]]  # True when the event was this handler's
MessageHandler = Callable[[InboundMessage], Awaitable[bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbound:
    """
    One account has one reader, so everybody who listens is a handler here.

    The place in the stream is saved after the handlers are done: a crash shows
    them a message again, and they take the second time for what it is.
    """

    source: str
    bot: Listen
    offsets: Marks
    handlers: Sequence[Handler]
    clock: Clock
    watch: Listening | None = None
    troubles: StoredTroubles | None = None
    files: ArrivingFiles | None = None
    _said: list[str] = field(default_factory=lambda: [UNKNOWN])
    _place: list[int | None] = field(default_factory=list)  # in the stream, once it was read; nobody else moves it

    async def look(self) -> int:
        """One request, and the next one at once unless the channel is away."""
        try:
            await self.poll(await self.watch.patience(self.source, _POLL_SECONDS) if self.watch else _POLL_SECONDS)
        except PostroomError as error:
            await self._say(error)
            return self.clock.now_us() + seconds(_PAUSE_SECONDS)
        await self._say(None)
        return self.clock.now_us()

    async def _say(self, error: PostroomError | None) -> None:
        """Once for each change: a login that is refused for a week is one line and one sentence."""
        sentence = error.message if error else ""
        if sentence == self._said[0]:
            return
        if error is not None:
            _log.warning("inbound.unavailable", source=self.source, error_class=str(error.error_class))
        elif self._said[0] != UNKNOWN:
            _log.info("inbound.available", source=self.source)
        with suppress(StoreUnavailable):
            await self._note(sentence)
            self._said[0] = sentence

    async def _note(self, sentence: str) -> None:
        if self.troubles is None:
            return
        if sentence:
            trouble = InboundTrouble(channel=self.source, sentence=sentence, since_us=self.clock.now_us())
            await self.troubles.begin(trouble)
        else:
            await self.troubles.end(self.source)

    async def poll(self, wait_seconds: float) -> int:
        """One request; returns how many things people did came."""
        if not self._place:
            self._place.append(await self.offsets.offset(self.source))
        began_us = self.clock.now_us()
        heard = await self.bot.listen(self._place[0], wait_seconds)
        for lines in side_by_side(presses_first(heard.events)):
            failures = await asyncio.gather(*map(self._hand_over, lines), return_exceptions=True)
            for error in failures:
                if error is not None:
                    raise error
        if heard.position is not None:
            await self.offsets.save_offset(self.source, heard.position)
            self._place[0] = heard.position
        if self.watch:
            await self.watch.looked(self.source, began_us, everything=heard.everything)
        return len(heard.events)

    async def _hand_over(self, line: Sequence[InboundEvent]) -> None:
        for event in line:
            await hand_over(await self._with_files(event), self.handlers, self.source)

    async def _with_files(self, event: InboundEvent) -> InboundEvent:
        if self.files is None or not isinstance(event, InboundMessage):
            return event
        return await self.files.taken(event, self.bot)


def presses_first(events: Sequence[InboundEvent]) -> list[InboundEvent]:
    """A press dies soon, so those who pressed are heard before all others; each in the order of what they did."""
    pressing = {event.sender for event in events if isinstance(event, Press)}
    return sorted(events, key=lambda event: not isinstance(event, LateNews) and event.sender not in pressing)


def side_by_side(events: Sequence[InboundEvent]) -> Iterator[Sequence[Sequence[InboundEvent]]]:
    """
    One after the other, except that presses which come together on different messages are heard at the same time.

    Each of them is answered by a call to the provider, so that the last of a crowd would wait for all of these.
    """
    for is_press, together in groupby(events, lambda event: isinstance(event, Press)):
        if is_press:
            lines = dict[object, list[InboundEvent]]()
            for event in together:
                lines.setdefault(_pressed_on(event), []).append(event)
            yield list(lines.values())
        else:
            yield from ([[event]] for event in together)


def _pressed_on(event: InboundEvent) -> object:
    """Where the provider does not say on which message, all that one person presses stays in its order."""
    return (event.places, event.message_id or event.sender) if isinstance(event, Press) else None


async def hand_over(event: InboundEvent, handlers: Sequence[Handler], source: str) -> None:
    """An event that a handler stumbles over would come again for ever, and hold up all behind it."""
    for handler in handlers:
        try:
            if await handler(event):
                return
        except PostroomError:
            raise
        except Exception as error:
            _log.error("inbound.bug", source=source, error=type(error).__name__)


# Who hears what people write, and in which order: the first who takes an event ends its way.


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearer:
    """
    `takes` is what reaches nobody behind; `because` says why they stand here.

    `noted` is kept with a message that they took, for no butler is needed then: what it is about, or what it answers.
    """

    name: str
    takes: str
    because: str
    noted: str = ""
    answers: bool = False


HEARERS: Final = (
    Hearer(
        name="flood",
        takes="what one sender writes beyond the most of a minute",
        because="before the first who stores or looks anything up, so that the presses of others need not wait",
    ),
    Hearer(
        name="kept",
        takes="what was decided before, which a crash brings again",
        because="before all who act, so that every message is stored before anything is done about it, and done once",
    ),
    Hearer(
        name="news",
        takes="what a provider tells late of something sent",
        because="behind no one who acts: it is nobody's words, and concerns no one else",
    ),
    Hearer(
        name="threads",
        takes="nothing: remembers where a message came in",
        because="before all who answer, so that their answer is known to be one",
    ),
    Hearer(
        name="originals",
        takes="nothing: keeps an answer with its quotes",
        because="before those who take answers",
    ),
    Hearer(
        name="closed addresses",
        takes="nothing: opens an address from which a person provably writes",
        because="before all who answer there",
    ),
    Hearer(
        name="codes",
        takes="a pairing code that is right",
        because="before questions and butlers: a code is a secret and goes to neither",
        noted="it is about the sender's own address",
    ),
    Hearer(
        name="first here",
        takes="/here, and `write to me here` in reply to nothing",
        because="before questions: while one waits for the next words, these are still about the place",
        noted="it is about the sender's own address",
    ),
    Hearer(
        name="notices",
        takes="presses of a notice's buttons, /mute and /snooze",
        because="before questions, which answer every press that is left and take words as a reply to a card",
        noted="it is about a notice",
    ),
    Hearer(
        name="commands",
        takes="/help, /status and their like, whatever they reply to",
        because="before questions: a command is no answer, not even as a reply to a card",
        noted="it is a command",
    ),
    Hearer(
        name="questions",
        takes="presses; replies to a card, and the next words after its `Other`",
        because="before the butlers, who would take an answer for a message to them",
        noted="a question",
        answers=True,
    ),
    Hearer(
        name="intents",
        takes="replies to a message that waits for one",
        because="before the butlers, and before a stranger who was asked by a letter is told that nobody knows them",
        noted="a message that waits for a reply",
        answers=True,
    ),
    Hearer(
        name="talk",
        takes="every message that is left",
        because="last: it is for a butler, or gets a sentence",
    ),
)


def in_order(
    handlers: Mapping[str, Handler],
    kept: StoredInbound,
    clock: Clock,
    people: AskedPeople,
    butlers: Mapping[str, bool],
) -> list[Handler]:
    """`handlers` by their names in the list."""
    return [heard_by(one, handlers[one.name], kept, clock, people, butlers) for one in HEARERS]


def heard_by(
    hearer: Hearer,
    handler: Handler,
    kept: StoredInbound,
    clock: Clock,
    people: AskedPeople,
    butlers: Mapping[str, bool],
) -> Handler:
    """What it took is kept with the message. A person may speak to a butler while a question is open."""

    async def handle(event: InboundEvent) -> bool:
        if not isinstance(event, InboundMessage):
            return await handler(event)
        if (hearer.answers and is_for_named(event, butlers)) or not await handler(event):
            return False
        if hearer.noted:
            decided = RoutedMessage(kind=RouteKind.COMMAND, reason=hearer.noted)
            if hearer.answers:
                decided = route(InboundFacts(message=event, open_questions=(hearer.noted,)))
            person = await people.at(event.channel, event.sender) if event.sender is not None else None
            await kept.decide(event, decided, person.id if person else None, clock.now_us())
        return True

    return handle


def of_messages(handle: MessageHandler) -> Handler:
    """Presses are for others."""

    async def only_messages(event: InboundEvent) -> bool:
        return isinstance(event, InboundMessage) and await handle(event)

    return only_messages


def originals_handler(originals: StoredReplies, clock: Clock) -> Handler:
    """Keeps what a person wrote with its quotes, where the answer is read without them; takes nothing itself."""

    async def handle(message: InboundMessage) -> bool:
        if message.answers is not None and message.original and message.author is not None:
            await originals.keep(message, clock.now_us())
        return False

    return of_messages(handle)


def reopening_handler(closed: StoredClosedAddresses) -> Handler:
    """An address from which a person provably writes takes mail, whatever came back before; takes nothing itself."""

    async def handle(message: InboundMessage) -> bool:
        if message.author is not None:
            await closed.reopen_bounced(message.channel, message.author)
        return False

    return of_messages(handle)


def hearing_handler(conversations: HeardThreads, clock: Clock) -> Handler:
    """
    Remembers that a message came in, so that an answer to it is known to be one; takes nothing for itself.

    Where the sender is not proved, others could make us write to an address that never wrote.
    """

    async def handle(message: InboundMessage) -> bool:
        for address in () if Flag.UNVERIFIED in message.flags else message.places:
            await conversations.hear(message.channel, address, message.message_id, clock.now_us())
        return False

    return of_messages(handle)


def reply_handler(take: Callable[[InboundReply], Awaitable[object | None]]) -> Handler:
    """Answers to our own messages; everything else, and everybody else, is left alone."""

    async def handle(message: InboundMessage) -> bool:
        for reply in replies_in(message):
            if await take(reply) is not None:
                return True
        return False

    return of_messages(handle)


def replies_in(message: InboundMessage) -> list[InboundReply]:
    """The reply under each address its place is known by; none when no person wrote it there."""
    if message.author is None or message.replies_to is None or message.text is None:
        return []
    return [
        InboundReply(
            channel=message.channel,
            address=one,
            sender=message.author,
            provider_id=message.replies_to,
            text=message.text,
            thread=message.thread_identity,
            assurance=message.assurance,
        )
        for one in message.places
    ]


# Every message of a person is stored before anything is done about it, with what was decided in the end.


def keeping_handler(kept: StoredInbound, clock: Clock) -> Handler:
    """Stands before all others; takes only what was decided before, which a crash may bring again."""

    async def handle(message: InboundMessage) -> bool:
        return (await kept.keep(message, clock.now_us())).status is not InboundStatus.RECEIVED

    return of_messages(handle)


# What people send with their words is fetched and kept before anybody hears them; what cannot be is said to them.

_BRING_SECONDS: Final = 30.0
_NOT_NOW: Final = "it could not be fetched; please send it again later"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivingFiles:
    """Within the limits of files that are sent. Of strangers, and of what was not said to us, nothing is fetched."""

    taking: FileTaking
    people: AskedPeople
    threads: StoredTalk
    outbound: Outbound

    async def taken(self, message: InboundMessage, channel: object) -> InboundMessage:
        """A second time it is the same files, by their keys."""
        if not message.offers:
            return message
        person = await self._who(message)
        if person is None:
            return replace(message, offers=())
        kept, problems = await self._take(await self._brought(message, channel), message, person)
        if problems:
            words = texts_for(person.language).files_not_taken.format(files="\n".join(problems))
            key = f"files:{message.channel}:{message.event_id}"
            await self.outbound.submit(
                said_back(message, words, key=key, request_id=key), request_id=key, wait_seconds=0
            )
        return replace(message, offers=(), files=tuple(kept))

    async def _who(self, message: InboundMessage) -> Person | None:
        if message.author is None:
            return None
        is_ours = message.alone or message.addressed
        if not is_ours and (not message.replies_to or await self.threads.replied_to(message) is None):
            return None
        return await self.people.at(message.channel, message.author)

    async def _brought(self, message: InboundMessage, channel: object) -> Sequence[InboundFile]:
        """A provider that is away for a moment must not hold up everybody else's words."""
        if not isinstance(channel, BringsFiles):
            return [replace(one, problem="files cannot be fetched here") for one in message.offers]
        try:
            return await channel.bring_files(message, _BRING_SECONDS)
        except PostroomError as error:
            _log.warning("inbound.files_not_fetched", source=message.channel, error_class=str(error.error_class))
        except Exception as error:  # the message would come again for ever, and all others wait behind it
            _log.error("inbound.bug", source=message.channel, error=type(error).__name__)
        return [replace(one, problem=_NOT_NOW) for one in message.offers]

    async def _take(
        self, brought: Sequence[InboundFile], message: InboundMessage, person: Person
    ) -> tuple[list[Attachment], list[str]]:
        kept: list[Attachment] = []
        problems: list[str] = []
        for number, one in enumerate(brought):
            try:
                if one.content is None:
                    raise ValidationError(one.problem or _NOT_NOW)
                if len(kept) == MOST_FILES:
                    raise ValidationError(f"at most {MOST_FILES} files are taken at once")
                key = f"{message.channel}:{message.event_id}:{number}"
                owner = f"person:{person.id}"
                upload = await self.taking.take_arrived(one.content, name=one.name, owner=owner, key=key)
                kept.append(upload.attached())
            except StoreUnavailable:
                raise
            except ValidationError as error:
                problems.append(f"• {one.name or 'a file'}: {error.fields[0].error if error.fields else error.message}")
            except OverloadRejected:
                problems.append(f"• {one.name or 'a file'}: you have sent as much as is taken within a day")
        return kept, problems


# More messages of one sender at once than anybody types: what comes after the first is not read, and said so once.

_MINUTE_US: Final = seconds(60)
_MOST_SENDERS: Final = 1000  # remembered at a time


@dataclass(slots=True)
class _Sender:
    """When each message was written that was let through, by its name: one that comes again is no new one."""

    heard: dict[str, int] = field(default_factory=dict)
    told: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Flood:
    """Stands before all who store or look anything up, so that the presses of others need not wait."""

    people: AskedPeople
    outbound: Outbound
    clock: Clock
    most: int
    _senders: dict[tuple[str, str, str], _Sender] = field(default_factory=dict)

    async def handle(self, message: InboundMessage) -> bool:
        sender, at_us = self._sender(message), message.said_at_us or self.clock.now_us()
        if message.event_id in sender.heard:
            return False
        lately = {name: then for name, then in sender.heard.items() if abs(at_us - then) < _MINUTE_US}
        if len(lately) < self.most:
            sender.heard, sender.told = lately | {message.event_id: at_us}, False
            return False
        if not sender.told:
            _log.warning("inbound.flood", source=message.channel, update_id=message.number)
            await self._tell(message)
            sender.told = True
        return True

    def _sender(self, message: InboundMessage) -> _Sender:
        """One who proves nothing uses up nobody else's share."""
        key = (message.channel, message.sender or "", "" if message.sender else message.places[0])
        if key not in self._senders and len(self._senders) >= _MOST_SENDERS:
            del self._senders[next(iter(self._senders))]
        return self._senders.setdefault(key, _Sender())

    async def _tell(self, message: InboundMessage) -> None:
        """A stranger has heard a sentence already."""
        author = message.author if message.alone else None
        person = await self.people.at(message.channel, author) if author is not None else None
        if person is not None:
            words, key = texts_for(person.language).flood.format(most=self.most), f"talk:flood:{message.event_id}"
            said = said_back(message, words, key=f"{key}:{message.channel}", request_id=key)
            await self.outbound.submit(said, request_id=key, wait_seconds=0)


# What was stored and never decided, because we died in between and the provider does not bring it again.

AGE_SECONDS: Final = 60.0  # until then it may be in hand


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    kept: StoredInbound
    handlers: Sequence[Handler]
    clock: Clock

    async def look(self) -> int:
        """Each goes to the same handlers, in the same order, as if it had come now."""
        for one in await self.kept.undecided(self.clock.now_us() - seconds(AGE_SECONDS)):
            await hand_over(one.message, self.handlers, one.message.channel)
        return self.clock.now_us() + seconds(AGE_SECONDS)
