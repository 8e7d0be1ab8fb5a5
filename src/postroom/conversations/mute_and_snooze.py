"""What people press and write about notices: OK, later, mute; judged by who they are and not by where they are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import time, timedelta
from typing import Final

from postroom.attention.attention import Attention
from postroom.attention.model import NoticeState
from postroom.attention.reading import NoticeAct, NoticeView, read_button
from postroom.attention.state import same_sender
from postroom.conversations.history import StoredTalk
from postroom.conversations.model import SentBefore
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import Code, Refused
from postroom.kernel.values.ids import seconds, to_datetime, to_us
from postroom.kernel.values.principal import OWNER
from postroom.kernel.values.zones import instant, known_zone, said_moment
from postroom.message.channel import AnswersPresses, Outbound
from postroom.message.delivery import Priority
from postroom.message.inbound import InboundEvent, InboundMessage, Press
from postroom.message.outgoing import Outgoing, said_back
from postroom.message.wishes import OWN_AGENTS
from postroom.people.model import Person
from postroom.questions.asked_people import AskedPeople
from postroom.questions.hearing import NOT_VALID

HOUR_SECONDS: Final = 3600
LONGEST_SECONDS: Final = 30 * 86_400
NOT_YOURS: Final = "This message is for another person."
NOTHING: Final = "There is no message that this could be about."
USAGE: Final = "Write /snooze 2h, or /mute NAME 2h; without a time it is an hour."
_NEVER_WROTE: Final = "Nothing has come to you under that name so far."
_COMMAND: Final = re.compile(r"\s*/(mute|snooze)(?:@\w+)?(\s.{0,400})?", re.ASCII | re.DOTALL | re.IGNORECASE)
_NOBODYS: Final = OWN_AGENTS | {"messenger"}  # the household's own words: nothing to mute, nothing to put off
_LENGTH: Final = re.compile(r"(\d{1,4})([mhd])", re.ASCII)
_LIKE_LENGTH: Final = re.compile(r"[-+]?[\d.,]+[a-z]?", re.ASCII | re.IGNORECASE)  # such as 99999h: no one's name
_UNITS: Final = {"m": 60, "h": 3600, "d": 86_400}


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeEar:
    """`bots` answer presses, by channel."""

    attention: Attention
    people: AskedPeople
    said: StoredTalk
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
            said = await self._asked(words, person, typed[1].lower(), (typed[2] or "").split())
        except Refused as refused:
            said = refused.message
        key = f"notice:{typed[1].lower()}:{words.channel}:{words.event_id}"
        await self.outbound.submit(said_back(words, said, key=key, request_id=key), request_id=key, wait_seconds=0)
        return True

    async def _asked(self, words: InboundMessage, person: Person, verb: str, given: list[str]) -> str:
        lengths = [one for one in given if _LENGTH.fullmatch(one)]
        names = [one for one in given if not _LENGTH.fullmatch(one)]
        length = _seconds(lengths[0]) if lengths else HOUR_SECONDS
        if len(lengths) > 1 or len(names) > (verb == "mute") or length is None:
            return USAGE
        if any(_LIKE_LENGTH.fullmatch(one) for one in names):
            return USAGE
        if verb == "mute" and names:
            said = await self._mute(person, names[0], self.clock.now_us() + seconds(length))
            return said if await self._has_written(person, names[0]) else f"{said} {_NEVER_WROTE}"
        if (sent := await self._meant(words)) is None:
            return NOTHING
        views = [one for one in await self.attention.behind(sent.id) if _concerns(person, one)]
        if verb == "mute":
            agents = {one.agent for one in views} or ({sent.by} - _NOBODYS)
            return await self._mute_one(person, sorted(agents), self.clock.now_us() + seconds(length))
        return await self._put_off(words, sent, views, person, length)

    async def _has_written(self, person: Person, name: str) -> bool:
        """Otherwise it may be a slip of the pen, and the one who is meant goes on."""
        return any(same_sender(name, one) for one in (await self.attention.figures(person.id)).by_agent)

    async def _meant(self, words: InboundMessage) -> SentBefore | None:
        """What it replies to; without a reply, what the person has most likely before their eyes."""
        if words.replies_to is not None or words.answers is not None:
            return await self.said.replied_to(words)
        return await self.said.last_sent(words, _NOBODYS - {"attention"})

    async def _mute_one(self, person: Person, agents: Sequence[str], until_us: int) -> str:
        if len(agents) > 1:
            return f"That was from {', '.join(agents)}. Write /mute NAME for one of them."
        return await self._mute(person, agents[0], until_us) if agents else NOTHING

    async def _put_off(
        self, words: InboundMessage, sent: SentBefore, views: Sequence[NoticeView], person: Person, length: int
    ) -> str:
        """Where nothing was kept of it, because nobody has a policy, it is kept now."""
        said = NOTHING
        for view in views:
            said = await self._snooze(view, person, length)
        if views or sent.by in _NOBODYS:
            return said
        until_us, key = self.clock.now_us() + seconds(length), f"snoozed:{sent.id}:{words.event_id}"
        again = Outgoing(
            origin_butler=sent.by,
            channel=words.channel,
            message=sent.text,
            format=sent.format,
            subject=sent.subject,
            recipient=sent.address,
            idempotency_key=key,
        )
        kept = await self.attention.put_off(again, key, person.id, until_us)
        return await self._shown_again(kept, person, until_us) if kept is not None else NOTHING

    async def _snooze(self, view: NoticeView, person: Person, length: int) -> str:
        until_us = self.clock.now_us() + seconds(length)
        return await self._shown_again(await self.attention.snooze(view.id, until_us), person, until_us)

    async def _shown_again(self, view: NoticeView, person: Person, until_us: int) -> str:
        if view.state is NoticeState.MUTED:
            return f"What {view.agent} said there is muted, so it is not shown again; the console keeps it."
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
        return said_moment(at_us, (await self.attention.rules(person.id)).zone, self.clock.now_us())

    async def _person(self, channel: str, sender: str | None) -> Person | None:
        return await self.people.at(channel, sender) if sender is not None else None


def _concerns(person: Person, view: NoticeView) -> bool:
    """Whom it is for, whom it was shown to as well, and the owner."""
    return person.id in {view.person, OWNER, *(one for one, _ in view.standing.reached)}


def _seconds(length: str) -> int | None:
    found = _LENGTH.fullmatch(length)
    asked = int(found[1]) * _UNITS[found[2]] if found else 0
    return asked if 60 <= asked <= LONGEST_SECONDS else None


# What people hear who write to us and cannot be helped: one polite sentence a day, as a reply where they wrote.


def once_a_day(message: InboundMessage, words: str, day: str) -> Outgoing:
    """Sent to a place once a day: the key of a second one is taken, and nothing is sent."""
    key = f"unhandled:{message.channel}:{message.places[0]}:{day}"
    answer = said_back(message, words, key=key, request_id=request_id_of(message))
    return replace(answer, priority=Priority.LOW)


def request_id_of(message: InboundMessage) -> str:
    return f"{message.channel}-update-{message.number}"
