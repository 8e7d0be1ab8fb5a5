"""A message from a script takes the way of the butlers' own `notify`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.address_folding import folded
from postroom.domain.capabilities import KnownChannels
from postroom.domain.channel_names import AUTO
from postroom.domain.clock import Clock
from postroom.domain.errors import FieldError, PostroomError, ValidationError
from postroom.domain.fields import text_problem
from postroom.domain.ids import IdMint
from postroom.domain.notify_response import notify_error
from postroom.domain.principal import OPERATOR, OWNER, Principal, Role
from postroom.domain.seams import AddressBook
from postroom.doors.butler.notify import Notifier, NotifyArguments
from postroom.doors.guard.sender import sender_of
from postroom.work.delivery.first_channel import first_channel
from postroom.work.questions.asked_people import AskedPeople

_OWNER: Final = frozenset({OWNER, OPERATOR.name})  # names of the owner that need no contact


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    book: AddressBook
    people: AskedPeople
    channels: KnownChannels
    notifier: Notifier
    clock: Clock
    mint: IdMint

    async def notify(self, caller: Principal, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Through the same switchboard; the sender is the token's, whatever was asked."""
        request_id, origin = self.new_id(), sender_of(caller) or ""
        try:
            arguments = await self._arguments(caller, dict(asked))
        except ValidationError as error:
            await self.notifier.note(origin, NotifyArguments(channel=asked.get("channel")), request_id, error)
            return notify_error(error, request_id=request_id)
        except PostroomError as error:
            return notify_error(error, request_id=request_id)
        return await self.notifier.notify(arguments, origin_butler=origin, request_id=request_id)

    def new_id(self) -> str:
        return self.mint.mint(self.clock.now_us())

    async def _arguments(self, caller: Principal, asked: dict[str, Any]) -> NotifyArguments:
        recipient = recipient_of(caller, asked.pop("to", None))
        channel = asked.pop("channel", None)
        if isinstance(recipient, str) and caller.serves != OWNER and channel in (None, AUTO, *self.notifier.channels):
            recipient, channel = await self._in_reach(caller.serves or OWNER, recipient, channel)
        elif channel is None:
            channel = await first_channel(recipient, self.book, self.channels)
        return NotifyArguments(channel=channel, recipient=recipient, **asked)

    async def _in_reach(self, person_id: str, named: str, channel: str | None) -> tuple[str, str]:
        """
        Where a program of another than the owner writes: to the person it is for, or to the owner.

        Names and addresses of all others, known or not, have one answer. The address is settled here, so that a
        contact of the same name gets nothing.
        """
        called = set() if text_problem(named) else {one.id for one in await self.people.find(named)}
        mine = [one for who in (person_id, OWNER) for one in await self.people.find(who) if one.id == who]
        places = [
            place
            for one in mine
            for place in sorted(one.addresses, key=lambda place: place.rank)
            if one.id in called or folded(place.address) == folded(named.strip())
        ]
        wanted = self.channels if channel in (None, AUTO) else (channel,)
        found = next((one for one in places if one.channel in wanted), None)
        if found is None:
            told = "names nobody this token writes to: the person it is for and the owner, where they have an address"
            raise ValidationError.of([FieldError("delivery.recipient", told, "unknown_recipient")])
        return found.address, found.channel


def recipient_of(caller: Principal, to: object) -> object:
    """Without a name a program writes to its own person, everybody else to the owner; None is the owner."""
    wanted = caller.person if to is None and caller.role is Role.PROGRAM else to
    return None if isinstance(wanted, str) and wanted.strip().lower() in _OWNER else wanted
