"""The plain doors of the API port: send a message, ask what became of it, decide what may be sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from fastapi import APIRouter
from sqlalchemy import Connection

from postroom.app.address_book import Approvers
from postroom.app.channels import known_channels, usable_channels
from postroom.app.ledger_view import NothingKnown, SeveralMeant, reasoning, tracing
from postroom.app.parts import SWITCHBOARD
from postroom.app.peers import Nobody, Peers
from postroom.app.store import OpenedStore
from postroom.domain.errors import Code, PostroomError, Refused
from postroom.domain.ids import IdMint
from postroom.domain.notify_response import notify_error
from postroom.domain.ports import AddressBook, Clock, Outbound
from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.doors.butler.notify import NotifyArguments, notify
from postroom.doors.guard.sender import sender_of
from postroom.doors.messenger.policy import rules
from postroom.doors.scripts.approval_routes import approval_router
from postroom.doors.scripts.delivery_routes import delivery_router
from postroom.doors.scripts.notify_routes import notify_router
from postroom.system.roster.config import MESSENGER
from postroom.system.settings import Settings
from postroom.world.peers.http import HttpPeer
from postroom.world.peers.memory import MemoryPeer

Reached = MemoryPeer | HttpPeer | Nobody
Result = TypeVar("Result")
_OWNER: Final = frozenset({"owner", OPERATOR.name})  # names of the owner that need no contact
_TOOL_SECONDS: Final = 30.0


async def script_door(settings: Settings, store: OpenedStore, peers: Peers, clock: Clock, mint: IdMint) -> ScriptDoor:
    return ScriptDoor(
        settings=settings,
        store=store,
        outbound=peers.outbound(SWITCHBOARD, caller=None),
        switchboard=await peers.operator(SWITCHBOARD),
        messenger=await peers.operator(MESSENGER),
        clock=clock,
        mint=mint,
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

    def routers(self) -> list[APIRouter]:
        may_decide = rules(Approvers(self.settings.approvals.approvers, self.store.household))["approve_action"]
        return [
            notify_router(self.notify),
            delivery_router(self),
            approval_router(self.messengers_tool, may_decide),
        ]

    async def notify(self, caller: Principal, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The butlers' own `notify`, through the same switchboard; the sender is the token's, whatever was asked."""
        request_id = self.mint.mint(self.clock.now_us())
        try:
            arguments = await self._arguments(caller, dict(asked))
        except PostroomError as error:
            return notify_error(error, request_id=request_id)
        return await notify(
            arguments,
            origin_butler=sender_of(caller) or "",
            request_id=request_id,
            channels=known_channels(self.settings),
            outbound=self.outbound,
            switchboard=self.switchboard,
            default_wait_seconds=self.settings.delivery.notify_wait_seconds,
        )

    async def _arguments(self, caller: Principal, asked: dict[str, Any]) -> NotifyArguments:
        recipient = recipient_of(caller, asked.pop("to", None))
        channel = asked.pop("channel", None)
        if channel is None:
            channel = await channel_for(recipient, self.store.household, usable_channels(self.settings))
        return NotifyArguments(channel=channel, recipient=recipient, **asked)

    async def messengers_tool(self, tool: str, arguments: Mapping[str, Any], token: str) -> dict[str, Any]:
        if not self.settings.approvals_on:
            raise Refused(Code.NOT_FOUND, "approvals are off ([approvals] enabled = true turns them on)")
        return await self.messenger.call(tool, arguments, _TOOL_SECONDS, token=token)

    async def why(self, identifier: str, origin: str | None) -> list[dict[str, str]]:
        return await self._read(reasoning(self.settings, identifier, self.clock.now_us(), origin))

    async def trace(self, identifier: str, origin: str | None) -> dict[str, Any]:
        return await self._read(tracing(identifier, origin))

    async def _read(self, work: Callable[[Connection], Result]) -> Result:
        try:
            return await self.store.database.read(work)
        except (NothingKnown, SeveralMeant) as error:
            raise Refused(Code.NOT_FOUND, str(error)) from None


def recipient_of(caller: Principal, to: object) -> object:
    """Without a name a program writes to its own person, everybody else to the owner; None is the owner."""
    wanted = caller.person if to is None and caller.role is Role.PROGRAM else to
    return None if isinstance(wanted, str) and wanted.strip().lower() in _OWNER else wanted


async def channel_for(recipient: object, book: AddressBook, channels: tuple[str, ...]) -> str:
    """The first that reaches the recipient; when none does, the first, whose refusal says what is wrong."""
    for name in channels:
        if recipient is None:
            reached = await book.owner(name) is not None
        else:
            reached = isinstance(recipient, str) and bool(await book.addresses(recipient, name))
        if reached:
            return name
    looks_like_mail = isinstance(recipient, str) and "@" in recipient.strip()[1:]
    return "email" if looks_like_mail and "email" in channels else channels[0]
