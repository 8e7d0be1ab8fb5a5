"""Conversations put together: who hears what people write, who answers, and what the commands look at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from postroom.conversations.bot_commands import TalkCommands
from postroom.conversations.inbound import Handler, of_messages
from postroom.conversations.store import StoredInbound
from postroom.conversations.talk import Answering, ButlersStop, Talk, able
from postroom.delivery.files.taking import FileTaking
from postroom.household.peers import Peers
from postroom.household.questions import AskingParts
from postroom.household.store import SWITCHBOARD, Store
from postroom.intents.courier import TakeRoute
from postroom.kernel.running.loop import Loops
from postroom.message.channel import Channel, Outbound, ShowsWork
from postroom.questions.asked_people import AskedPeople
from postroom.settings import Settings
from postroom.settings.roster import MESSENGER, ButlerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkEars:
    butlers: Mapping[str, bool]  # that can be written to, each with whether it has a model
    kept: StoredInbound
    commands: Handler
    talk: Handler


def talking_butlers(roster: Sequence[ButlerConfig]) -> dict[str, bool]:
    """Those that can be written to, each with whether it has a model."""
    own = (one for one in roster if one.name not in (MESSENGER, SWITCHBOARD))
    return {one.name: one.runtime.type != "none" for one in own}


@asynccontextmanager
async def conversing(
    settings: Settings,
    store: Store,
    roster: Sequence[ButlerConfig],
    asking: AskingParts,
    route: TakeRoute,
    peers: Peers,
    channels: Mapping[str, Channel],
    outbound: Outbound,
    loops: Loops,
    files: FileTaking,
) -> AsyncIterator[TalkEars]:
    """Runs where the bots are heard, and takes up what an earlier process left."""
    butlers = talking_butlers(roster)
    people = AskedPeople(book=store.people)
    kept, said = store.inbound, store.talk
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
        inbox=store.notes,
        asking=asking.asking,
        stopper=stopper,
        outbound=outbound,
        butlers=butlers,
        clock=asking.clock,
        sessions_per_day=talk.sessions_per_day,
    )
    answering = Answering(
        kept=kept,
        sessions=store.butler_sessions,
        said=said,
        route=route,
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
