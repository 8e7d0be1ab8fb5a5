"""Conversations put together: who hears what people write, who answers, and what the commands look at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

from postroom.butlers.store import StoredSessions
from postroom.conversations.bot_commands import TalkCommands
from postroom.conversations.history import StoredTalk
from postroom.conversations.inbound import Handler, of_messages
from postroom.conversations.store import StoredInbound
from postroom.conversations.talk import Answering, TakesRoutes, Talk, able
from postroom.delivery.files.taking import FileTaking
from postroom.household.peers import Peers
from postroom.household.questions import AskingParts
from postroom.household.store import SWITCHBOARD, OpenedStore
from postroom.inbox.model import NotificationQuery
from postroom.inbox.store.notes import StoredNotes
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Loops
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.principal import Principal, Role
from postroom.message.channel import Channel, Outbound, ShowsWork
from postroom.people.model import inbox_of_person
from postroom.questions.asked_people import AskedPeople
from postroom.questions.model import QuestionStatus
from postroom.questions.questions import Asking
from postroom.questions.rules.words import asked_line, is_hidden, one_line
from postroom.settings import Settings
from postroom.settings.peer import Peer
from postroom.settings.roster import MESSENGER, ButlerConfig

_STOP_SECONDS = 20.0
_MOST_COUNTED = 50
_LINE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonsDesk:
    inbox: StoredNotes
    asking: Asking
    clock: Clock

    async def unread(self, person: str, most: int) -> tuple[int, Sequence[str]]:
        now_us, owner = self.clock.now_us(), inbox_of_person(person)
        count = await self.inbox.unread(owner, now_us)
        newest = await self.inbox.page(owner, NotificationQuery(is_read=False, limit=most), now_us)
        return count, [one_line(one.message, _LINE) for one in newest]

    async def questions(self, person: str, most: int) -> tuple[int, Sequence[str]]:
        asked = await self.asking.listing(
            Principal(Role.PERSON, person), status=QuestionStatus.OPEN, mine=True, limit=_MOST_COUNTED
        )
        shown = [one.question for one in asked if not is_hidden(one.question)]
        return len(asked), [asked_line(one, _LINE) for one in shown[:most]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ButlersStop:
    """Each butler ends its own sessions, in this process or another."""

    peers: Mapping[str, Peer]

    async def stop(self, butler: str, session_id: str) -> None:
        with suppress(PostroomError):
            await self.peers[butler].call("sessions_stop", {"session_id": session_id}, _STOP_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkEars:
    butlers: Mapping[str, bool]  # that can be written to, each with whether it has a model
    kept: StoredInbound
    commands: Handler
    talk: Handler


class TalkWorld(Protocol):
    @property
    def settings(self) -> Settings: ...

    @property
    def store(self) -> OpenedStore: ...


def talking_butlers(roster: Sequence[ButlerConfig]) -> dict[str, bool]:
    """Those that can be written to, each with whether it has a model."""
    own = (one for one in roster if one.name not in (MESSENGER, SWITCHBOARD))
    return {one.name: one.runtime.type != "none" for one in own}


@asynccontextmanager
async def conversing(
    world: TalkWorld,
    roster: Sequence[ButlerConfig],
    asking: AskingParts,
    routes: TakesRoutes,
    peers: Peers,
    channels: Mapping[str, Channel],
    outbound: Outbound,
    loops: Loops,
    files: FileTaking,
) -> AsyncIterator[TalkEars]:
    """Runs where the bots are heard, and takes up what an earlier process left."""
    settings, store, butlers = world.settings, world.store, talking_butlers(roster)
    people = AskedPeople(book=store.people)
    kept, said = StoredInbound(store.database, asking.mint.mint), StoredTalk(store.database)
    talk = Talk(
        kept=kept,
        people=people,
        threads=said,
        butlers=butlers,
        outbound=outbound,
        clock=asking.clock,
        sessions_per_day=settings.conversations.sessions_per_day,
        tokens_per_day=settings.conversations.tokens_per_day,
    )
    stopper = ButlersStop(peers={name: await peers.operator(name) for name in able(butlers)})
    commands = TalkCommands(
        kept=kept,
        people=people,
        desk=PersonsDesk(inbox=StoredNotes(store.database), asking=asking.asking, clock=asking.clock),
        stopper=stopper,
        outbound=outbound,
        butlers=butlers,
        clock=asking.clock,
        sessions_per_day=talk.sessions_per_day,
    )
    answering = Answering(
        kept=kept,
        sessions=StoredSessions(store.database),
        said=said,
        routes=routes,
        stopper=stopper,
        people=people,
        outbound=outbound,
        channels={name: channel for name, channel in channels.items() if isinstance(channel, ShowsWork)},
        files=files,
        clock=asking.clock,
        wake=talk.wake,
    )
    async with loops.running("conversations", answering.look, wake=talk.wake):
        handlers = {"commands": of_messages(commands.handle), "talk": of_messages(talk.handle)}
        yield TalkEars(butlers=butlers, kept=kept, **handlers)
