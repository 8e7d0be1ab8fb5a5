"""Put the approval subsystem together, when the settings want it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from postroom.app.channels import known_channels
from postroom.app.store import OpenedStore
from postroom.domain.ids import IdMint
from postroom.domain.outcome import Outcome
from postroom.domain.outgoing import Outgoing
from postroom.domain.ports import Channel
from postroom.system.loop import Loops
from postroom.system.settings import Settings
from postroom.work.approvals.approvals import Approvals
from postroom.work.approvals.gate import ApprovalGate, Mailboxes
from postroom.work.approvals.policy import ApprovalPolicy
from postroom.work.approvals.risk import RiskPolicy
from postroom.work.approvals.ruling import expiration
from postroom.work.approvals.watch import AskChannel, Watch
from postroom.work.delivery.plane import Plane
from postroom.work.people.household_people import HouseholdPeople
from postroom.work.people.household_trust import HouseholdTrust
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


def approval_policy(settings: Settings) -> ApprovalPolicy:
    chosen = settings.approvals
    return ApprovalPolicy(
        expiry_hours=chosen.expiry_hours,
        risk=RiskPolicy(default=chosen.risk, by_channel=chosen.risk_by_channel),
        replies_pass=chosen.replies == "heard",
        most_pending_per_origin=chosen.max_pending_per_origin,
        sweep_seconds=chosen.sweep_seconds,
    )


def ask_channel(settings: Settings, channels: Mapping[str, Channel], people: HouseholdPeople) -> AskChannel | None:
    """Where the owner hears that something waits: on the channel the settings name, or where they are tried first."""
    if not settings.ask_owner_on:
        return None
    named = settings.approvals.ask_channel

    async def found() -> str | None:
        owner = await people.owner_person()
        reached = [one.channel for one in owner.addresses if one.channel in channels] if owner else []
        return next((name for name in reached if named in ("", name)), None)

    return found


@asynccontextmanager
async def approving(
    settings: Settings, store: OpenedStore, plane: Plane, mint: IdMint, loops: Loops
) -> AsyncIterator[Approvals | None]:
    """What people decide with; meanwhile overdue actions end and the owner is told of new ones."""
    gate, clock, channels = plane.acceptance.gate, plane.acceptance.clock, plane.acceptance.channels
    if not isinstance(gate, ApprovalGate):
        yield None
        return

    async def submit(outgoing: Outgoing) -> Outcome:
        return await plane.submit(outgoing, request_id=mint.mint(clock.now_us()), wait_seconds=0)

    record = StoredApprovals(store.database, mint.mint, expiration)
    watch = Watch(
        record=record,
        policy=gate.policy,
        clock=clock,
        submit=submit,
        ask_channel=ask_channel(settings, channels, HouseholdPeople(store.people, clock)),
        signal=gate.signal,
    )
    async with loops.running("approvals", watch.look, wake=watch.signal):
        yield Approvals(
            record=record,
            policy=gate.policy,
            channels=channels,
            channel_names=known_channels(settings),
            clock=clock,
            mint=mint.mint,
            released=plane.dispatcher.wake,
        )
