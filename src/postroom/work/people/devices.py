"""What a person may do about their own devices: switch one on, look, try it, and switch it off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from postroom.domain.clock import Clock
from postroom.domain.errors import Code, FieldError, Refused
from postroom.domain.fields import text_problem
from postroom.domain.outcome import Outcome
from postroom.domain.outgoing import Outgoing
from postroom.domain.ports import Outbound
from postroom.domain.push_device import MOST_NAME_CHARACTERS, NotifiedMessage, PushDevice, PushSubscription

ORIGIN: Final = "console"
MOST_DEVICES: Final = 10
_TRIAL: Final = "This is a trial. Notifications reach this device."

Check = Callable[[PushSubscription], object]
"""Raises ValueError with a sentence that repeats nothing of it."""


class DeviceRecord(Protocol):
    async def keep(self, channel: str, person_id: str, name: str, subscription: PushSubscription) -> PushDevice: ...

    async def of(self, person_id: str) -> Sequence[PushDevice]: ...

    async def remove(self, person_id: str, device_id: str) -> PushDevice | None: ...

    async def message(self, person_id: str, delivery_id: str) -> NotifiedMessage | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """`channel` is the account that notifies them."""

    channel: str
    key: str
    """With it a browser gives its consent to this household, and to no other."""
    record: DeviceRecord
    check: Check
    outbound: Outbound
    clock: Clock
    mint: Callable[[int], str]
    wait_seconds: float

    async def listed(self, person_id: str) -> Sequence[PushDevice]:
        return [one for one in await self.record.of(person_id) if one.channel == self.channel]

    async def add(self, person_id: str, name: str, subscription: PushSubscription) -> PushDevice:
        """Verified at once: the person who is signed in made it here. Raises Refused."""
        try:
            self.check(subscription)
        except ValueError as error:
            raise _wrong("subscription", str(error)) from None
        await self._refuse_too_many(person_id)
        return await self.record.keep(self.channel, person_id, _named(name), subscription)

    async def remove(self, person_id: str, device_id: str) -> PushDevice | None:
        return await self.record.remove(person_id, device_id)

    async def message(self, person_id: str, delivery_id: str) -> NotifiedMessage | None:
        """What a notification on one of their devices was about; None when it was on none."""
        return await self.record.message(person_id, delivery_id)

    async def test(self, person_id: str, device_id: str) -> Outcome | None:
        """On the one way out, as everything else; None when it is not this person's, or has ended."""
        known = [one.id for one in await self.listed(person_id) if one.ended_at_us is None]
        if device_id not in known:
            return None
        trial = Outgoing(origin_butler=ORIGIN, channel=self.channel, message=_TRIAL, recipient=device_id, released=True)
        request_id = self.mint(self.clock.now_us())
        return await self.outbound.submit(trial, request_id=request_id, wait_seconds=self.wait_seconds)

    async def _refuse_too_many(self, person_id: str) -> None:
        notified = [one for one in await self.record.of(person_id) if one.ended_at_us is None]
        if len(notified) >= MOST_DEVICES:
            raise _wrong("name", f"{MOST_DEVICES} devices are known already; remove one first")


def _named(name: str) -> str:
    line = " ".join(name.split())[:MOST_NAME_CHARACTERS]
    if problem := text_problem(line):
        raise _wrong("name", problem)
    return line or "A device"


def _wrong(field: str, error: str) -> Refused:
    return Refused.of(Code.SCHEMA_INVALID, [FieldError(field, error, "invalid")])
