"""What a person can have of us without a model: /help, /status, /inbox, /asks, /stop, /why, /pair."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from postroom.conversations.model import InboundMove, InboundStatus, KeptMessage
from postroom.conversations.store import StoredInbound
from postroom.conversations.talk import DAY_SECONDS, ButlersStop, able
from postroom.conversations.texts import Texts, texts_for
from postroom.inbox.model import NotificationQuery
from postroom.inbox.store.notes import StoredNotes
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import Principal, Role
from postroom.message.channel import Outbound
from postroom.message.inbound import InboundMessage
from postroom.message.outgoing import said_back
from postroom.people.model import Person, inbox_of_person
from postroom.questions.asked_people import AskedPeople
from postroom.questions.model import QuestionStatus
from postroom.questions.questions import Asking
from postroom.questions.rules.words import asked_line, is_hidden, one_line

MOST_LISTED: Final = 5
_MOST_COUNTED: Final = 50
_LINE: Final = 100
_LOOKS: Final = 5
_FOR_ALL_TO_SEE: Final = frozenset({"help", "stop"})
_COMMAND: Final = re.compile(
    r"\s*/(help|start|status|inbox|asks|stop|why|pair)(?:@\w{1,64})?\s*", re.ASCII | re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkCommands:
    kept: StoredInbound
    people: AskedPeople
    inbox: StoredNotes
    asking: Asking
    stopper: ButlersStop
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
                return await self._inbox(texts, person)
            case "asks":
                return await self._asks(texts, person)
            case "stop":
                return await self._stop(texts, message, person)
            case "why":
                return await self._why(texts, message, person)
            case "pair":
                return texts.paired.format(name=person.name)
            case _:
                return texts.help.format(names=", ".join(f"/{name}" for name in able(self.butlers)) or "–")

    async def _inbox(self, texts: Texts, person: Person) -> str:
        now_us, owner = self.clock.now_us(), inbox_of_person(person.id)
        count = await self.inbox.unread(owner, now_us)
        newest = await self.inbox.page(owner, NotificationQuery(is_read=False, limit=MOST_LISTED), now_us)
        return _listed(texts.inbox, texts.inbox_empty, count, [one_line(one.message, _LINE) for one in newest])

    async def _asks(self, texts: Texts, person: Person) -> str:
        asked = await self.asking.listing(
            Principal(Role.PERSON, person.id), status=QuestionStatus.OPEN, mine=True, limit=_MOST_COUNTED
        )
        shown = [one.question for one in asked if not is_hidden(one.question)][:MOST_LISTED]
        return _listed(texts.asks, texts.asks_none, len(asked), [asked_line(one, _LINE) for one in shown])

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
