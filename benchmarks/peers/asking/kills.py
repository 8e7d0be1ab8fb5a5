"""kill -9 of the server at three moments of a question's life; then it is started again on the same data."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

import aiohttp
from chaos.questions.mailbox import CLOSED
from chaos.tokens import token_in

from benchmarks.peers.asking.agents import Agent, new_agent
from benchmarks.peers.asking.house import House
from benchmarks.peers.asking.tally import Fate

T = TypeVar("T")
AT_ONCE = 8
_MAIL_SECONDS = 12.0
_RETURN_SECONDS = 90.0
_LOOK_SECONDS = 0.1


class Moment(StrEnum):
    ASKED = "as the first of eight questions was accepted"
    ANSWERING = "as the first of eight answers was taken"
    ANSWERED = "as the last of eight answers was taken"


@dataclass(slots=True)
class Kills:
    """Everything that happened to one product, by moment."""

    house: House
    keys: Iterator[str]
    fates: dict[Moment, list[Fate]] = field(default_factory=dict)

    async def at(self, moment: Moment) -> None:
        fates = [Fate(key=next(self.keys)) for _ in range(AT_ONCE)]
        async with new_agent(self.house, [one.key for one in fates]) as agent:
            if moment is Moment.ASKED:
                await self._die_asked(agent, fates)
            else:
                await self._die_answered(agent, fates, moment)
            await self.house.server.start()
            await self._go_on(agent, fates)
        self.fates.setdefault(moment, []).extend(fates)

    async def _die_asked(self, agent: Agent, fates: Sequence[Fate]) -> None:
        """Two callers ask each question, the product's own client and a plain one that notes what was accepted."""

        async def ask(fate: Fate) -> None:
            fate.before = await _unless_cut(self.house.ask(fate.key, mail=True))

        agent.go()
        await self._kill_when_first(asyncio.create_task(ask(one)) for one in fates)

    async def _die_answered(self, agent: Agent, fates: Sequence[Fate], moment: Moment) -> None:
        agent.go()
        for fate in fates:
            fate.before = await self.house.ask(fate.key, mail=True)
        await self._mailed(fates)

        async def answer(fate: Fate) -> None:
            assert fate.before is not None
            fate.given = "yes" if await _unless_cut(self.house.answer(fate.before, "yes")) else None

        answers = [asyncio.create_task(answer(one)) for one in fates]
        if moment is Moment.ANSWERED:
            await asyncio.wait(answers)
        await self._kill_when_first(answers)

    async def _kill_when_first(self, tasks: Iterable[asyncio.Task[None]]) -> None:
        """Connections that the server had open when it died are worth nothing to the next one."""
        running = list(tasks)
        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        await self.house.server.kill()
        await asyncio.gather(*running)

    async def _go_on(self, agent: Agent, fates: Sequence[Fate]) -> None:
        """Asked again under the same keys; a person whose answer was not taken gives another one."""
        for fate in fates:
            fate.after = await self.house.ask(fate.key, mail=True)
        await self._mailed(fates)
        for fate in fates:
            if fate.given is None and await self.house.answer(fate.after or "", "no"):
                fate.given = "no"
        await self._returned(agent, fates)

    async def _returned(self, agent: Agent, fates: Sequence[Fate]) -> None:
        try:
            async with asyncio.timeout(_RETURN_SECONDS):
                await agent.read()
                for fate in fates:
                    fate.values.append(await self.house.waited(fate.after or ""))
        except TimeoutError:
            pass  # what has not returned by now counts as never
        for fate in fates:
            if (one := agent.returned.get(fate.key)) is not None:
                fate.values.append(one.value)
                fate.errors = len(one.errors)

    async def _mailed(self, fates: Sequence[Fate]) -> None:
        """A person answers when the mail is there, or when none will come any more."""
        until = time.monotonic() + _MAIL_SECONDS
        while time.monotonic() < until:
            mails = await asking_mails(self.house)
            if all(fate.key in mails for fate in fates):
                return
            await asyncio.sleep(_LOOK_SECONDS)

    async def count_mails(self) -> None:
        """At the very end, so that a late second one is seen."""
        mails = await asking_mails(self.house)
        for fate in (one for many in self.fates.values() for one in many):
            fate.mails = mails.get(fate.key, 0)


async def asking_mails(house: House) -> dict[str, int]:
    """How many mails asked each question; one that says how it ended asks nothing."""
    found: dict[str, int] = {}
    for mail in await house.place.mail.listed("email"):
        key = token_in(mail["subject"]) or token_in(mail["body"])
        if key is not None and CLOSED not in mail["body"]:
            found[key] = found.get(key, 0) + 1
    return found


async def _unless_cut(call: Awaitable[T]) -> T | None:
    try:
        return await call
    except (aiohttp.ClientError, OSError):
        return None
