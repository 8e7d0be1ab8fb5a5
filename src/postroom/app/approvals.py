"""Put the approval subsystem together, when the settings want it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from postroom.app.address_book import address_on
from postroom.app.channels import KNOWN_CHANNELS, owner_of
from postroom.app.trust import SettingsTrust
from postroom.approvals.approvals import Approvals
from postroom.approvals.gate import ApprovalGate, Mailboxes
from postroom.approvals.policy import ApprovalPolicy
from postroom.approvals.risk import RiskPolicy
from postroom.approvals.ruling import expiration
from postroom.approvals.watch import Watch
from postroom.delivery.plane import Plane
from postroom.domain.ids import IdMint
from postroom.ports import Channel, Clock
from postroom.settings import Settings
from postroom.store.approvals import StoredApprovals
from postroom.store.conversations import StoredConversations
from postroom.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Approving:
    """The gate goes into the plane; what decides and watches needs the plane, so it is made afterwards."""

    gate: ApprovalGate
    record: StoredApprovals
    policy: ApprovalPolicy
    channels: Mapping[str, Channel]
    ask_channel: str | None
    clock: Clock
    mint: IdMint
    bell: asyncio.Event


def build_approving(
    settings: Settings,
    database: Database,
    channels: Mapping[str, Channel],
    clock: Clock,
    mint: IdMint,
    mailboxes: Mailboxes | None = None,
) -> Approving | None:
    """None while approvals are off."""
    if not settings.approvals_on:
        return None
    policy, bell = approval_policy(settings), asyncio.Event()
    record = StoredApprovals(database, mint.mint, expiration)
    gate = ApprovalGate(
        trust=SettingsTrust(owner_of(settings), settings.contacts, channels),
        record=record,
        policy=policy,
        parked=bell.set,
        mailboxes=mailboxes,
        conversations=StoredConversations(database),
    )
    return Approving(
        gate=gate,
        record=record,
        policy=policy,
        channels=channels,
        ask_channel=_ask_channel(settings, channels),
        clock=clock,
        mint=mint,
        bell=bell,
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


@asynccontextmanager
async def watching(approving: Approving, plane: Plane) -> AsyncIterator[Approvals]:
    """Ends overdue actions and tells the owner of new ones for as long as the context lasts."""

    async def deliver(envelope: Mapping[str, Any]) -> Mapping[str, Any]:
        request_id = approving.mint.mint(approving.clock.now_us())
        return await plane.deliver(envelope, request_id=request_id, wait_seconds=0)

    watch = Watch(
        record=approving.record,
        policy=approving.policy,
        clock=approving.clock,
        deliver=deliver,
        ask_channel=approving.ask_channel,
        bell=approving.bell,
    )
    stopping = asyncio.Event()
    running = asyncio.create_task(watch.run(stopping))
    try:
        yield _approvals(approving, plane)
    finally:
        stopping.set()
        approving.bell.set()
        await running


def _approvals(approving: Approving, plane: Plane) -> Approvals:
    return Approvals(
        record=approving.record,
        policy=approving.policy,
        channels=approving.channels,
        channel_names=KNOWN_CHANNELS,
        clock=approving.clock,
        mint=approving.mint.mint,
        released=plane.dispatcher.wake,
    )


def _ask_channel(settings: Settings, channels: Mapping[str, Channel]) -> str | None:
    if not settings.ask_owner_on:
        return None
    wanted = [settings.approvals.ask_channel] if settings.approvals.ask_channel else ["telegram", "email"]
    owner = owner_of(settings)
    return next((name for name in wanted if name in channels and address_on(owner, name)), None)
