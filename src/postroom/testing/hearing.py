"""What a channel that hears people owes to those who write there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Final

from postroom.kernel.values.errors import PostroomError, TargetUnavailable
from postroom.message.inbound import InboundEvent, InboundMessage, Listened, Press
from postroom.testing.case import Case, HearingChannel, PersonSide
from postroom.testing.checks import PATIENCE_SECONDS, Check, CheckGroup, Look, check_of, ensure, overhearing

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
