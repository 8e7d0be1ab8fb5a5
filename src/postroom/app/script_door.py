"""Put the plain doors of the API port together: send a message, ask what became of it, decide what may be sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter

from postroom.app.accounts import Accounts
from postroom.app.address_book import Approvers
from postroom.app.files import file_taking
from postroom.app.known_channels import known_channels, usable_channels
from postroom.app.ledger_view import LedgerView
from postroom.app.parts import SWITCHBOARD
from postroom.app.peers import Peers
from postroom.app.question_people import HouseholdAsked
from postroom.app.standing import HouseholdStanding
from postroom.app.store import OpenedStore
from postroom.domain.capabilities import KnownChannels
from postroom.domain.clock import Clock
from postroom.domain.errors import Code, Refused
from postroom.domain.ids import IdMint
from postroom.domain.ports import Outbound
from postroom.domain.principal import Principal
from postroom.doors.audit.routes import audit_router
from postroom.doors.butler.notify import Notifier
from postroom.doors.messenger.policy import rules
from postroom.doors.scripts.approval_routes import approval_router
from postroom.doors.scripts.channel_routes import channel_router
from postroom.doors.scripts.correction_routes import correction_router
from postroom.doors.scripts.delivery_routes import delivery_router
from postroom.doors.scripts.household_routes import household_router
from postroom.doors.scripts.notify_routes import notify_router
from postroom.doors.scripts.sending import Sending
from postroom.doors.scripts.upload_routes import upload_router
from postroom.system.roster.config import MESSENGER, ButlerConfig
from postroom.system.settings import Settings
from postroom.work.files.taking import FileTaking
from postroom.world.peers.http import HttpPeer
from postroom.world.peers.memory import MemoryPeer
from postroom.world.peers.nobody import Nobody
from postroom.world.store.conversations.troubles import StoredTroubles
from postroom.world.store.shared.audit import StoredAudit

Reached = MemoryPeer | HttpPeer | Nobody
_TOOL_SECONDS: Final = 30.0


async def script_door(
    settings: Settings, store: OpenedStore, peers: Peers, clock: Clock, mint: IdMint, roster: Iterable[ButlerConfig]
) -> ScriptDoor:
    return ScriptDoor(
        settings=settings,
        store=store,
        outbound=peers.outbound(SWITCHBOARD, caller=None),
        switchboard=await peers.operator(SWITCHBOARD),
        messenger=await peers.operator(MESSENGER),
        clock=clock,
        mint=mint,
        channels=known_channels(settings),
        files=file_taking(settings, store, roster, clock, mint),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptDoor:
    settings: Settings
    store: OpenedStore
    outbound: Outbound
    switchboard: Reached
    messenger: Reached
    clock: Clock
    mint: IdMint
    channels: KnownChannels
    files: FileTaking

    def routers(self) -> list[APIRouter]:
        may_decide = rules(Approvers(self.settings.approvals.approvers, self.store.household))["approve_action"]
        return [
            notify_router(self.sending().notify),
            correction_router(self.messengers_own, self.settings.delivery.notify_wait_seconds),
            upload_router(self.files),
            delivery_router(LedgerView(settings=self.settings, database=self.store.database, clock=self.clock)),
            approval_router(self.messengers_tool, may_decide),
            channel_router(self._accounts().listed),
            household_router(self._standing(may_decide).seen_by),
            audit_router(StoredAudit(self.store.database, self.mint.mint)),
        ]

    def _standing(self, may_decide: Callable[[Principal], bool]) -> HouseholdStanding:
        return HouseholdStanding(
            settings=self.settings,
            database=self.store.database,
            accounts=self._accounts(),
            may_decide=may_decide,
            clock=self.clock,
            mint=self.mint,
            started_at_us=self.clock.now_us(),
        )

    def _accounts(self) -> Accounts:
        troubles = StoredTroubles(self.store.database)
        return Accounts(settings=self.settings, channels=self.channels, messenger=self.messenger, troubles=troubles)

    def sending(self) -> Sending:
        return Sending(
            book=self.store.household,
            people=HouseholdAsked(book=self.store.people),
            channels={name: self.channels[name] for name in usable_channels(self.settings)},
            notifier=Notifier(
                channels=self.channels,
                outbound=self.outbound,
                switchboard=self.switchboard,
                default_wait_seconds=self.settings.delivery.notify_wait_seconds,
                files=self.files,
            ),
            clock=self.clock,
            mint=self.mint,
        )

    async def messengers_own(
        self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float, token: str
    ) -> dict[str, Any]:
        return await self.messenger.call(tool, arguments, timeout_seconds, token=token)

    async def messengers_tool(self, tool: str, arguments: Mapping[str, Any], token: str) -> dict[str, Any]:
        if not self.settings.approvals_on:
            raise Refused(Code.NOT_FOUND, "approvals are off ([approvals] enabled = true turns them on)")
        return await self.messenger.call(tool, arguments, _TOOL_SECONDS, token=token)
