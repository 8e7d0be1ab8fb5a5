"""Conversations put together: who hears what people write, who answers, and what the commands look at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from postroom.conversations.inbound import (
    ArrivingFiles,
    Flood,
    Forgotten,
    Handler,
    Inbound,
    answering,
    commanding,
    hearing_handler,
    keeping_handler,
    of_messages,
    originals_handler,
    reopening_handler,
    reply_handler,
)
from postroom.conversations.store import StoredInbound
from postroom.conversations.talk import Answering, ButlersStop, Talk, TalkCommands, able
from postroom.delivery.afterwards.news import news_handler
from postroom.household.people import pairing_handlers
from postroom.household.questions import AskingParts, QuestionEar
from postroom.household.store import World
from postroom.intents.courier import TakeRoute
from postroom.intents.gateway import IntentReplies
from postroom.message.channel import Channel, Listen, Outbound, ShowsWork
from postroom.questions.asked_people import AskedPeople


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkEars:
    butlers: Mapping[str, bool]  # that can be written to, each with whether it has a model
    kept: StoredInbound
    commands: Handler
    talk: Handler


@asynccontextmanager
async def conversing(
    world: World, asking: AskingParts, route: TakeRoute, channels: Mapping[str, Channel], outbound: Outbound
) -> AsyncIterator[TalkEars]:
    """Runs where the bots are heard, and takes up what an earlier process left."""
    settings, store, clock = world.settings, world.store, world.clock
    butlers = {one.name: one.runtime.type != "none" for one in world.butlers}
    people = AskedPeople(book=store.people)
    kept, said = store.inbound, store.talk
    talk = Talk(
        kept=kept,
        people=people,
        threads=said,
        butlers=butlers,
        outbound=outbound,
        clock=clock,
        sessions_per_day=settings.conversations.sessions_per_day,
        tokens_per_day=settings.conversations.tokens_per_day,
    )
    stopper = ButlersStop(peers={name: await world.peers.operator(name) for name in able(butlers)})
    commands = TalkCommands(
        kept=kept,
        people=people,
        inbox=store.notes,
        asking=asking.asking,
        stopper=stopper,
        outbound=outbound,
        butlers=butlers,
        clock=clock,
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
        files=world.files,
        clock=clock,
        wake=talk.wake,
    )
    async with world.loops.running("conversations", answering.look, wake=talk.wake):
        handlers = {"commands": of_messages(commands.handle), "talk": of_messages(talk.handle)}
        yield TalkEars(butlers=butlers, kept=kept, **handlers)


# Who hears what people write, in which order.


@asynccontextmanager
async def listening(
    world: World,
    channels: Mapping[str, Channel],
    replies: IntentReplies,
    outbound: Outbound,
    questions: AbstractAsyncContextManager[QuestionEar],
    notices: Handler,
    talking: AbstractAsyncContextManager[TalkEars],
) -> AsyncIterator[None]:
    """Reads what people write on every channel that hears them: who they are first, then what answers a question."""
    offsets = world.store.marks
    async with AsyncExitStack() as stack:
        ear = await stack.enter_async_context(questions)
        talk = await stack.enter_async_context(talking)
        kept, clock, people = talk.kept, world.clock, AskedPeople(book=world.store.people)
        pairing = pairing_handlers(world, outbound)
        most = world.settings.conversations.messages_per_minute
        flood = of_messages(Flood(people=people, outbound=outbound, clock=clock, most=most).handle)
        handlers = [
            keeping_handler(kept, clock),
            news_handler(world.store.news),
            hearing_handler(world.store.heard_threads, world.clock),
            originals_handler(world.store.replies, world.clock),
            reopening_handler(world.store.closed_addresses),
            *(commanding(kept, clock, one, "it is about the sender's own address", people) for one in pairing),
            commanding(kept, clock, notices, "it is about a notice", people),
            commanding(kept, clock, talk.commands, "it is a command", people),
            answering(kept, clock, ear.handle, "a question", people, talk.butlers),
            answering(
                kept, clock, reply_handler(replies.take), "a message that waits for a reply", people, talk.butlers
            ),
            talk.talk,
        ]
        arriving = ArrivingFiles(taking=world.files, people=people, threads=world.store.talk, outbound=outbound)
        forgotten = Forgotten(kept=kept, handlers=handlers, clock=clock)
        await stack.enter_async_context(world.loops.running("inbound:forgotten", forgotten.look))
        for name, channel in channels.items():
            if isinstance(channel, Listen):
                inbound = Inbound(
                    source=name,
                    bot=channel,
                    offsets=offsets,
                    handlers=[flood, *handlers],
                    clock=world.clock,
                    watch=ear.watch,
                    troubles=world.store.troubles,
                    files=arriving,
                )
                # A poll may wait for half a minute; what it would have fetched is fetched next time.
                await stack.enter_async_context(world.loops.running(f"inbound:{name}", inbound.look, cut_off=True))
        yield
