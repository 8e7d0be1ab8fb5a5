"""Conversations, contacts and intents put together: who hears what people write, who answers, and who is written to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from fastapi import APIRouter
from starlette.types import ASGIApp

from postroom.connectors.app import adapter_app, adapter_parts
from postroom.connectors.household import HouseholdElsewhere, HouseholdHere
from postroom.connectors.profile import FACES
from postroom.conversations.inbound import (
    ArrivingFiles,
    Flood,
    Forgotten,
    Handler,
    Inbound,
    hearing_handler,
    in_order,
    keeping_handler,
    of_messages,
    originals_handler,
    reopening_handler,
    reply_handler,
)
from postroom.conversations.talk import Answering, ButlersStop, Talk, TalkCommands, able
from postroom.delivery.afterwards.news import news_handler
from postroom.delivery.afterwards.webhooks import StoredWebhooks, WebhookPost, Webhooks
from postroom.household.channels import known_channels
from postroom.household.people import build_desk, pairing_handlers
from postroom.household.questions import AskingParts, following, hearing
from postroom.household.store import World
from postroom.intents.acts import ACTS
from postroom.intents.courier import Courier, QuestionCards, TakeRoute
from postroom.intents.directory import Directory
from postroom.intents.gateway import Intake, IntentDesk, IntentReplies
from postroom.intents.runner import IntentSteps
from postroom.intents.store import MOMENTS
from postroom.intents.threads import Threads
from postroom.kernel.acts.routes import act_router
from postroom.kernel.guard.http import Verifier
from postroom.kernel.guard.tools import GuardedServer, Rule, ToolPolicy, answers_for_themselves
from postroom.kernel.running.loop import Failing
from postroom.message.channel import Channel, Listen, Outbound, ShowsWork
from postroom.people.acts import ACTS as PEOPLE_ACTS
from postroom.people.contacts import CONTACT_ACTS
from postroom.people.desk import PeopleDesk
from postroom.questions.asked_people import AskedPeople
from postroom.questions.telling import QuestionNews
from postroom.settings import Settings
from postroom.settings.reach import HouseholdClient

# Who hears what people write, in which order, and who answers.


@asynccontextmanager
async def listening(
    world: World,
    asking: AskingParts,
    route: TakeRoute,
    replies: IntentReplies,
    notices: Handler,
    channels: Mapping[str, Channel],
    outbound: Outbound,
) -> AsyncIterator[None]:
    """
    Reads what people write on every channel that hears them: who they are first, then what answers a question.

    Runs where the bots are heard, and takes up what an earlier process left.
    """
    store, loops, talk = world.store, world.loops, _talk(world, outbound)
    stopper = ButlersStop(peers={name: world.peers.to(name) for name in able(talk.butlers)})
    replying = _answering(world, talk, stopper, route, channels)
    async with AsyncExitStack() as stack:
        ear = await stack.enter_async_context(hearing(asking, channels, outbound))
        await stack.enter_async_context(loops.running("conversations", replying.look, wake=talk.wake))
        told = {"notices": notices, "questions": ear.handle, "intents": reply_handler(replies.take)}
        commands = _commands(world, talk, stopper, asking)
        handlers = in_order(_hearers(world, talk, commands) | told, talk.kept, world.clock, talk.people, talk.butlers)
        forgotten = Forgotten(kept=talk.kept, handlers=handlers[1:], clock=world.clock)  # let through the flood before
        await stack.enter_async_context(loops.running("inbound:forgotten", forgotten.look))
        arriving = ArrivingFiles(taking=world.files, people=talk.people, threads=store.talk, outbound=outbound)
        for name, channel in channels.items():
            if isinstance(channel, Listen):
                inbound = Inbound(
                    source=name,
                    bot=channel,
                    offsets=store.marks,
                    handlers=handlers,
                    clock=world.clock,
                    watch=ear.watch,
                    troubles=store.troubles,
                    files=arriving,
                )
                # A poll may wait for half a minute; what it would have fetched is fetched next time.
                await stack.enter_async_context(loops.running(f"inbound:{name}", inbound.look, cut_off=True))
        yield


def _talk(world: World, outbound: Outbound) -> Talk:
    chosen = world.settings.conversations
    return Talk(
        kept=world.store.inbound,
        people=AskedPeople(book=world.store.people),
        threads=world.store.talk,
        butlers={one.name: one.runtime.type != "none" for one in world.butlers},
        outbound=outbound,
        clock=world.clock,
        sessions_per_day=chosen.sessions_per_day,
        tokens_per_day=chosen.tokens_per_day,
    )


def _commands(world: World, talk: Talk, stopper: ButlersStop, asking: AskingParts) -> TalkCommands:
    return TalkCommands(
        kept=talk.kept,
        people=talk.people,
        inbox=world.store.notes,
        asking=asking.asking,
        stopper=stopper,
        outbound=talk.outbound,
        butlers=talk.butlers,
        clock=talk.clock,
        sessions_per_day=talk.sessions_per_day,
    )


def _answering(
    world: World, talk: Talk, stopper: ButlersStop, route: TakeRoute, channels: Mapping[str, Channel]
) -> Answering:
    return Answering(
        kept=talk.kept,
        sessions=world.store.butler_sessions,
        said=world.store.talk,
        route=route,
        stopper=stopper,
        people=talk.people,
        outbound=talk.outbound,
        channels={name: channel for name, channel in channels.items() if isinstance(channel, ShowsWork)},
        files=world.files,
        clock=talk.clock,
        wake=talk.wake,
    )


def _hearers(world: World, talk: Talk, commands: TalkCommands) -> dict[str, Handler]:
    """Those that need nothing but the household's record; in which order all are asked, `in_order` says."""
    store, clock, most = world.store, world.clock, world.settings.conversations.messages_per_minute
    flood = Flood(people=talk.people, outbound=talk.outbound, clock=clock, most=most)
    codes, first_here = pairing_handlers(world, talk.outbound)
    return {
        "flood": of_messages(flood.handle),
        "kept": keeping_handler(talk.kept, clock),
        "news": news_handler(store.news),
        "threads": hearing_handler(store.heard_threads, clock),
        "originals": originals_handler(store.replies, clock),
        "closed addresses": reopening_handler(store.closed_addresses),
        "codes": codes,
        "first here": first_here,
        "commands": of_messages(commands.handle),
        "talk": of_messages(talk.handle),
    }


# Contacts, intents and their adapters: at home by a direct call, alone over HTTP.


def adapter(
    name: str, settings: Settings, *, own_url: str, api_url: str, at_home: Correspondence | None, failing: Failing
) -> ASGIApp:
    face, elsewhere = FACES[name], settings.connector(name).household_url
    reached = at_home.at_home if at_home else HouseholdElsewhere(HouseholdClient(elsewhere or api_url))
    return adapter_app(face, replace(adapter_parts(face, settings, reached, own_url=own_url), failing=failing))


# The MCP server of the API port: the tools that assistants call on a person's behalf.


DESCRIPTION: Final = "Reaches the people of a household: notifications that outlast the conversation"

AddTools = Callable[[GuardedServer], Mapping[str, Rule] | None]
"""Acts bring their own rules."""


def assistant_server(verifier: Verifier, doors: Sequence[AddTools]) -> GuardedServer:
    """Each door adds its tools and says who may call them; what has no rule may be called by nobody."""
    policy = ToolPolicy({}, verifier)
    server = GuardedServer("postroom", policy, description=DESCRIPTION)
    for add_tools in doors:
        policy.rules.update(add_tools(server) or {})
    return server


# Put contacts and intents together, and keep them running.


_GRACE_SECONDS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Correspondence:
    """Everything the API port needs of contacts and intents."""

    desk: PeopleDesk
    gateway: IntentDesk
    steps: IntentSteps
    webhooks: Webhooks
    replies: IntentReplies
    subscribers: StoredWebhooks

    def news(self, asking: AskingParts) -> QuestionNews:
        """What happens to questions, for those who subscribed to it."""
        return QuestionNews(
            feed=asking.store,
            plans=asking.world.store.presentations,
            subscribers=self.subscribers,
            agents=self.gateway.agency.agents,
            signal=self.gateway.signal,
        )

    @property
    def at_home(self) -> HouseholdHere:
        """For adapters in this process, and for assistants."""
        return HouseholdHere(intents=self.gateway, people=self.desk)

    @property
    def routers(self) -> list[APIRouter]:
        return [
            act_router([*CONTACT_ACTS, *PEOPLE_ACTS], self.desk),
            act_router(ACTS, self.gateway),
        ]


def build_correspondence(
    world: World,
    outbound: Outbound,
    route: TakeRoute,
    asking: AskingParts,
    email_due: Callable[[], object] = lambda: None,
) -> Correspondence:
    """`email_due` wakes those who send links that prove an address."""
    clock, mint = world.clock, world.store.ids.mint
    contacts = world.store.people
    desk = build_desk(world, world.tokens, email_due)
    intents, inbox = world.store.intents, world.store.intent_inbox
    webhooks = StoredWebhooks(world.store.database)
    agency, signal = desk.agency, world.timekeeper.wake
    directory = Directory(
        contacts=contacts,
        household=world.store.household,
        butlers=frozenset(one.name for one in world.butlers),
        channels=frozenset(known_channels(world.settings)),
    )
    intake = Intake(store=intents, directory=directory, signal=signal, clock=clock, mint=mint)
    threads = Threads(store=intents, inbox=inbox, directory=directory, signal=signal, clock=clock, mint=mint)
    courier = Courier(
        store=intents,
        directory=directory,
        outbound=outbound,
        route=route,
        signal=signal,
        clock=clock,
        mint=mint,
        channels=known_channels(world.settings),
        cards=_cards(asking, outbound),
    )
    gateway = IntentDesk(
        intake=intake,
        threads=threads,
        subscriptions=webhooks,
        agency=agency,
        signal=signal,
        clock=clock,
        mint=mint,
        decides=answers_for_themselves(world.approvers),
    )
    return Correspondence(
        desk=desk,
        gateway=gateway,
        steps=IntentSteps(store=intents, courier=courier, signal=signal, clock=clock, mint=mint),
        webhooks=Webhooks(store=webhooks, poster=WebhookPost(), clock=clock),
        subscribers=webhooks,
        replies=IntentReplies(
            store=intents, directory=directory, outbound=outbound, signal=signal, clock=clock, mint=mint
        ),
    )


def _cards(asking: AskingParts, outbound: Outbound) -> QuestionCards:
    return QuestionCards(
        questions=asking.questions,
        store=asking.store,
        shown=asking.world.store.presentations,
        cards=asking.cards(""),  # for reminders, which have no links
        outbound=outbound,
        people=asking.people,
        channels=asking.planning.channels,
        clock=asking.world.clock,
        mint=asking.world.store.ids.mint,
    )


@asynccontextmanager
async def working(built: Correspondence, asking: AskingParts) -> AsyncIterator[None]:
    """Takes up what an earlier process left, works until told to stop."""
    world, intents = asking.world, asking.world.store.intents
    async with (
        world.timekeeper.keeping(MOMENTS, built.steps.take, intents.shown_on),
        world.loops.running("webhooks", built.webhooks.look, wake=built.gateway.signal),
        following(asking, "question_news", built.news(asking).take),
    ):
        try:
            yield
        finally:
            built.gateway.signal.close()
            await built.webhooks.stop(_GRACE_SECONDS)
