"""Put the approval subsystem together, when the settings want it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from fastapi import APIRouter

from postroom.agents.coding.permission_tool import add_permission_tool
from postroom.approvals.approvals import ApprovalGate, Approvals, Deciders
from postroom.approvals.card import outside_console, ruling_by
from postroom.approvals.store.approvals import ApprovalRide
from postroom.attention.attention import QuestionTimes
from postroom.attention.turn import NoticeBook
from postroom.butlers.daemon import ASSISTANTS_ELSEWHERE, ELSEWHERE, Butler
from postroom.connectors.app import agency_of
from postroom.conversations.inbound import Handler
from postroom.delivery.accept import Plane
from postroom.delivery.afterwards.corrections import Corrections
from postroom.household.channels import known_channels, usable_channels
from postroom.household.store import Premises, World, approval_policy
from postroom.intents.courier import answer_by
from postroom.intents.store import IntentRide
from postroom.kernel.acts.routes import act_router
from postroom.kernel.guard.tools import GuardedServer, Rule, answers_for_themselves, approver, no_one
from postroom.kernel.guard.tools import butler as tools_butler
from postroom.kernel.running.loop import Loop, UnhurriedSignal
from postroom.kernel.running.process import Seal, household_key
from postroom.kernel.running.timekeeper import LOOK_SECONDS, Listening
from postroom.kernel.values.ids import seconds
from postroom.message.channel import AnswersPresses, Channel, Listen, Outbound
from postroom.message.inbound import InboundEvent, InboundMessage, Press
from postroom.people.people import HouseholdPeople, HouseholdTrust
from postroom.questions.acts import ACTS
from postroom.questions.asked_people import AskedPeople, Strangers
from postroom.questions.doors.stream import QuestionFeed, stream_router
from postroom.questions.doors.tasks import ClientForms
from postroom.questions.doors.tools import ASK_TOOLS, QuestionDesk, add_ask_tools, add_ready_prompts
from postroom.questions.due import QuestionSteps
from postroom.questions.hearing import Hearing
from postroom.questions.links.links import LinkPages, Links, link_router
from postroom.questions.model import Question, QuestionEvent, SubjectKind, is_approval
from postroom.questions.presenter import CardPost, Planning, Presenter
from postroom.questions.questions import Asking, Questions
from postroom.questions.rules.cards import CardMaker
from postroom.questions.rules.judge import AnswerPolicy
from postroom.questions.rules.plan import ChannelAbility, Channels, question_moments
from postroom.questions.store.questions import Ride, StoredQuestions
from postroom.questions.store.steps import MOMENTS
from postroom.questions.telling import Bells, Follower, Resuming
from postroom.settings import Settings

# The doors of questions, put together: the tools of every butler and of the assistants, REST, the stream and links.


def butler_asks(server: GuardedServer, one: Butler, parts: AskingParts) -> None:
    """The butler itself asks, and its sessions do under their own tokens."""
    add_ask_tools(server, parts.desk, parts.state_key, without=ELSEWHERE)
    add_ready_prompts(server)
    server.policy.allow(dict.fromkeys(set(ASK_TOOLS) - ELSEWHERE.keys(), tools_butler(one.name)))


def assistants_ask(server: GuardedServer, parts: AskingParts) -> None:
    """Everyone with a token asks, in the token's name."""
    add_ask_tools(server, parts.desk, parts.state_key)
    add_permission_tool(server, parts.asking)
    add_ready_prompts(server)
    server.point_elsewhere(ASSISTANTS_ELSEWHERE)


def ask_routers(parts: AskingParts) -> list[APIRouter]:
    world, feed = parts.world, QuestionFeed(asking=parts.asking, lines=parts.store)
    key = household_key(world.settings.home, "link pages")
    links = LinkPages(links=parts.links, key=key, clock=world.clock, zone_of=parts.zone_of)
    return [stream_router(feed, parts.bells.every, world.clock), act_router(ACTS, parts.desk), link_router(links)]


_FEED_SECONDS: Final = 0.25  # those who follow the feed take what comes in so short a time together


# Put questions together: what the doors call, what runs beside the delivery plane, and who hears the answers.


class AskingParts:
    """One set for a process: those who wait hear at once of every commit made with it."""

    def __init__(self, world: World, book: NoticeBook | None = None) -> None:
        """`book`: of attention, for the hours of those who are asked."""
        settings, store, clock = world.settings, world.store, world.clock
        self.world = world
        self.may_answer: Rule = answers_for_themselves(world.approvers)
        self.zone_of = book.zone_of if book is not None else lambda _: settings.household.local_zone
        self.times = QuestionTimes(book=book) if book is not None else None
        self.people = AskedPeople(book=store.people, household=store.household)
        self.policy = AnswerPolicy(outside_console=outside_console(approval_policy(settings).phone))

        self.bells = Bells(lambda: store.elsewhere.are_heard)
        store.elsewhere.follow(self.bells.ring_elsewhere)
        self.store = stored_questions(world)
        self.bells.also(self._wake_timekeeper)
        self.feed = UnhurriedSignal(clock, _FEED_SECONDS)
        self.bells.also(lambda _: self.feed.ring())
        store.elsewhere.follow(lambda _: self.feed.ring())
        self.questions = Questions(self.store, clock, policy=self.policy, changed=self.bells.ring)
        self.planning = Planning(
            plans=store.presentations,
            people=self.people,
            channels=abilities(settings),
            clock=clock,
            next_channel_seconds=settings.questions.next_channel_seconds,
            times=self.times,
        )
        strangers = Strangers(people=self.people, is_edited=store.approvals.is_edited)
        self.asking = Asking(
            questions=self.questions,
            store=self.store,
            planning=self.planning,
            bells=self.bells,
            clock=clock,
            mint=store.ids.mint,
            times=self.times,
            strangers=strangers if settings.approvals_on else None,
            agents=agency_of(settings, world.tokens).agents,
        )
        self.links = Links(
            questions=self.questions,
            store=self.store,
            cards=store.presentations,
            people=self.people,
            clock=clock,
            mint=store.ids.mint,
            strangers=self.asking.strangers,
        )
        self.state_key = household_key(settings.home, "request state")
        self._token_key = household_key(settings.home, "buttons")

    def _wake_timekeeper(self, question: Question) -> None:
        """For what is due before its own next look."""
        soon_us = self.world.clock.now_us() + seconds(LOOK_SECONDS)
        if any(due_us < soon_us for due_us in question_moments(question).values()):
            self.world.timekeeper.wake.ring()

    @property
    def desk(self) -> QuestionDesk:
        """Whose forms count in a client that calls with their own token: none, or who may answer."""
        in_client = self.may_answer if self.world.settings.ask.in_client else no_one
        forms = ClientForms(asking=self.asking, people=in_client, zone_of=self.zone_of)
        return QuestionDesk(asking=self.asking, forms=forms, may_answer=self.may_answer, new_id=self.new_id)

    def new_id(self) -> str:
        return self.world.store.ids.mint(self.world.clock.now_us())

    def cards(self, base_url: str) -> CardMaker:
        """Without a `base_url`, cards that have no links."""
        return CardMaker(
            channels=self.planning.channels,
            key=self._token_key,
            base_url=base_url,
            zone_of=self.zone_of,
            outside=self.policy.outside_console,
        )


def stored_questions(place: Premises) -> StoredQuestions:
    """With what an answer decides in its own transaction."""
    settings, store = place.settings, place.store
    rides: dict[SubjectKind, Ride] = {
        SubjectKind.APPROVAL: ApprovalRide(store.approvals, ruling_by(place.approvers)),
        SubjectKind.INTENT: IntentRide(record=store.intents, rule=answer_by(store.ids.mint)),
    }
    seal = Seal(household_key(settings.home, "secret answers"))
    return StoredQuestions(store.database, seal, rides, settings.questions.open_per_asker)


def abilities(settings: Settings) -> Channels:
    """Of every channel that may be named; those without credentials cannot be shown on."""
    usable = usable_channels(settings)
    return {
        name: ChannelAbility(
            buttons=one.buttons and (one.inbound or one.own_app),  # a button nobody hears would be a lie
            most_buttons=one.most_buttons,
            edits=one.edits,
            inbound=one.inbound,
            replies=one.replies,
            threads=one.thread_identity is not None,
            opens=one.own_app,
            configured=name in usable,
        )
        for name, one in known_channels(settings).items()
    }


@asynccontextmanager
async def presenting(parts: AskingParts, plane: Plane) -> AsyncIterator[None]:
    """
    Runs where the delivery plane runs: there cards become deliveries.

    What an earlier process had in hand is no one's at once where deliveries are, and not only after its lease.
    """
    world, every = parts.world, parts.bells.every
    corrections = Corrections(plane=plane, record=world.store.corrections, closed=every.ring)
    if isinstance(gate := plane.acceptance.gate, ApprovalGate):
        gate.asked.append(every.ring)
    presenter = Presenter(
        planning=parts.planning,
        claims=world.store.presentations,
        cards=parts.cards(world.pages_url),
        post=CardPost(plane, corrections),
        clock=world.clock,
        wake=every,
        times=parts.times,
        follow=parts.asking.follow,
    )
    now_us = world.clock.now_us()
    await world.store.presentations.let_go(await plane.acceptance.ledger.orphaned_before_us(now_us), now_us)
    try:
        async with world.loops.running("questions", presenter.look, wake=every):
            yield
    finally:
        await presenter.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionEar:
    """For those who read what people send: what may answer a question goes to `handle`, every look to `watch`."""

    handle: Handler
    watch: Listening


@asynccontextmanager
async def hearing(
    parts: AskingParts, channels: Mapping[str, Channel], outbound: Outbound
) -> AsyncIterator[QuestionEar]:
    """Runs where the bots are heard: nothing ends before what was sent in time has been read."""
    world, heard = parts.world, ear(parts, channels, outbound)
    listening = world.timekeeper.listening
    for name, channel in channels.items():
        if isinstance(channel, Listen):  # before anything can end for want of an answer
            listening.expect(name)
    listening.after_a_gap(heard.missed)
    steps = QuestionSteps(
        questions=parts.questions,
        store=parts.store,
        shown=world.store.presentations,
        cards=heard.cards,
        outbound=outbound,
        times=parts.times,
    )
    async with world.timekeeper.keeping(MOMENTS, steps.take, parts.store.shown_on):
        yield QuestionEar(handle=_handler(heard), watch=listening)


def ear(parts: AskingParts, channels: Mapping[str, Channel], outbound: Outbound) -> Hearing:
    """Judges what people press and write; `channels` are those whose presses are answered by a call."""
    world = parts.world
    return Hearing(
        questions=parts.questions,
        store=parts.store,
        shown=world.store.presentations,
        people=parts.people,
        cards=parts.cards(world.pages_url),
        outbound=outbound,
        bots={name: channel for name, channel in channels.items() if isinstance(channel, AnswersPresses)},
        clock=world.clock,
        mint=world.store.ids.mint,
        files=world.files,
    )


def _handler(heard: Hearing) -> Handler:
    async def handle(event: InboundEvent) -> bool:
        if isinstance(event, Press):
            await heard.press(event)
            return True
        return isinstance(event, InboundMessage) and await heard.words(event)

    return handle


async def start_resuming(parts: AskingParts, butlers: list[Butler], stack: AsyncExitStack) -> None:
    """For each butler with a model: what it asked wakes it when it has ended."""
    for butler in butlers:
        if butler.sessions is not None:
            resuming = Resuming(butler=butler.name, feed=parts.store, sessions=butler.sessions)
            await stack.enter_async_context(following(parts, f"resume:{butler.name}", resuming.take))


def following(
    parts: AskingParts, name: str, take: Callable[[Sequence[QuestionEvent]], Awaitable[None]]
) -> AbstractAsyncContextManager[Loop]:
    """Hands every event of the feed to `take`, over restarts too."""
    world = parts.world
    follower = Follower(name=name, feed=parts.store, marks=world.store.marks, take=take, clock=world.clock)
    return world.loops.running(name, follower.look, wake=parts.feed.signal)


# Put approvals together: the gate before the delivery plane, who decides, and what they decide with.


def build_gate(place: Premises, people: HouseholdPeople, channels: Mapping[str, Channel]) -> ApprovalGate | None:
    """None while approvals are off."""
    settings, store = place.settings, place.store
    if not settings.approvals_on:
        return None
    return ApprovalGate(
        trust=HouseholdTrust(people, channels),
        record=store.approvals,
        policy=approval_policy(settings),
        conversations=store.heard_threads,
        is_users_own=store.preferences.is_users_own,
        awaits_confirmation=store.preferences.awaits_confirmation,
        deciders=deciders_of(place, channels),
    )


def deciders_of(place: Premises, channels: Collection[str]) -> Deciders | None:
    """None when the settings want no cards."""
    if not place.settings.ask_owner_on:
        return None
    return Deciders(
        people=AskedPeople(book=place.store.people),
        approvers=place.approvers,
        channels=channels,
        named=place.settings.approvals.ask_channel,
    )


def approving(asking: AskingParts, plane: Plane) -> Approvals | None:
    """What people decide with, where it is sent; None while approvals are off."""
    world, gate, channels = asking.world, plane.acceptance.gate, plane.acceptance.channels
    if not isinstance(gate, ApprovalGate):
        return None

    def released(question: Question) -> None:
        if is_approval(question) and not question.is_open:
            plane.dispatcher.wake()

    asking.bells.also(released)
    return replace(
        _approvals(world, released=plane.dispatcher.wake),
        channels=channels,
        known_channels=plane.known_channels,
        decided=asking.bells.every.ring,
    )


def decisions(place: Premises, approvals: Approvals | None = None) -> Approvals:
    """Those of the messenger in this process; where it runs elsewhere, the same over the database that they share."""
    made = approvals or _approvals(place, released=lambda: None)  # its own look finds what was decided
    return replace(made, may_decide=approver(place.approvers), is_on=place.settings.approvals_on)


def _approvals(place: Premises, released: Callable[[], None]) -> Approvals:
    return Approvals(
        record=place.store.approvals,
        questions=stored_questions(place),
        policy=approval_policy(place.settings),
        channels={},
        known_channels=known_channels(place.settings),
        clock=place.clock,
        mint=place.store.ids.mint,
        released=released,
        files=place.store.files,
    )
