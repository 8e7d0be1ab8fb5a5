"""Put a channel into one situation."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from postroom.domain.ports import Channel
from postroom.testing.attempt import Ended, attempt, connected, ensure_discreet, ensure_ended, ensure_wait
from postroom.testing.case import Case, Place
from postroom.testing.check import Check, CheckGroup, Look, ensure
from postroom.testing.overheard import overhearing
from postroom.testing.sample import CARD, message, numbered, revision
from postroom.testing.servers.fake_server import FakeProvider
from postroom.testing.situation import Situation
from postroom.testing.standard import STANDARD

_GRACE_SECONDS: Final = 5.0


def own(case: Case) -> list[Check]:
    """The situations that only this channel's provider knows."""
    return [
        Check(
            id=f"own/{one.id}",
            group=CheckGroup.OWN,
            sentence=one.sentence or f"{one.id}.",
            look=_exactly(one),
            not_applicable=case.not_applicable.get(f"own/{one.id}"),
        )
        for one in case.more
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
        await play(case, told(case, name))

    return look


def _exactly(situation: Situation) -> Look:
    async def look(case: Case) -> None:
        outcome = await play(case, situation)
        if situation.retry_after_seconds is None:
            ensure(getattr(outcome, "retry_after_seconds", None) is None, "it makes up a wait that was not asked for")

    return look


async def play(case: Case, situation: Situation) -> Ended:
    """What came of the first message."""
    with overhearing() as heard:
        async with case.words.provider() as provider:
            provider.behave(*situation.steps)
            async with connected(case, Place(port=provider.port)) as channel:
                outcomes = await _outcomes(case, situation, channel, provider)
    for outcome, allowed in zip(outcomes, situation.endings, strict=True):
        ensure_ended(outcome, allowed)
        ensure_discreet(case, outcome, heard)
    ensure_wait(outcomes[0], situation.retry_after_seconds)
    _ensure_once(situation, provider)
    return outcomes[0]


async def _outcomes(case: Case, situation: Situation, channel: Channel, provider: FakeProvider) -> list[Ended]:
    """One message after the other, as many as the situation has endings."""
    outcomes = []
    for number, _ in enumerate(situation.endings, start=1):
        given = message(case, markup=CARD, revises=revision(case)) if situation.editing else numbered(case, number)
        sending = asyncio.create_task(attempt(channel, channel.prepare(given)[0], situation.timeout_seconds))
        if situation.held:
            await _waits_for(provider, sending)
        outcomes.append(await _in_time(sending, situation.timeout_seconds))
    return outcomes


async def _in_time(sending: asyncio.Task[Ended], timeout_seconds: float) -> Ended:
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
