"""Put questions together: what the doors call, what runs beside the delivery plane, and who hears the answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from postroom.app.address_book import Approvers
from postroom.app.approval_policy import approval_policy, approval_ride
from postroom.app.household_key import household_key
from postroom.app.known_channels import known_channels, usable_channels
from postroom.app.question_people import HouseholdAsked
from postroom.app.question_post import QuestionPost
from postroom.app.store import OpenedStore
from postroom.domain.clock import Clock
from postroom.domain.ids import IdMint
from postroom.domain.inbound_message import InboundEvent, InboundMessage, Press
from postroom.domain.ports import Channel, Listen, Outbound
from postroom.domain.question import SubjectKind
from postroom.domain.question_change import QuestionEvent
from postroom.doors.assistants.standalone import agency_of
from postroom.doors.butler.daemon import Butler
from postroom.doors.guard.tokens import TokenFile
from postroom.doors.guard.tool_policy import Rule, answers_for_themselves, no_one
from postroom.system.loop import Loop, Loops
from postroom.system.seal import Seal
from postroom.system.settings import Settings
from postroom.work.approvals.card import outside_console
from postroom.work.approvals.ruling import expiration
from postroom.work.attention.notice_book import NoticeBook
from postroom.work.attention.question_times import QuestionTimes
from postroom.work.butlers.sessions import Sessions
from postroom.work.conversations.inbound import Handler
from postroom.work.delivery.corrections import Corrections
from postroom.work.delivery.plane import Plane
from postroom.work.files.taking import FileTaking
from postroom.work.intents.question_cards import answer_by
from postroom.work.questions.asking import Asking
from postroom.work.questions.bells import Bells
from postroom.work.questions.cards import CardMaker
from postroom.work.questions.follower import Follower
from postroom.work.questions.hearing import AnswersPresses, Hearing
from postroom.work.questions.judge import AnswerPolicy
from postroom.work.questions.links import Links
from postroom.work.questions.listening import Listening
from postroom.work.questions.places import ChannelAbility, Channels
from postroom.work.questions.planning import Planning
from postroom.work.questions.presenter import Presenter
from postroom.work.questions.questions import Questions
from postroom.work.questions.resuming import Resuming
from postroom.work.questions.strangers import Strangers
from postroom.work.questions.timekeeper import Timekeeper
from postroom.world.store.approvals.approvals import StoredApprovals
from postroom.world.store.deliveries.corrections import StoredCorrections
from postroom.world.store.engine.database import Database
from postroom.world.store.intents.by_question import IntentRide
from postroom.world.store.intents.intents import StoredIntents
from postroom.world.store.questions.presentations import StoredPresentations
from postroom.world.store.questions.questions import StoredQuestions
from postroom.world.store.questions.rides import Ride


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingParts:
    """One set for a process: those who wait hear at once of every commit made with it."""

    asking: Asking
    links: Links
    questions: Questions
    bells: Bells
    store: StoredQuestions
    presentations: StoredPresentations
    planning: Planning
    listening: Listening
    marks: StoredIntents
    token_key: bytes
    state_key: bytes
    in_client: Rule
    policy: AnswerPolicy
    clock: Clock
    mint: IdMint
    zone_of: Callable[[str], str]
    times: QuestionTimes | None = None

    def cards(self, base_url: str) -> CardMaker:
        return CardMaker(
            channels=self.planning.channels,
            key=self.token_key,
            base_url=base_url,
            zone_of=self.zone_of,
            outside=self.policy.outside_console,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionEar:
    """For those who read what people send: what may answer a question goes to `handle`, every look to `watch`."""

    handle: Handler
    watch: Listening


def build_asking(
    settings: Settings, opened: OpenedStore, clock: Clock, mint: IdMint, book: NoticeBook | None = None
) -> AskingParts:
    times = QuestionTimes(book=book) if book is not None else None
    bells, marks = Bells(lambda: opened.questions.are_heard), StoredIntents(opened.database, mint.mint)
    opened.questions.follow(bells.ring_elsewhere)
    rides: dict[SubjectKind, Ride] = {
        SubjectKind.APPROVAL: approval_ride(settings, opened, mint),
        SubjectKind.INTENT: IntentRide(record=marks, rule=answer_by(mint.mint)),
    }
    seal, most_open = Seal(household_key(settings.home, "secret answers")), settings.questions.open_per_asker
    store = StoredQuestions(opened.database, seal, rides, most_open)
    presentations = StoredPresentations(opened.database, mint.mint)
    people = HouseholdAsked(book=opened.people)
    listening = Listening(marks, store, clock, bells.every.ring)
    policy = AnswerPolicy(outside_console=outside_console(approval_policy(settings).phone))
    questions = Questions(store, clock, policy=policy, changed=bells.ring, caught_up=listening.caught_up)
    planning = Planning(
        plans=presentations,
        people=people,
        channels=abilities(settings),
        clock=clock,
        next_channel_seconds=settings.questions.next_channel_seconds,
        times=times,
    )
    asking = Asking(
        questions=questions,
        store=store,
        planning=planning,
        bells=bells,
        clock=clock,
        mint=mint.mint,
        times=times,
        strangers=_strangers(settings, opened, people, mint),
        agents=agency_of(settings, TokenFile(settings.tokens_file)).agents,
    )
    links = _links(asking, store, presentations, people)
    return AskingParts(
        asking=asking,
        links=links,
        questions=questions,
        bells=bells,
        store=store,
        presentations=presentations,
        planning=planning,
        listening=listening,
        marks=marks,
        token_key=household_key(settings.home, "buttons"),
        state_key=household_key(settings.home, "request state"),
        in_client=_in_client(settings, opened),
        policy=policy,
        clock=clock,
        mint=mint,
        zone_of=book.zone_of if book is not None else lambda _: settings.household.local_zone,
        times=times,
    )


def _links(asking: Asking, store: StoredQuestions, cards: StoredPresentations, people: HouseholdAsked) -> Links:
    return Links(
        questions=asking.questions,
        store=store,
        cards=cards,
        people=people,
        clock=asking.clock,
        mint=asking.mint,
        strangers=asking.strangers,
    )


def _strangers(settings: Settings, opened: OpenedStore, people: HouseholdAsked, mint: IdMint) -> Strangers | None:
    """None while approvals are off."""
    record = StoredApprovals(opened.database, mint.mint, expiration)
    return Strangers(people=people, is_edited=record.is_edited) if settings.approvals_on else None


def _in_client(settings: Settings, opened: OpenedStore) -> Rule:
    """Whose forms count, in a client that calls with their own token: those who may answer over HTTP with it."""
    if not settings.ask.in_client:
        return no_one
    return answers_for_themselves(Approvers(settings.approvals.approvers, opened.household))


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
async def presenting(
    parts: AskingParts, database: Database, plane: Plane, base_url: str, loops: Loops
) -> AsyncIterator[None]:
    """
    Runs where the delivery plane runs: there cards become deliveries.

    What an earlier process had in hand is no one's at once where deliveries are, and not only after its lease.
    """
    record = StoredCorrections(database, parts.mint.mint)
    corrections = Corrections(plane=plane, record=record, closed=parts.bells.every.ring)
    presenter = Presenter(
        planning=parts.planning,
        claims=parts.presentations,
        cards=parts.cards(base_url),
        post=QuestionPost(plane, corrections),
        clock=parts.clock,
        wake=parts.bells.every,
        times=parts.times,
    )
    now_us = parts.clock.now_us()
    await parts.presentations.let_go(await plane.acceptance.ledger.orphaned_before_us(now_us), now_us)
    try:
        async with loops.running("questions", presenter.look, wake=parts.bells.every):
            yield
    finally:
        await presenter.stop()


@asynccontextmanager
async def hearing(
    parts: AskingParts,
    channels: Mapping[str, Channel],
    outbound: Outbound,
    base_url: str,
    loops: Loops,
    files: FileTaking | None = None,
) -> AsyncIterator[QuestionEar]:
    """Runs where the bots are heard: nothing ends before what was sent in time has been read."""
    heard = ear(parts, channels, outbound, base_url, files)
    for name, channel in channels.items():
        if isinstance(channel, Listen):  # before anything can end for want of an answer
            parts.listening.expect(name)
    parts.listening.after_a_gap(heard.missed)
    times = Timekeeper(
        questions=parts.questions,
        store=parts.store,
        shown=parts.presentations,
        cards=heard.cards,
        outbound=outbound,
        clock=parts.clock,
        times=parts.times,
    )
    async with loops.running("question_times", times.look, wake=parts.bells.every):
        yield QuestionEar(handle=_handler(heard), watch=parts.listening)


def ear(
    parts: AskingParts,
    channels: Mapping[str, Channel],
    outbound: Outbound,
    base_url: str,
    files: FileTaking | None = None,
) -> Hearing:
    """Judges what people press and write; `channels` are those whose presses are answered by a call."""
    return Hearing(
        questions=parts.questions,
        store=parts.store,
        shown=parts.presentations,
        people=parts.planning.people,
        cards=parts.cards(base_url),
        outbound=outbound,
        bots={name: channel for name, channel in channels.items() if isinstance(channel, AnswersPresses)},
        clock=parts.clock,
        mint=parts.mint.mint,
        files=files,
    )


def _handler(heard: Hearing) -> Handler:
    async def handle(event: InboundEvent) -> bool:
        if isinstance(event, Press):
            await heard.press(event)
            return True
        return isinstance(event, InboundMessage) and await heard.words(event)

    return handle


async def start_resuming(parts: AskingParts, butlers: list[Butler], stack: AsyncExitStack, loops: Loops) -> None:
    """For each butler with a model: what it asked wakes it when it has ended."""
    for butler in butlers:
        if isinstance(butler.sessions, Sessions):
            resuming = Resuming(butler=butler.name, feed=parts.store, sessions=butler.sessions)
            await stack.enter_async_context(following(parts, f"resume:{butler.name}", resuming.take, loops))


def following(
    parts: AskingParts, name: str, take: Callable[[QuestionEvent], Awaitable[None]], loops: Loops
) -> AbstractAsyncContextManager[Loop]:
    """Hands every event of the feed to `take`, over restarts too."""
    follower = Follower(name=name, feed=parts.store, marks=parts.marks, take=take, clock=parts.clock)
    return loops.running(name, follower.look, wake=parts.bells.every)
