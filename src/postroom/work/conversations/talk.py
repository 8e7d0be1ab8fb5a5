"""What a person wrote to us and nothing else took: decided once, and handed to a butler or answered with a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import structlog

from postroom.domain.assurance import Flag
from postroom.domain.clock import Clock
from postroom.domain.inbound_message import InboundMessage
from postroom.domain.kept_message import KeptMessage, RoutedMessage, RouteKind
from postroom.domain.nearest import nearest
from postroom.domain.outgoing import Outgoing
from postroom.domain.person import Person
from postroom.domain.ports import Outbound
from postroom.domain.said_back import said_back
from postroom.domain.time import seconds, to_text
from postroom.system.signal import Signal
from postroom.work.conversations.kept import KeepsMessages
from postroom.work.conversations.notice_ear import ProvedPeople, SaidHere
from postroom.work.conversations.routing import COMMANDS, InboundFacts, route
from postroom.work.conversations.strangers import once_a_day, request_id_of
from postroom.work.conversations.texts import Texts, texts_for

DAY_SECONDS: Final = 86_400
_log = structlog.get_logger("postroom.inbound")


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    kept: KeepsMessages
    people: ProvedPeople
    threads: SaidHere
    butlers: Mapping[str, bool]
    outbound: Outbound
    clock: Clock
    sessions_per_day: int
    tokens_per_day: int
    wake: Signal = field(default_factory=Signal)

    async def handle(self, message: InboundMessage) -> bool:
        """The sentence first and the decision after it: what a crash comes between is said once, by its key."""
        kept = await self.kept.keep(message, self.clock.now_us())
        person = await self.people.at(message.channel, message.sender) if message.sender is not None else None
        routed = route(await self._facts(message, person))
        if (said := self._said(kept, person, routed)) is not None:
            await self.outbound.submit(said, request_id=request_id_of(message), wait_seconds=0)
        if routed.kind is not RouteKind.BUTLER:
            _log.info("inbound.unhandled", source=message.channel, update_id=message.number, kind=str(routed.kind))
        await self.kept.decide(kept, routed, person.id if person else None, self.clock.now_us())
        self.wake.ring()
        return True

    async def _facts(self, message: InboundMessage, person: Person | None) -> InboundFacts:
        since_us, before = self.clock.now_us() - seconds(DAY_SECONDS), await self.threads.replied_to(message)
        return InboundFacts(
            message=message,
            person=person,
            thread=before.by if before else None,
            butlers=self.butlers,
            sessions_today=await self.kept.sessions_since(person.id, since_us) if person else 0,
            sessions_per_day=self.sessions_per_day,
            tokens_today=await self.kept.tokens_since(person.id, since_us) if person else 0,
            tokens_per_day=self.tokens_per_day,
        )

    def _said(self, kept: KeptMessage, person: Person | None, routed: RoutedMessage) -> Outgoing | None:
        message, texts, day = kept.message, texts_for(person.language if person else None), self._day()
        match routed.kind:
            case RouteKind.STRANGER:
                return once_a_day(message, texts.stranger, day) if message.alone else None
            case RouteKind.IGNORED:
                forwarded = message.alone and message.flags == {Flag.FORWARDED}  # a machine is never answered
                return once_a_day(message, texts.forwarded, day) if forwarded else None
            case RouteKind.CHOICE | RouteKind.NO_MODEL | RouteKind.UNKNOWN:
                return said_back(message, self._words(texts, routed), key=words_key(kept), request_id=kept.id)
            case RouteKind.LIMIT:  # once an hour, for two machines may be talking to each other
                key = f"talk:limit:{message.channel}:{message.places[0]}:{to_text(self.clock.now_us())[:13]}"
                return said_back(message, self._words(texts, routed), key=key, request_id=kept.id)
            case _:
                return None

    def _words(self, texts: Texts, routed: RoutedMessage) -> str:
        butler = routed.target
        if routed.kind is RouteKind.LIMIT:
            return texts.limit.format(sessions=self.sessions_per_day, tokens=self.tokens_per_day)
        if routed.kind is RouteKind.UNKNOWN:
            return _unknown(texts, routed.words, self.butlers)
        if routed.kind is RouteKind.NO_MODEL:
            return texts.butler_without_model.format(butler=butler) if butler else texts.no_model
        if butler:
            return texts.nothing_asked.format(butler=butler)
        return texts.choose.format(names="\n".join(f"/{name} …" for name in able(self.butlers)))

    def _day(self) -> str:
        return to_text(self.clock.now_us())[:10]


def _unknown(texts: Texts, word: str, butlers: Mapping[str, bool]) -> str:
    if word in COMMANDS:
        return texts.command_alone.format(word=word)
    meant = nearest(word, [*COMMANDS, *able(butlers)])
    return texts.unknown_command.format(word=word) + (texts.did_you_mean.format(word=meant) if meant else "")


def able(butlers: Mapping[str, bool]) -> list[str]:
    return [name for name, has_model in butlers.items() if has_model]


def words_key(kept: KeptMessage) -> str:
    """Of what the household itself says about a message: one thing, once."""
    return f"talk:{kept.id}"
