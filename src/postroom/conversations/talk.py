"""Hands what people wrote to their butlers, one message of a conversation after the other, and sees it answered."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

import structlog

from postroom.butlers.model import TERMINAL, Session, SessionEnd, SessionStatus
from postroom.butlers.store import StoredSessions
from postroom.butlers.wire import Route
from postroom.conversations.history import StoredTalk
from postroom.conversations.model import (
    COMMANDS,
    InboundFacts,
    InboundMove,
    InboundStatus,
    KeptMessage,
    RoutedMessage,
    RouteKind,
    SpokenTurn,
    named,
    route,
)
from postroom.conversations.mute_and_snooze import once_a_day, request_id_of
from postroom.conversations.store import StoredInbound
from postroom.conversations.texts import Texts, texts_for
from postroom.delivery.files.taking import FileTaking
from postroom.inbox.model import NotificationQuery
from postroom.inbox.store.notes import StoredNotes
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import PostroomError, TargetUnavailable
from postroom.kernel.values.fields import nearest
from postroom.kernel.values.ids import seconds, to_text
from postroom.kernel.values.principal import Principal, Role
from postroom.message.attachment import file_shape
from postroom.message.channel import HidesWork, Outbound, ShowsWork
from postroom.message.delivery import Format
from postroom.message.inbound import Flag, InboundMessage
from postroom.message.outgoing import Outgoing, said_back
from postroom.message.wire import Routed
from postroom.people.model import Person, inbox_of_person
from postroom.questions.asked_people import AskedPeople
from postroom.questions.model import QuestionStatus
from postroom.questions.questions import Asking
from postroom.questions.rules.words import asked_line, is_hidden, one_line
from postroom.settings.peer import Peer

MOST_TURNS: Final = 6
MOST_TURN_CHARACTERS: Final = 1_000
MOST_WORDS: Final = 20_000
MOST_SAID: Final = 8_000
_MOST_REASON: Final = 300
_ROUTE_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 20.0
_GIVE_UP_SECONDS: Final = 300.0  # a butler that is away for longer does not answer
_PAUSE_SECONDS: Final = 0.25
_AGAIN_SECONDS: Final = 5.0  # after what could not be done just now
_SHOWN_SECONDS: Final = 4.0  # the quickest to hide it again does so after five
_SHOW_TIMEOUT_SECONDS: Final = 2.0

Conversation = tuple[str | None, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ButlersStop:
    """Each butler ends its own sessions, in this process or another."""

    peers: Mapping[str, Peer]

    async def stop(self, butler: str, session_id: str) -> None:
        """Raises nothing: a session of a message that is stopped is not begun, whenever its butler comes back."""
        with suppress(PostroomError):
            await self.peers[butler].call("sessions_stop", {"session_id": session_id}, _STOP_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownWork:
    """The message whose answer is seen to be worked on, and since when."""

    kept: KeptMessage
    at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """`channels` show that an answer is being worked on."""

    kept: StoredInbound
    sessions: StoredSessions
    said: StoredTalk
    route: Callable[[str, Route, float], Awaitable[Routed]]
    stopper: ButlersStop
    people: AskedPeople
    outbound: Outbound
    channels: Mapping[str, ShowsWork]
    files: FileTaking
    clock: Clock
    wake: Signal
    _shown: dict[Conversation, ShownWork] = field(default_factory=dict)

    async def look(self) -> int | None:
        """The first of each conversation; the others wait for it."""
        first: dict[Conversation, KeptMessage] = {}
        for one in await self.kept.with_butlers():
            first.setdefault(one.conversation, one)
        await self._hide_ended({one.id for one in first.values()})
        ended = await asyncio.gather(*map(self._advance, first.values()), return_exceptions=True)
        errors = [one for one in ended if one is not None]
        if bugs := [one for one in errors if not isinstance(one, PostroomError)]:
            raise bugs[0]
        if not first:
            return None
        return self.clock.now_us() + seconds(_AGAIN_SECONDS if errors else _PAUSE_SECONDS)

    async def _advance(self, kept: KeptMessage) -> None:
        match kept.status:
            case InboundStatus.ROUTED:
                await self._hand_over(kept)
            case InboundStatus.WAITING | InboundStatus.RUNNING:
                await self._follow(kept)
            case _:
                pass

    async def _hand_over(self, kept: KeptMessage) -> None:
        """The same message twice is the same session: its request has the message's name."""
        try:
            taken = await self.route(kept.target or "", await self._route(kept), _ROUTE_SECONDS)
            if taken.error is not None:
                raise taken.error
        except PostroomError as error:
            if error.retryable and self.clock.now_us() - kept.changed_us < seconds(_GIVE_UP_SECONDS):
                raise
            await self._fail(kept, (await self._texts(kept)).unreachable, error.message)
            return
        session_id = taken.session_id
        if not session_id:
            raise TargetUnavailable(f"{kept.target} named no session")
        if not await self.kept.move(kept, InboundMove.HAND_OVER, self.clock.now_us(), session_id=session_id):
            await self.stopper.stop(kept.target or "", session_id)  # the person was faster
        self.wake.ring()

    async def _follow(self, kept: KeptMessage) -> None:
        session = await self.sessions.get(kept.target or "", kept.session_id or "")
        if session is None:
            await self._fail(kept, (await self._texts(kept)).failed, "its session is gone")
        elif session.status in TERMINAL:
            await self._settle(kept, session)
        elif session.status is SessionStatus.RUNNING and kept.status is InboundStatus.WAITING:
            await self.kept.move(kept, InboundMove.BEGIN, self.clock.now_us())
            await self._show_work(kept)
        elif session.status is SessionStatus.QUEUED and kept.status is InboundStatus.RUNNING:
            await self.kept.move(kept, InboundMove.RETURN, self.clock.now_us())
        elif session.status is SessionStatus.RUNNING:
            await self._show_work(kept)

    async def _settle(self, kept: KeptMessage, session: Session) -> None:
        if session.is_stopped:
            await self.kept.move(kept, InboundMove.STOP, self.clock.now_us(), tokens=session.tokens)
        elif session.status is SessionStatus.DONE:
            if not await self.said.replied(kept.id):
                own = session.last_words[:MOST_SAID]
                await self._say(kept, own or await self._silent(kept), Format.MARKDOWN if own else Format.PLAIN)
            await self.kept.move(kept, InboundMove.ANSWER, self.clock.now_us(), tokens=session.tokens)
        else:
            words = _of_failure(await self._texts(kept), session, began=await self.said.replied(kept.id))
            await self._fail(kept, words, session.error_message or "", tokens=session.tokens)
        self.wake.ring()

    async def _fail(self, kept: KeptMessage, words: str, reason: str, tokens: int = 0) -> None:
        await self._say(kept, words.format(butler=kept.target))
        why = f"{kept.reason}; {reason}"[:500]
        await self.kept.move(kept, InboundMove.FAIL, self.clock.now_us(), reason=why, tokens=tokens)

    async def _say(self, kept: KeptMessage, words: str, format: Format = Format.PLAIN) -> None:
        """Raises when it is not in the ledger and may be tried again; what can never be sent is not."""
        answer = replace(said_back(kept.message, words, key=words_key(kept), request_id=kept.id), format=format)
        outcome = await self.outbound.submit(answer, request_id=kept.id, wait_seconds=0)
        if outcome.error is not None and outcome.retryable:
            raise outcome.error

    async def _silent(self, kept: KeptMessage) -> str:
        return (await self._texts(kept)).silent.format(butler=kept.target)

    async def _show_work(self, kept: KeptMessage) -> None:
        channel, now_us = self.channels.get(kept.message.channel), self.clock.now_us()
        before = self._shown.get(kept.conversation)
        if channel is None or (before and now_us - before.at_us < seconds(_SHOWN_SECONDS)):
            return
        self._shown[kept.conversation] = ShownWork(kept=kept, at_us=now_us)
        await channel.show_work(kept.message.places[0], kept.message.message_id, _SHOW_TIMEOUT_SECONDS)

    async def _hide_ended(self, open_ids: Set[str]) -> None:
        """Answered, failed or stopped, by this process or by a command."""
        for conversation, shown in [one for one in self._shown.items() if one[1].kept.id not in open_ids]:
            message, channel = shown.kept.message, self.channels.get(shown.kept.message.channel)
            del self._shown[conversation]
            if isinstance(channel, HidesWork):
                await channel.hide_work(message.places[0], message.message_id, _SHOW_TIMEOUT_SECONDS)

    async def _texts(self, kept: KeptMessage) -> Texts:
        person = await self._person(kept)
        return texts_for(person.language if person else None)

    async def _person(self, kept: KeptMessage) -> Person | None:
        return next((one for one in await self.people.find(kept.person or "") if one.id == kept.person), None)

    async def _route(self, kept: KeptMessage) -> Route:
        person, turns = await self._person(kept), await self.said.turns(kept, MOST_TURNS)
        before = await self.said.replied_to(kept.message)
        context: dict[str, Any] = {
            "written_by": person.name if person else "",
            "said_before": [_shown(one) for one in turns],
        }
        if before is not None:
            context["in_reply_to"] = _shown(SpokenTurn(by=before.by, text=before.text, at_us=before.at_us))
        if handed := await self.files.hand_on(kept.message.files, kept.target or ""):
            context["files"] = [file_shape(one) for one in handed]
        return Route(
            request_id=kept.id,
            sender=kept.message.places[0],
            prompt=(kept.message.text or "")[:MOST_WORDS],
            context=context,
            request_context=request_context(kept),
        )


def _of_failure(texts: Texts, session: Session, *, began: bool) -> str:
    """Nobody can tell first words from a whole answer: of a session that `began` one the person hears how it ended."""
    if began:
        return texts.unfinished
    if session.end_code is SessionEnd.NO_MODEL:
        reason = (session.error_message or "")[:_MOST_REASON]
        return texts.no_model_works.format(butler="{butler}", reason=_literally(reason))
    return texts.timed_out if session.status is SessionStatus.TIMED_OUT else texts.failed


def _literally(words: str) -> str:
    return words.replace("{", "{{").replace("}", "}}")


def request_context(kept: KeptMessage) -> dict[str, Any]:
    """With it a session answers where the person wrote."""
    return {
        "request_id": kept.id,
        "received_at": to_text(kept.received_us),
        "source_channel": kept.message.channel,
        "source_endpoint_identity": "bot",
        "source_sender_identity": kept.message.places[0],
        "source_thread_identity": kept.message.thread_identity,
    }


def _shown(turn: SpokenTurn) -> dict[str, str]:
    return {"by": turn.by, "at": to_text(turn.at_us), "text": turn.text[:MOST_TURN_CHARACTERS]}


# What a person wrote to us and nothing else took: decided once, and handed to a butler or answered with a sentence.


DAY_SECONDS: Final = 86_400
_log = structlog.get_logger("postroom.inbound")


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    kept: StoredInbound
    people: AskedPeople
    threads: StoredTalk
    butlers: Mapping[str, bool]
    outbound: Outbound
    clock: Clock
    sessions_per_day: int
    tokens_per_day: int
    wake: Signal = field(default_factory=Signal)

    async def handle(self, message: InboundMessage) -> bool:
        """The sentence first and the decision after it: what a crash comes between is said once, by its key."""
        kept = await self.kept.named(message)
        person = await self.people.at(message.channel, message.sender) if message.sender is not None else None
        message = await self._with_files(message, person)
        routed = route(await self._facts(message, person))
        if (said := self._said(kept, person, routed)) is not None:
            await self.outbound.submit(said, request_id=request_id_of(message), wait_seconds=0)
        if routed.kind is not RouteKind.BUTLER:
            _log.info("inbound.unhandled", source=message.channel, update_id=message.number, kind=str(routed.kind))
        await self.kept.decide(message, routed, person.id if person else None, self.clock.now_us())
        self.wake.ring()
        return True

    async def _with_files(self, message: InboundMessage, person: Person | None) -> InboundMessage:
        """Who names a butler now, as asked, means it for the files that came without a name, too."""
        if person is None or named((message.text or "").strip(), self.butlers)[0] is None:
            return message
        since_us = self.clock.now_us() - seconds(DAY_SECONDS)
        return replace(message, files=(*await self.kept.unclaimed(person.id, message, since_us), *message.files))

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
                words = self._words(texts, routed, alone=message.alone)
                return said_back(message, words, key=words_key(kept), request_id=kept.id)
            case RouteKind.LIMIT:  # once an hour, for two machines may be talking to each other
                key = f"talk:limit:{message.channel}:{message.places[0]}:{to_text(self.clock.now_us())[:13]}"
                words = self._words(texts, routed, alone=message.alone)
                return said_back(message, words, key=key, request_id=kept.id)
            case _:
                return None

    def _words(self, texts: Texts, routed: RoutedMessage, *, alone: bool) -> str:
        butler = routed.target
        if routed.kind is RouteKind.LIMIT:
            return texts.limit.format(sessions=self.sessions_per_day, tokens=self.tokens_per_day)
        if routed.kind is RouteKind.UNKNOWN:
            return _unknown(texts, routed.words, self.butlers, alone=alone)
        if routed.kind is RouteKind.NO_MODEL:
            return texts.butler_without_model.format(butler=butler) if butler else texts.no_model
        if butler:
            return texts.nothing_asked.format(butler=butler)
        return texts.choose.format(names="\n".join(f"/{name} …" for name in able(self.butlers)))

    def _day(self) -> str:
        return to_text(self.clock.now_us())[:10]


def _unknown(texts: Texts, word: str, butlers: Mapping[str, bool], *, alone: bool) -> str:
    if word in COMMANDS:
        text = texts.command_alone if alone or word in _FOR_ALL_TO_SEE else texts.command_in_private
        return text.format(word=word)
    meant = nearest(word, [*COMMANDS, *able(butlers)])
    return texts.unknown_command.format(word=word) + (texts.did_you_mean.format(word=meant) if meant else "")


def able(butlers: Mapping[str, bool]) -> list[str]:
    return [name for name, has_model in butlers.items() if has_model]


def words_key(kept: KeptMessage) -> str:
    """Of what the household itself says about a message: one thing, once."""
    return f"talk:{kept.id}"


# What a person can have of us without a model: /help, /status, /inbox, /asks, /stop, /why, /pair.


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
