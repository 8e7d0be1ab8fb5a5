"""What the suite looks at, and how: one message sent, and what came of it held against what may come of it."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import structlog

from postroom.kernel.values import errors
from postroom.kernel.values.errors import PostroomError, ValidationError
from postroom.message.channel import Channel
from postroom.message.delivery import Receipt
from postroom.testing.case import CARD, STANDARD, Case, Ending, Endings, Place, Situation, message, numbered, revision
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
