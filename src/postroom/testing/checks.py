"""What the suite looks at, and how: one message sent, and what came of it held against what may come of it."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

import structlog

from postroom.kernel.values import errors
from postroom.kernel.values.errors import PostroomError, TargetUnavailable, ValidationError
from postroom.message.channel import Channel
from postroom.message.delivery import Receipt
from postroom.message.inbound import InboundEvent, InboundMessage, Listened, Press
from postroom.testing.case import (
    CARD,
    STANDARD,
    Case,
    Ending,
    Endings,
    HearingChannel,
    PersonSide,
    Place,
    Situation,
    message,
    numbered,
    revision,
)
from postroom.testing.servers.http import FakeProvider

# One thing the suite looks at, and what came of looking.


class CheckGroup(StrEnum):
    SITUATION = "Situations"
    OWN = "Situations of its own"
    MANNERS = "Manners"
    PROPERTY = "Properties"
    CAPABILITY = "Capabilities"
    INBOUND = "Inbound"


Look = Callable[[Case], Awaitable[None] | None]
"""Raises AssertionError with a sentence when the channel is at fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    id: str
    group: CheckGroup
    sentence: str
    look: Look
    not_applicable: str | None = None
    """The reason why it is not looked at."""


def check_of(case: Case, group: CheckGroup, kind: str, name: str, sentence: str, look: Look) -> Check:
    identity = f"{kind}/{name}"
    absent = case.not_applicable.get(identity)
    return Check(id=identity, group=group, sentence=sentence, look=look, not_applicable=absent)


def ensure(holds: object, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)


# Send, and hold what came of it against what may come of it.

PATIENCE_SECONDS: Final = 15.0
_Ended = Receipt | BaseException


@asynccontextmanager
async def connected(case: Case, place: Place) -> AsyncIterator[Channel]:
    """Within bounds: a channel that never comes back fails, and does not stop the suite."""
    channel = case.connect(place)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            try:
                yield channel
            finally:
                await channel.close()
    except TimeoutError:
        raise AssertionError(f"nothing came back within {PATIENCE_SECONDS:.0f} seconds") from None


async def attempt(channel: Channel, part: Any, timeout_seconds: float) -> _Ended:
    """What is no error of ours is kept too, to be shown as what it is."""
    try:
        return await channel.send(part, timeout_seconds)
    except asyncio.CancelledError:
        raise
    except Exception as error:
        return error


def ensure_ended(outcome: _Ended, allowed: Endings) -> None:
    endings = allowed if isinstance(allowed, tuple) else (allowed,)
    ensure(_kind(outcome) in endings, f"expected {_named(endings)}, and {_told(outcome)}")
    if isinstance(outcome, Receipt):
        ensure(outcome.provider_id and isinstance(outcome.provider_id, str), "the receipt names no message")
    if isinstance(outcome, PostroomError):
        fair = not isinstance(outcome, ValidationError)
        ensure(outcome.retryable is fair, f"{type(outcome).__name__} must {'' if fair else 'not '}be retryable")


def _ensure_wait(outcome: _Ended, asked: float | tuple[float, float] | None) -> None:
    if not isinstance(outcome, PostroomError) or asked is None:
        return
    least, most = asked if isinstance(asked, tuple) else (asked, asked)
    wait = outcome.retry_after_seconds
    ensure(wait is not None and least <= wait <= most, f"it is to wait {least:g} to {most:g} seconds, and says {wait}")


def ensure_discreet(case: Case, outcome: _Ended, heard: _Overheard) -> None:
    said = [heard.text, *(everything_said(outcome) if isinstance(outcome, BaseException) else [repr(outcome)])]
    leaked = [secret for secret in case.secrets if any(secret in text for text in said)]
    ensure(not leaked, "a secret appears in an error or a log")
    ensure(not any(case.text in text for text in said), "the message appears in an error or a log")


def _kind(outcome: _Ended) -> object:
    """The nearest class of ours: an author may derive from them."""
    if isinstance(outcome, Receipt):
        return None
    if isinstance(outcome, errors.CredentialsRefused):
        return errors.TargetUnavailable  # the one says more than the other; a channel may say either
    return next((one for one in type(outcome).__mro__ if one.__module__ == errors.__name__), type(outcome))


def _named(endings: tuple[Ending, ...]) -> str:
    return " or ".join("a receipt" if one is None else one.__name__ for one in endings)


def _told(outcome: _Ended) -> str:
    if isinstance(outcome, Receipt):
        return "a receipt came back"
    if isinstance(outcome, PostroomError):
        return f"{type(outcome).__name__} was raised"
    last = traceback.extract_tb(outcome.__traceback__)[-1:]
    place = f" at {last[0].name}:{last[0].lineno}" if last else ""
    return f"{type(outcome).__name__} was raised{place}, which is no error of ours"


# Everything that is said aside while a check runs: logs of both kinds, and what is printed.


class _Overheard:
    def __init__(self) -> None:
        self._printed = io.StringIO()
        self.events: list[Any] = []

    @property
    def printed(self) -> io.StringIO:
        return self._printed

    @property
    def text(self) -> str:
        return self._printed.getvalue() + "".join(map(repr, self.events))


@contextlib.contextmanager
def overhearing() -> Iterator[_Overheard]:
    heard = _Overheard()
    handler = logging.StreamHandler(heard.printed)
    handler.setFormatter(logging.Formatter("%(name)s %(message)s"))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with (
            structlog.testing.capture_logs() as heard.events,
            contextlib.redirect_stdout(heard.printed),
            contextlib.redirect_stderr(heard.printed),
        ):
            yield heard
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def everything_said(error: BaseException) -> Iterator[str]:
    """By an error and all that led to it, as a log would show them."""
    seen: BaseException | None = error
    while seen is not None:
        yield from (str(seen), repr(seen), repr(vars(seen)), *traceback.format_exception(seen))
        seen = seen.__cause__ or seen.__context__


# Put a channel into one situation.

_GRACE_SECONDS: Final = 5.0


def own(case: Case) -> list[Check]:
    """The situations that only this channel's provider knows."""
    return [
        check_of(case, CheckGroup.OWN, "own", one.id, one.sentence or f"{one.id}.", _exactly(one)) for one in case.more
    ]


def standard(case: Case, also: dict[str, Look]) -> list[Check]:
    """All of them, whether or not the case says how its provider brings them about."""
    absent = {**case.words.absent, **case.not_applicable}
    return [
        Check(
            id=name,
            group=CheckGroup.SITUATION,
            sentence=sentence,
            look=also.get(name) or _standard(name),
            not_applicable=absent.get(name),
        )
        for name, sentence in STANDARD.items()
    ]


def told(case: Case, name: str) -> Situation:
    """Made when it is needed: a wait until a date is one from now."""
    every = case.words.situations(case.text, case.secrets, case.now())
    found = next((one for one in every if one.id == name), None)
    if found is None:
        raise AssertionError(f"the Case does not say how its provider brings {name} about, nor why it cannot")
    return found


def _standard(name: str) -> Look:
    async def look(case: Case) -> None:
        await _play(case, told(case, name))

    return look


def _exactly(situation: Situation) -> Look:
    async def look(case: Case) -> None:
        outcome = await _play(case, situation)
        if situation.retry_after_seconds is None:
            ensure(getattr(outcome, "retry_after_seconds", None) is None, "it makes up a wait that was not asked for")

    return look


async def _play(case: Case, situation: Situation) -> _Ended:
    """What came of the first message."""
    with overhearing() as heard:
        async with case.words.provider() as provider:
            provider.behave(*situation.steps)
            async with connected(case, Place(port=provider.port)) as channel:
                outcomes = await _outcomes(case, situation, channel, provider)
    for outcome, allowed in zip(outcomes, situation.endings, strict=True):
        ensure_ended(outcome, allowed)
        ensure_discreet(case, outcome, heard)
    _ensure_wait(outcomes[0], situation.retry_after_seconds)
    _ensure_once(situation, provider)
    return outcomes[0]


async def _outcomes(case: Case, situation: Situation, channel: Channel, provider: FakeProvider) -> list[_Ended]:
    """One message after the other, as many as the situation has endings."""
    outcomes = []
    for number, _ in enumerate(situation.endings, start=1):
        given = message(case, markup=CARD, revises=revision(case)) if situation.editing else numbered(case, number)
        sending = asyncio.create_task(attempt(channel, channel.prepare(given)[0], situation.timeout_seconds))
        if situation.held:
            await _waits_for(provider, sending)
        outcomes.append(await _in_time(sending, situation.timeout_seconds))
    return outcomes


async def _in_time(sending: asyncio.Task[_Ended], timeout_seconds: float) -> _Ended:
    """A deadline that is passed by much more than a busy machine needs is none."""
    try:
        async with asyncio.timeout(timeout_seconds + _GRACE_SECONDS):
            return await sending
    except TimeoutError:
        raise AssertionError(f"the deadline was {timeout_seconds:g} seconds, and nothing came back by then") from None


def _ensure_once(situation: Situation, provider: FakeProvider) -> None:
    """Nothing is repeated, neither a message that was read nor one that was not."""
    taken, sends = situation.taken, len(situation.endings)
    ensure(provider.taken == taken, f"the provider was to get {taken} messages, and got {provider.taken}")
    most = sends + provider.asked_aside
    ensure(provider.connections <= most, f"{sends} messages took {provider.connections} connections")


async def _waits_for(provider: FakeProvider, sending: asyncio.Task[Any]) -> None:
    await provider.arrived.wait()
    ensure(not sending.done(), "the channel did not wait for the answer")
    provider.release.set()


# What a channel that hears people owes to those who write there.


_WAIT_SECONDS: Final = 1.0
_MOST_LOOKS: Final = 20
_WORDS: Final = ("first-words", "second-words", "third-words")  # each could be a button's token, too


async def _heard(case: Case) -> None:
    async with _person(case) as person:
        await person.write(case.text)
        with overhearing() as aside:
            async with _listening(person) as channel:
                event = (await _until(channel, 1)).events[0]
    ensure(isinstance(event, InboundMessage), "words are heard as something else")
    if isinstance(event, InboundMessage):
        ensure(event.text == case.text, "the words are not those that were written")
        ensure(event.author == person.sender, f"{person.sender} wrote it, and {event.author} is named")
        ensure(event.channel == case.name, f"it was heard on {event.channel!r}")
        ensure(event.places, "no place is named")
    ensure(case.text not in aside.text + repr(event), "what people write appears in a log or a repr")


async def _same_event(case: Case) -> None:
    async with _person(case) as person:
        await _act(case, person, 0)
        async with _listening(person) as channel:
            first = (await _until(channel, 1)).events[0]
            await person.show_again()
            again = (await _until(channel, 1)).events[0]
    ensure(first.event_id == again.event_id, "the same event has another id when it is shown again")


async def _other_event(case: Case) -> None:
    async with _person(case) as person:
        for _ in range(2):
            await _act(case, person, 0)
        async with _listening(person) as channel:
            events = (await _until(channel, 2)).events
    ensure(len({event.event_id for event in events}) == 2, "the same done twice is taken for one event")


async def _order(case: Case) -> None:
    async with _person(case) as person:
        for number, _ in enumerate(_WORDS):
            await _act(case, person, number)
        async with _listening(person) as channel:
            events = (await _until(channel, len(_WORDS))).events
    ensure(list(map(_said, events)) == list(_WORDS), "what was done one after the other is heard otherwise")


async def _positions(case: Case) -> None:
    async with _person(case) as person, _listening(person) as channel:
        seen: list[int] = []
        for number in range(2):
            await _act(case, person, number)
            seen.append((await _until(channel, 1, seen[-1] if seen else None)).position or 0)
    ensure(seen[0] < seen[1], f"positions do not grow: {seen}")


async def _bots(case: Case) -> None:
    ensure(await _authors(case, by_bot=True) <= {None}, "what a program wrote counts as a person's words")


async def _forged(case: Case) -> None:
    ensure(await _authors(case, forged=True) <= {None}, "forged words count as those of the person they name")


async def _authors(case: Case, *, by_bot: bool = False, forged: bool = False) -> set[str | None]:
    """Of words that are no person's own; nobody when they are not even heard."""
    async with _person(case) as person:
        await person.write(_WORDS[0], by_bot=by_bot, forged=forged)
        await person.write(_WORDS[1])
        async with _listening(person) as channel:
            events = (await _until(channel, 1, last=_WORDS[1])).events
    return {one.author for one in events if isinstance(one, InboundMessage) and one.text == _WORDS[0]}


async def _acknowledging(case: Case) -> None:
    async with _person(case) as person:
        await _act(case, person, 0)
        async with _listening(person) as channel:
            position = (await _until(channel, 1)).position
            ensure(person.acknowledged == 0, "it was acknowledged before it was handled")
            await channel.listen(position, _WAIT_SECONDS)
            ensure(person.acknowledged == 1, "asking with a position did not acknowledge what was before it")


async def _restart(case: Case) -> None:
    async with _person(case) as person:
        await _act(case, person, 0)
        async with _listening(person) as channel:
            before = (await _until(channel, 1)).events
        async with _listening(person) as channel:
            after = (await _until(channel, 1)).events
    ensure(before[0].event_id == after[0].event_id, "a restart before it was acknowledged lost it or renamed it")


async def _presses(case: Case) -> None:
    async with _person(case) as person:
        await person.press("token-1")
        async with _listening(person) as channel:
            event = (await _until(channel, 1)).events[0]
    ensure(isinstance(event, Press), "a press is heard as something else")
    if isinstance(event, Press):
        ensure(event.token == "token-1", "the token is not the button's")  # noqa: S105
        ensure(event.sender == person.sender, f"{person.sender} pressed, and {event.sender} is named")
        ensure("token-1" not in repr(event), "the repr shows the token")


async def _quiet(case: Case) -> None:
    async with _person(case) as person, _listening(person) as channel:
        listened = await channel.listen(None, _WAIT_SECONDS)
    ensure(not listened.events, "something is heard although nothing was said")


async def _away(case: Case) -> None:
    async with _person(case) as person, _listening(person) as channel:
        await person.leave()
        try:
            await channel.listen(None, _WAIT_SECONDS)
        except TargetUnavailable:
            return
        except PostroomError as error:
            raise AssertionError(f"the provider is away, and {type(error).__name__} was raised") from None
    raise AssertionError("the provider is away, and nothing is said about it")


_SENTENCES: Final = MappingProxyType[str, tuple[str, Look]](
    {
        "heard": ("What a person writes is heard: their words, their name, the place.", _heard),
        "same-event": ("An event that is shown twice has one id.", _same_event),
        "other-event": ("The same done twice is two events.", _other_event),
        "order": ("What was done first is heard first.", _order),
        "positions": ("Positions grow.", _positions),
        "bots": ("What a program writes is marked, and has no author.", _bots),
        "forged": ("Words that are not the person's own, forwarded ones say, are marked and have no author.", _forged),
        "acknowledging": ("Nothing is acknowledged before the next look asks with its position.", _acknowledging),
        "restart": ("A restart between handling and acknowledging shows it again, under the same id.", _restart),
        "presses": ("A press brings the button's token and who pressed.", _presses),
        "quiet": ("When nothing was said, nothing is heard.", _quiet),
        "away": ("A provider that is away is said to be away.", _away),
    }
)


def hearing(case: Case) -> list[Check]:
    if case.person is None:
        return []
    return [check_of(case, CheckGroup.INBOUND, "inbound", name, *one) for name, one in _SENTENCES.items()]


@asynccontextmanager
async def _person(case: Case) -> AsyncIterator[PersonSide]:
    if case.person is None:
        raise AssertionError("the Case gives no `person`")
    async with asyncio.timeout(PATIENCE_SECONDS), case.person() as person:
        yield person


@asynccontextmanager
async def _listening(person: PersonSide) -> AsyncIterator[HearingChannel]:
    channel = person.connect()
    try:
        yield channel
    finally:
        await channel.close()


async def _act(case: Case, person: PersonSide, number: int) -> None:
    await (person.press if case.presses_only else person.write)(_WORDS[number])


def _said(event: InboundEvent) -> str | None:
    match event:
        case InboundMessage():
            return event.text
        case Press():
            return event.token
        case _:
            return None


async def _until(
    channel: HearingChannel, count: int, position: int | None = None, *, last: str | None = None
) -> Listened:
    """Looks until so much has come, acknowledging nothing new in between; or until these words were the last."""
    events: list[InboundEvent] = []
    reached: int | None = None
    for _ in range(_MOST_LOOKS):
        listened = await channel.listen(position, _WAIT_SECONDS)
        reached = reached if listened.position is None else listened.position
        events += [one for one in listened.events if one.event_id not in {seen.event_id for seen in events}]
        if len(events) >= count and (last is None or _ends_with(events, last)):
            return Listened(events=events, position=reached)
    raise AssertionError(f"{count} events were to be heard, and {len(events)} were")


def _ends_with(events: Sequence[InboundEvent], words: str) -> bool:
    return isinstance(events[-1], InboundMessage) and events[-1].text == words
