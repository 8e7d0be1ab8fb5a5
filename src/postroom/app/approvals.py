"""Put the approval subsystem together, when the settings want it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from postroom.app.address_book import Approvers
from postroom.app.approval_policy import approval_policy
from postroom.app.questions import AskingParts
from postroom.app.store import OpenedStore
from postroom.domain.ids import IdMint
from postroom.domain.is_approval import is_approval
from postroom.domain.person import Person
from postroom.domain.ports import Channel
from postroom.domain.question import Question
from postroom.system.loop import Loops
from postroom.system.settings import Settings
from postroom.work.approvals.approvals import Approvals
from postroom.work.approvals.gate import ApprovalGate, Mailboxes
from postroom.work.approvals.ruling import expiration
from postroom.work.approvals.watch import Deciders, Watch
from postroom.work.delivery.plane import Plane
from postroom.work.people.household_people import HouseholdPeople
from postroom.work.people.household_trust import HouseholdTrust
from postroom.work.questions.asked_people import AskedPeople, asked
from postroom.work.questions.judge import CONSOLE
from postroom.world.store.approvals.approvals import StoredApprovals
from postroom.world.store.conversations.conversations import StoredConversations
from postroom.world.store.engine.database import Database


def build_gate(
    settings: Settings,
    database: Database,
    people: HouseholdPeople,
    channels: Mapping[str, Channel],
    mint: IdMint,
    mailboxes: Mailboxes | None = None,
) -> ApprovalGate | None:
    """None while approvals are off."""
    if not settings.approvals_on:
        return None
    return ApprovalGate(
        trust=HouseholdTrust(people, channels),
        record=StoredApprovals(database, mint.mint, expiration),
        policy=approval_policy(settings),
        mailboxes=mailboxes,
        conversations=StoredConversations(database),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdDeciders:
    """The owner and, with them, the approvers who are trusted: a card to others would wait for an approval itself."""

    people: AskedPeople
    approvers: Collection[str]
    channels: Collection[str]
    named: str = ""  # the one channel that the settings want

    async def __call__(self, *, owner_only: bool) -> Deciders:
        owner = await self.people.owner()
        others = [] if owner_only else [one for name in sorted(self.approvers) for one in await self.people.find(name)]
        everyone = {one.id: one for one in [owner, *(one for one in others if one.trusted)]}
        firsts = [channel for one in everyone.values() if (channel := self._first(one))]
        return Deciders(
            people=tuple(asked(one) for one in everyone.values()), channels=tuple(dict.fromkeys(firsts)) or (CONSOLE,)
        )

    def _first(self, person: Person) -> str | None:
        own = (one.channel for one in sorted(person.addresses, key=lambda one: one.rank))
        return next((name for name in own if name in self.channels and self.named in ("", name)), None)


def deciders_of(
    settings: Settings, opened: OpenedStore, people: AskedPeople, channels: Collection[str]
) -> HouseholdDeciders | None:
    """None when the settings want no cards."""
    if not settings.ask_owner_on:
        return None
    return HouseholdDeciders(
        people=people,
        approvers=Approvers(settings.approvals.approvers, opened.household),
        channels=channels,
        named=settings.approvals.ask_channel,
    )


@asynccontextmanager
async def approving(
    settings: Settings, store: OpenedStore, plane: Plane, asking: AskingParts, loops: Loops
) -> AsyncIterator[Approvals | None]:
    """What people decide with; meanwhile overdue actions end and people are asked about new ones."""
    gate, clock, channels = plane.acceptance.gate, plane.acceptance.clock, plane.acceptance.channels
    if not isinstance(gate, ApprovalGate):
        yield None
        return

    def released(question: Question) -> None:
        if is_approval(question) and not question.is_open:
            plane.dispatcher.wake()

    mint = asking.mint.mint
    record = StoredApprovals(store.database, mint, expiration)
    watch = Watch(
        record=record,
        policy=gate.policy,
        clock=clock,
        mint=mint,
        asked=asking.bells.every.ring,
        deciders=deciders_of(settings, store, asking.planning.people, channels),
        signal=gate.signal,
    )
    asking.bells.also(released)
    async with loops.running("approvals", watch.look, wake=watch.signal):
        yield Approvals(
            record=record,
            policy=gate.policy,
            channels=channels,
            known_channels=plane.known_channels,
            clock=clock,
            mint=mint,
            released=plane.dispatcher.wake,
            decided=asking.bells.every.ring,
            files=store.files,
        )
