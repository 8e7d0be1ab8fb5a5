"""A message from a script takes the way of the butlers' own `notify`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.capabilities import KnownChannels
from postroom.domain.errors import PostroomError
from postroom.domain.ids import IdMint
from postroom.domain.notify_response import notify_error
from postroom.domain.ports import AddressBook, Clock
from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.doors.butler.notify import Notifier, NotifyArguments
from postroom.doors.guard.sender import sender_of
from postroom.work.delivery.first_channel import first_channel

_OWNER: Final = frozenset({"owner", OPERATOR.name})  # names of the owner that need no contact


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    book: AddressBook
    channels: KnownChannels
    notifier: Notifier
    clock: Clock
    mint: IdMint

    async def notify(self, caller: Principal, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Through the same switchboard; the sender is the token's, whatever was asked."""
        request_id = self.new_id()
        try:
            arguments = await self._arguments(caller, dict(asked))
        except PostroomError as error:
            return notify_error(error, request_id=request_id)
        return await self.notifier.notify(arguments, origin_butler=sender_of(caller) or "", request_id=request_id)

    def new_id(self) -> str:
        return self.mint.mint(self.clock.now_us())

    async def _arguments(self, caller: Principal, asked: dict[str, Any]) -> NotifyArguments:
        recipient = recipient_of(caller, asked.pop("to", None))
        channel = asked.pop("channel", None)
        if channel is None:
            channel = await first_channel(recipient, self.book, self.channels)
        return NotifyArguments(channel=channel, recipient=recipient, **asked)


def recipient_of(caller: Principal, to: object) -> object:
    """Without a name a program writes to its own person, everybody else to the owner; None is the owner."""
    wanted = caller.person if to is None and caller.role is Role.PROGRAM else to
    return None if isinstance(wanted, str) and wanted.strip().lower() in _OWNER else wanted
