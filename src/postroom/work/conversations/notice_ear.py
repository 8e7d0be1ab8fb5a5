"""What people press and write about notices: OK, later, mute; judged by who they are and not by where they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import time, timedelta
from typing import Final, Protocol

from postroom.domain.errors import Code, Refused
from postroom.domain.inbound_message import InboundEvent, InboundMessage, Press
from postroom.domain.person import Person
from postroom.domain.ports import Clock, Outbound
from postroom.domain.principal import OWNER
from postroom.domain.said_back import said_back
from postroom.domain.time import seconds, to_datetime, to_us
from postroom.domain.wall_clock import instant, known_zone
from postroom.work.attention.attention import Attention
from postroom.work.attention.notice_buttons import NoticeAct, read_button
from postroom.work.attention.views import NoticeView
from postroom.work.questions.hearing import NOT_VALID, AnswersPresses

HOUR_SECONDS: Final = 3600
LONGEST_SECONDS: Final = 30 * 86_400
NOT_YOURS: Final = "This message is for another person."
NOTHING: Final = "There is no message that this could be about."
USAGE: Final = "Write /snooze 2h, or /mute NAME 2h; without a time it is an hour."
_COMMAND: Final = re.compile(r"/(mute|snooze)(?:@\w+)?((?:\s+\S{1,200}){0,2})\s*", re.ASCII)
_LENGTH: Final = re.compile(r"(\d{1,4})([mhd])", re.ASCII)
_UNITS: Final = {"m": 60, "h": 3600, "d": 86_400}


class ProvedPeople(Protocol):
    async def at(self, channel: str, address: str) -> Person | None:
        """The person who has proved that this address is theirs."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeEar:
    """`bots` answer presses, by channel."""

    attention: Attention
    people: ProvedPeople
    key: bytes
    outbound: Outbound
    bots: Mapping[str, AnswersPresses]
    clock: Clock

    async def handle(self, event: InboundEvent) -> bool:
        """True when it was about a notice."""
        if isinstance(event, Press):
            return await self._press(event)
        return isinstance(event, InboundMessage) and await self._words(event)

    async def _press(self, press: Press) -> bool:
        if (button := read_button(self.key, press.token)) is None:
            return False
        person = await self._person(press.channel, None if press.flags else press.sender)
        try:
            words, alert = await self._pressed(person, *button), False
        except Refused as refused:
            words, alert = refused.message, True
        if bot := self.bots.get(press.channel):
            await bot.answer_press(press.callback_id, words, alert=alert)
        return True

    async def _pressed(self, person: Person | None, act: NoticeAct, notice_id: str) -> str:
        view = await self.attention.notice(notice_id)
        if view is None:
            raise Refused(Code.NOT_FOUND, NOT_VALID)
        if person is None or not _concerns(person, view):
            raise Refused(Code.POLICY_DENIED, NOT_YOURS)
        match act:
            case NoticeAct.OK:
                await self.attention.ack(view.id, by=person.id)
                return "✅ Noted."
            case NoticeAct.LATER:
                return await self._snooze(view, person, HOUR_SECONDS)
            case NoticeAct.MUTE_TODAY:
                return await self._mute_today(view, person)

    async def _words(self, words: InboundMessage) -> bool:
        """Only where the person is alone with us, and only of people whom we know there."""
        if not words.alone or words.author is None or (typed := _COMMAND.fullmatch(words.text or "")) is None:
            return False
        if (person := await self._person(words.channel, words.author)) is None:
            return False
        try:
            said = await self._asked(person, typed[1], typed[2].split())
        except Refused as refused:
            said = refused.message
        key = f"notice:{typed[1]}:{words.channel}:{words.event_id}"
        await self.outbound.submit(said_back(words, said, key=key, request_id=key), request_id=key, wait_seconds=0)
        return True

    async def _asked(self, person: Person, verb: str, given: list[str]) -> str:
        lengths = [one for one in given if _LENGTH.fullmatch(one)]
        names = [one for one in given if not _LENGTH.fullmatch(one)]
        length = _seconds(lengths[0]) if lengths else HOUR_SECONDS
        if len(lengths) > 1 or len(names) > (verb == "mute") or length is None:
            return USAGE
        if verb == "mute" and names:
            return await self._mute(person, names[0], self.clock.now_us() + seconds(length))
        if (view := await self._latest(person)) is None:
            return NOTHING
        if verb == "mute":
            return await self._mute(person, view.agent, self.clock.now_us() + seconds(length))
        return await self._snooze(view, person, length)

    async def _latest(self, person: Person) -> NoticeView | None:
        """What the person has most likely before their eyes."""
        for cell in ("waiting", "sent"):
            if found := await self.attention.notices(person.id, cell, 1):
                return found[0]
        return None

    async def _snooze(self, view: NoticeView, person: Person, length: int) -> str:
        until_us = self.clock.now_us() + seconds(length)
        await self.attention.snooze(view.id, until_us, by=person.id)
        return f"Shown again at {await self._clock(person, until_us)}."

    async def _mute_today(self, view: NoticeView, person: Person) -> str:
        """What was muted has been seen: it is not repeated either."""
        zone = known_zone((await self.attention.rules(person.id)).zone)
        tomorrow = to_datetime(self.clock.now_us()).astimezone(zone).date() + timedelta(days=1)
        said = await self._mute(person, view.agent, to_us(instant(tomorrow, time(0), zone, last=False)))
        with suppress(Refused):
            await self.attention.ack(view.id, by=person.id)
        return said

    async def _mute(self, person: Person, agent: str, until_us: int) -> str:
        await self.attention.mute(person.id, agent=agent, until_us=until_us)
        return f"Muted {agent} until {await self._clock(person, until_us)}."

    async def _clock(self, person: Person, at_us: int) -> str:
        zone = known_zone((await self.attention.rules(person.id)).zone)
        at, now = to_datetime(at_us).astimezone(zone), to_datetime(self.clock.now_us()).astimezone(zone)
        return at.strftime("%H:%M" if at.date() == now.date() else "%Y-%m-%d %H:%M")

    async def _person(self, channel: str, sender: str | None) -> Person | None:
        return await self.people.at(channel, sender) if sender is not None else None


def _concerns(person: Person, view: NoticeView) -> bool:
    """Whom it is for, whom it was shown to as well, and the owner."""
    return person.id in {view.person, OWNER, *(one for one, _ in view.standing.reached)}


def _seconds(length: str) -> int | None:
    found = _LENGTH.fullmatch(length)
    asked = int(found[1]) * _UNITS[found[2]] if found else 0
    return asked if 60 <= asked <= LONGEST_SECONDS else None
