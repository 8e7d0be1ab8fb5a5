"""What a person can have of us without a model: /help, /status, /inbox, /asks, /stop, /why, /pair."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from postroom.conversations.inbound import KeepsMessages
from postroom.conversations.model import InboundMove, InboundStatus, KeptMessage
from postroom.conversations.mute_and_snooze import ProvedPeople
from postroom.conversations.talk import DAY_SECONDS, StopsSessions, able
from postroom.conversations.texts import Texts, texts_for
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.ids import seconds
from postroom.message.channel import Outbound
from postroom.message.inbound import InboundMessage
from postroom.message.outgoing import said_back
from postroom.people.model import Person

MOST_LISTED: Final = 5
_LOOKS: Final = 5
_FOR_ALL_TO_SEE: Final = frozenset({"help", "stop"})
_COMMAND: Final = re.compile(
    r"\s*/(help|start|status|inbox|asks|stop|why|pair)(?:@\w{1,64})?\s*", re.ASCII | re.IGNORECASE
)


class WaitsForPerson(Protocol):
    """What waits for a person: how much of it, and the newest as one line each."""

    async def unread(self, person: str, most: int) -> tuple[int, Sequence[str]]: ...

    async def questions(self, person: str, most: int) -> tuple[int, Sequence[str]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkCommands:
    kept: KeepsMessages
    people: ProvedPeople
    desk: WaitsForPerson
    stopper: StopsSessions
    outbound: Outbound
    butlers: Mapping[str, bool]
    clock: Clock
    sessions_per_day: int

    async def handle(self, message: InboundMessage) -> bool:
        """Only of people whom we know; what it replies to does not matter."""
        command = _command(message)
        if command is None or message.author is None:
            return False
        person = await self.people.at(message.channel, message.author)
        if person is None:
            return False
        words = await self._words(command, message, person)
        key = f"talk:{command}:{message.channel}:{message.event_id}"
        await self.outbound.submit(said_back(message, words, key=key, request_id=key), request_id=key, wait_seconds=0)
        return True

    async def _words(self, command: str, message: InboundMessage, person: Person) -> str:
        texts = texts_for(person.language)
        match command:
            case "status":
                return await self._status(texts, message, person)
            case "inbox":
                return _listed(texts.inbox, texts.inbox_empty, *await self.desk.unread(person.id, MOST_LISTED))
            case "asks":
                return _listed(texts.asks, texts.asks_none, *await self.desk.questions(person.id, MOST_LISTED))
            case "stop":
                return await self._stop(texts, message, person)
            case "why":
                return await self._why(texts, message, person)
            case "pair":
                return texts.paired.format(name=person.name)
            case _:
                return texts.help.format(names=", ".join(f"/{name}" for name in able(self.butlers)) or "–")

    async def _status(self, texts: Texts, message: InboundMessage, person: Person) -> str:
        under_way = await self._open(message, person)
        running = texts.idle
        if under_way:
            running = texts.works.format(butler=under_way[0].target, waiting=len(under_way) - 1)
        count = await self.kept.sessions_since(person.id, self.clock.now_us() - seconds(DAY_SECONDS))
        said = texts.status.format(running=running, count=count, most=self.sessions_per_day)
        own = person.default_butler
        return f"{said}\n{texts.default.format(butler=own) if own else texts.no_default}"

    async def _stop(self, texts: Texts, message: InboundMessage, person: Person) -> str:
        """What has not begun never does. One that moves on meanwhile is looked at again."""
        stopped = False
        for _ in range(_LOOKS):
            under_way = await self._open(message, person)
            for one in reversed(under_way):
                await self.kept.move(one, InboundMove.STOP, self.clock.now_us())
                if one.session_id is not None:
                    await self.stopper.stop(one.target or "", one.session_id)
            stopped = stopped or bool(under_way)
            if not under_way:
                break
        return texts.stopped if stopped else texts.nothing_runs

    async def _why(self, texts: Texts, message: InboundMessage, person: Person) -> str:
        last = await self.kept.last(person.id, message.channel, message.places[0])
        if last is None:
            return texts.why_none
        return texts.why.format(butler=last.target, reason=last.reason, status=last.status)

    async def _open(self, message: InboundMessage, person: Person) -> Sequence[KeptMessage]:
        found = await self.kept.open_in(person.id, message.channel, message.places[0])
        return [one for one in found if one.status is not InboundStatus.RECEIVED]


def _command(message: InboundMessage) -> str | None:
    """In a group only what tells the others nothing, and only when it names us."""
    typed = _COMMAND.fullmatch(message.text or "")
    command = typed[1].lower() if typed else None
    meant = message.alone or (message.addressed and command in _FOR_ALL_TO_SEE)
    return command if meant else None


def _listed(title: str, empty: str, count: int, lines: Sequence[str]) -> str:
    return "\n".join([title.format(count=count), *(f"• {line}" for line in lines)]) if count else empty
