"""Put the approval subsystem together, when the settings want it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from fastapi import APIRouter

from postroom.agents.coding.permission_tool import add_permission_tool
from postroom.approvals.approvals import ApprovalGate, Approvals
from postroom.approvals.card import Deciders, Watch, outside_console
from postroom.attention.attention import QuestionTimes
from postroom.attention.turn import NoticeBook
from postroom.butlers.daemon import Butler
from postroom.butlers.tools import ASSISTANTS_ELSEWHERE
from postroom.connectors.app import agency_of
from postroom.conversations.inbound import Handler
from postroom.delivery.accept import Plane
from postroom.delivery.afterwards.corrections import Corrections
from postroom.delivery.files.taking import FileTaking
from postroom.household.channels import known_channels, usable_channels
from postroom.household.store import Approvers, Store, approval_policy, approval_ride
from postroom.intents.courier import answer_by
from postroom.intents.store import IntentRide
from postroom.kernel.acts.routes import act_router
from postroom.kernel.database.engine import Marks
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.guard.tools import GuardedServer, Rule, answers_for_themselves, anyone, approver, no_one
from postroom.kernel.guard.tools import butler as tools_butler
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Loop, Loops
from postroom.kernel.running.process import Seal, household_key
from postroom.kernel.values.ids import IdMint
from postroom.message.channel import AnswersPresses, Channel, Listen, Outbound
from postroom.message.inbound import InboundEvent, InboundMessage, Press
from postroom.people.people import HouseholdPeople, HouseholdTrust
from postroom.questions.acts import ACTS
from postroom.questions.asked_people import AskedPeople, Strangers
from postroom.questions.doors.stream import QuestionFeed, stream_router
from postroom.questions.doors.tasks import ClientForms
from postroom.questions.doors.tools import ASK_TOOLS, QuestionDesk, add_ask_tools, add_ready_prompts
from postroom.questions.hearing import Hearing
from postroom.questions.links.links import LinkPages, Links, link_router
from postroom.questions.model import Question, QuestionEvent, SubjectKind, is_approval
from postroom.questions.presenter import CardPost, Planning, Presenter
from postroom.questions.questions import Asking, Questions
from postroom.questions.rules.cards import CardMaker
from postroom.questions.rules.judge import AnswerPolicy
from postroom.questions.rules.plan import ChannelAbility, Channels
from postroom.questions.store.presentations import StoredPresentations
from postroom.questions.store.questions import Ride, StoredQuestions
from postroom.questions.telling import Bells, Follower, Resuming
from postroom.questions.timekeeper import Listening, Timekeeper
from postroom.settings import Settings

# The doors of questions, put together: the tools of every butler and of the assistants, REST, the stream and links.


def butler_asks(server: GuardedServer, one: Butler, parts: AskingParts) -> None:
    """The butler itself asks, and its sessions do under their own tokens."""
    add_ask_tools(server, parts.desk, parts.state_key)
    add_ready_prompts(server)
    server.policy.allow(dict.fromkeys(ASK_TOOLS, tools_butler(one.name)))


def assistants_ask(server: GuardedServer, parts: AskingParts) -> dict[str, Rule]:
    """Everyone with a token asks, in the token's name."""
    add_ask_tools(server, parts.desk, parts.state_key)
    add_permission_tool(server, parts.asking)
    add_ready_prompts(server)
    server.point_elsewhere(ASSISTANTS_ELSEWHERE)
    return dict.fromkeys(ASK_TOOLS, anyone)


def ask_routers(parts: AskingParts, settings: Settings) -> list[APIRouter]:
    feed = QuestionFeed(asking=parts.asking, lines=parts.store)
    links = LinkPages(
        links=parts.links, key=household_key(settings.home, "link pages"), clock=parts.clock, zone_of=parts.zone_of
    )
    return [stream_router(feed, parts.bells.every, parts.clock), act_router(ACTS, parts.desk), link_router(links)]


# Put questions together: what the doors call, what runs beside the delivery plane, and who hears the answers.


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
    marks: Marks
    token_key: bytes
    state_key: bytes
    in_client: Rule
    may_answer: Rule
    policy: AnswerPolicy
    clock: Clock
    mint: IdMint
    zone_of: Callable[[str], str]
    times: QuestionTimes | None = None

    @property
    def desk(self) -> QuestionDesk:
        """`in_client` is whose forms count in a client that calls with their own token: none, or who may answer."""
        forms = ClientForms(asking=self.asking, people=self.in_client, zone_of=self.zone_of)
        return QuestionDesk(asking=self.asking, forms=forms, may_answer=self.may_answer, new_id=self.new_id)

    def new_id(self) -> str:
        return self.mint.mint(self.clock.now_us())

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


def build_asking(settings: Settings, store: Store, clock: Clock, book: NoticeBook | None = None) -> AskingParts:
    times = QuestionTimes(book=book) if book is not None else None
    bells = Bells(lambda: store.elsewhere.are_heard)
    store.elsewhere.follow(bells.ring_elsewhere)
    rides: dict[SubjectKind, Ride] = {
        SubjectKind.APPROVAL: approval_ride(settings, store),
        SubjectKind.INTENT: IntentRide(record=store.intents, rule=answer_by(store.ids.mint)),
    }
    seal, most_open = Seal(household_key(settings.home, "secret answers")), settings.questions.open_per_asker
    kept = StoredQuestions(store.database, seal, rides, most_open)
    people = AskedPeople(book=store.people)
    listening = Listening(store.marks, kept, clock, bells.every.ring)
    policy = AnswerPolicy(outside_console=outside_console(approval_policy(settings).phone))
    questions = Questions(kept, clock, policy=policy, changed=bells.ring, caught_up=listening.caught_up)
    planning = Planning(
        plans=store.presentations,
        people=people,
        channels=abilities(settings),
        clock=clock,
        next_channel_seconds=settings.questions.next_channel_seconds,
        times=times,
    )
    asking = Asking(
        questions=questions,
        store=kept,
        planning=planning,
        bells=bells,
        clock=clock,
        mint=store.ids.mint,
        times=times,
        strangers=_strangers(settings, store, people),
        agents=agency_of(settings, TokenFile(settings.tokens_file)).agents,
    )
    links = _links(asking, kept, store.presentations, people)
    may_answer = answers_for_themselves(Approvers(settings.approvals.approvers, store.household))
    return AskingParts(
        asking=asking,
        links=links,
        questions=questions,
        bells=bells,
        store=kept,
        presentations=store.presentations,
        planning=planning,
        listening=listening,
        marks=store.marks,
        token_key=household_key(settings.home, "buttons"),
        state_key=household_key(settings.home, "request state"),
        in_client=may_answer if settings.ask.in_client else no_one,
        may_answer=may_answer,
        policy=policy,
        clock=clock,
        mint=store.ids,
        zone_of=book.zone_of if book is not None else lambda _: settings.household.local_zone,
        times=times,
    )


def _links(asking: Asking, store: StoredQuestions, cards: StoredPresentations, people: AskedPeople) -> Links:
    return Links(
        questions=asking.questions,
        store=store,
        cards=cards,
        people=people,
        clock=asking.clock,
        mint=asking.mint,
        strangers=asking.strangers,
    )


def _strangers(settings: Settings, store: Store, people: AskedPeople) -> Strangers | None:
    """None while approvals are off."""
    return Strangers(people=people, is_edited=store.approvals.is_edited) if settings.approvals_on else None


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
    parts: AskingParts, store: Store, plane: Plane, base_url: str, loops: Loops
) -> AsyncIterator[None]:
    """
    Runs where the delivery plane runs: there cards become deliveries.

    What an earlier process had in hand is no one's at once where deliveries are, and not only after its lease.
    """
    corrections = Corrections(plane=plane, record=store.corrections, closed=parts.bells.every.ring)
    presenter = Presenter(
        planning=parts.planning,
        claims=parts.presentations,
        cards=parts.cards(base_url),
        post=CardPost(plane, corrections),
        clock=parts.clock,
        wake=parts.bells.every,
        times=parts.times,
        follow=parts.asking.follow,
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
        if butler.sessions is not None:
            resuming = Resuming(butler=butler.name, feed=parts.store, sessions=butler.sessions)
            await stack.enter_async_context(following(parts, f"resume:{butler.name}", resuming.take, loops))


def following(
    parts: AskingParts, name: str, take: Callable[[QuestionEvent], Awaitable[None]], loops: Loops
) -> AbstractAsyncContextManager[Loop]:
    """Hands every event of the feed to `take`, over restarts too."""
    follower = Follower(name=name, feed=parts.store, marks=parts.marks, take=take, clock=parts.clock)
    return loops.running(name, follower.look, wake=parts.bells.every)


def build_gate(
    settings: Settings, store: Store, people: HouseholdPeople, channels: Mapping[str, Channel]
) -> ApprovalGate | None:
    """None while approvals are off."""
    if not settings.approvals_on:
        return None
    return ApprovalGate(
        trust=HouseholdTrust(people, channels),
        record=store.approvals,
        policy=approval_policy(settings),
        conversations=store.heard_threads,
        is_users_own=store.preferences.is_users_own,
        awaits_confirmation=store.preferences.awaits_confirmation,
    )


def deciders_of(settings: Settings, store: Store, people: AskedPeople, channels: Collection[str]) -> Deciders | None:
    """None when the settings want no cards."""
    if not settings.ask_owner_on:
        return None
    return Deciders(
        people=people,
        approvers=Approvers(settings.approvals.approvers, store.household),
        channels=channels,
        named=settings.approvals.ask_channel,
    )


@asynccontextmanager
async def approving(
    settings: Settings, store: Store, plane: Plane, asking: AskingParts, loops: Loops
) -> AsyncIterator[Approvals | None]:
    """What people decide with; meanwhile overdue actions end and people are asked about new ones."""
    gate, clock, channels = plane.acceptance.gate, plane.acceptance.clock, plane.acceptance.channels
    if not isinstance(gate, ApprovalGate):
        yield None
        return

    def released(question: Question) -> None:
        if is_approval(question) and not question.is_open:
            plane.dispatcher.wake()

    watch = Watch(
        record=store.approvals,
        policy=gate.policy,
        clock=clock,
        mint=store.ids.mint,
        asked=asking.bells.every.ring,
        deciders=deciders_of(settings, store, asking.planning.people, channels),
        signal=gate.signal,
    )
    asking.bells.also(released)
    async with loops.running("approvals", watch.look, wake=watch.signal):
        yield Approvals(
            record=store.approvals,
            policy=gate.policy,
            channels=channels,
            known_channels=plane.known_channels,
            clock=clock,
            mint=store.ids.mint,
            released=plane.dispatcher.wake,
            decided=asking.bells.every.ring,
            files=store.files,
        )


def decisions(settings: Settings, store: Store, clock: Clock, approvals: Approvals | None = None) -> Approvals:
    """Those of the messenger in this process; where it runs elsewhere, the same over the database that they share."""
    approvals = approvals or Approvals(
        record=store.approvals,
        policy=approval_policy(settings),
        channels={},
        known_channels=known_channels(settings),
        clock=clock,
        mint=store.ids.mint,
        released=lambda: None,  # its own look finds what was decided
        files=store.files,
    )
    may_decide = approver(Approvers(settings.approvals.approvers, store.household))
    return replace(approvals, may_decide=may_decide, is_on=settings.approvals_on)
