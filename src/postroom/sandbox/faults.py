"""Faults the sandbox was told to show: which channel they spoil, how, how many calls, and how a call is spoiled."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from aiohttp import web

from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.fields import Fields
from postroom.kernel.values.ids import seconds
from postroom.sandbox.ledger import SandboxLedger

# Each fault says how many calls it spoils (`times`, -1 = until cleared) and exactly one way to spoil them:
#
#   status                refuse with this code, keep nothing (`retry_after` may go with it)
#   delay_seconds         keep the message at once, answer after the delay
#   mode accept_then_cut  keep the message, then drop the connection without an answer
#        refuse           drop the connection before anything is kept
#        hang             keep nothing and never answer
#
# Faults of one channel are used up in the order they were armed. On Telegram only calls that send something use one
# up: a poll or a credential check does not. The Bot API has read the whole request before it refuses, so its client
# cannot tell `refuse` from `accept_then_cut`. SMTP refuses a new connection before the greeting, or the next mail on
# an old one with 421: there the client can tell.
#
# For e-mail, a `status` that an SMTP server really gives after the data is used as it stands. Anything else is read
# as the HTTP status it looks like: 408, 429 and 5xx become 451 (try again), other 4xx become 550 (never). So 503
# means "out of order for now" on both channels, although SMTP's own 503 is final.

_UNTIL_CLEARED = -1
HANG_LIMIT_SECONDS = 120.0
MAX_ARMED = 1000
_MAX_DELAY_SECONDS = 3600
_MAX_RETRY_AFTER_SECONDS = 86_400
_MAX_TIMES = 1_000_000
_KINDS = ("status", "delay_seconds", "mode")
_SMTP_CODES = frozenset({421, 432, 450, 451, 452, 454, 455, 530, 534, 535, 538, 550, 551, 552, 553, 554, 555, 556})


class FaultChannel(StrEnum):
    TELEGRAM = "telegram"
    EMAIL = "email"


class Mode(StrEnum):
    ACCEPT_THEN_CUT = "accept_then_cut"
    REFUSE = "refuse"
    HANG = "hang"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    channel: str
    times: int = 1
    status: int | None = None
    retry_after: int | None = None
    delay_seconds: float | None = None
    mode: Mode | None = None

    def listing(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


def parse(payload: object, channels: Sequence[str] = tuple(FaultChannel)) -> Fault:
    """Raises ValidationError that carries every complaint."""
    fields = Fields(payload)
    fields.refuse_unknown({"channel", "times", "retry_after", *_KINDS})
    channel = fields.choice("channel", list(channels))
    mode = fields.choice("mode", list(Mode)) if fields.has("mode") else None
    times = _times(fields)
    status = _integer(fields, "status", 400, 599)
    retry_after = _integer(fields, "retry_after", 0, _MAX_RETRY_AFTER_SECONDS)
    delay = _delay(fields)
    _exactly_one_kind(fields)
    fields.finish()
    return Fault(
        channel=channel,
        times=times,
        status=status,
        retry_after=retry_after,
        delay_seconds=delay,
        mode=Mode(mode) if mode else None,
    )


def smtp_code(status: int) -> int:
    if status in _SMTP_CODES:
        return status
    return 451 if status >= 500 or status in {408, 429} else 550


class ArmedFaults:
    """The one list all servers take from; `channels` are theirs."""

    def __init__(self, channels: Sequence[str] = tuple(FaultChannel)) -> None:
        self.channels = channels
        self._armed: tuple[Fault, ...] = ()

    def arm(self, fault: Fault) -> None:
        self._armed = (*self._armed, fault)

    def listed(self) -> tuple[Fault, ...]:
        return self._armed

    def clear(self) -> int:
        cleared, self._armed = len(self._armed), ()
        return cleared

    def peek(self, channel: str) -> Fault | None:
        return next((fault for fault in self._armed if fault.channel == channel), None)

    def take(self, channel: str) -> Fault | None:
        fault = self.peek(channel)
        if fault is not None and fault.times != _UNTIL_CLEARED:
            place = self._armed.index(fault)
            left = (replace(fault, times=fault.times - 1),) if fault.times > 1 else ()
            self._armed = (*self._armed[:place], *left, *self._armed[place + 1 :])
        return fault


class Spoiled:
    """One sending call under the fault that was armed for it, if any: asked before it is kept, and after."""

    def __init__(self, faults: ArmedFaults, channel: str, clock: Clock, stopping: asyncio.Event) -> None:
        self._fault = faults.take(channel) or Fault(channel=channel)
        self._clock = clock
        self._stopping = stopping

    @property
    def status(self) -> int | None:
        """Refuse with this, and keep nothing."""
        return self._fault.status

    @property
    def retry_after(self) -> int | None:
        return self._fault.retry_after

    async def before(self) -> bool:
        """False when the connection is to be cut and nothing may be kept."""
        if self._fault.mode is Mode.HANG:
            await self._pause(HANG_LIMIT_SECONDS)
        return self._fault.mode not in (Mode.HANG, Mode.REFUSE)

    async def after(self) -> bool:
        """It is kept; now the answer is late, or never comes: False when the connection is to be cut."""
        if self._fault.delay_seconds:
            await self._pause(self._fault.delay_seconds)
        return self._fault.mode is not Mode.ACCEPT_THEN_CUT

    async def _pause(self, pause_seconds: float) -> None:
        await self._clock.wait(self._stopping, self._clock.now_us() + seconds(pause_seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxParts:
    """What every server and page of a sandbox shares; `news` rings when something waits for those who read."""

    ledger: SandboxLedger
    faults: ArmedFaults
    clock: Clock
    news: Signal = field(default_factory=Signal)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    def spoiled(self, channel: str) -> Spoiled:
        return Spoiled(self.faults, channel, self.clock, self.stopping)


def cut(request: web.Request) -> web.Response:
    """Nothing more reaches the client; aiohttp only wants something to return."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _exactly_one_kind(fields: Fields) -> None:
    given = [name for name in _KINDS if fields.has(name)]
    if not given:
        fields.complain(None, f"needs one of {', '.join(_KINDS)}", "required")
    for name in given[1:]:
        fields.complain(name, f"cannot be combined with {given[0]}", "not_allowed")
    if fields.has("retry_after") and "status" not in given:
        fields.complain("retry_after", "needs status", "not_allowed")


def _times(fields: Fields) -> int:
    if fields.raw("times") == _UNTIL_CLEARED and type(fields.raw("times")) is int:
        return _UNTIL_CLEARED
    times = _integer(fields, "times", 1, _MAX_TIMES)
    return 1 if times is None else times


def _integer(fields: Fields, name: str, lowest: int, highest: int) -> int | None:
    value = fields.raw(name)
    if value is None:
        return None
    if type(value) is not int:
        fields.complain(name, "must be a whole number", "integer_required")
    elif not lowest <= value <= highest:
        fields.complain(name, f"must be between {lowest} and {highest}", "out_of_range")
    else:
        return value
    return None


def _delay(fields: Fields) -> float | None:
    value = fields.raw("delay_seconds")
    if value is None:
        return None
    if type(value) not in (int, float):
        fields.complain("delay_seconds", "must be a number", "number_required")
    elif not 0 < value <= _MAX_DELAY_SECONDS:
        fields.complain("delay_seconds", f"must be above 0 and at most {_MAX_DELAY_SECONDS}", "out_of_range")
    else:
        return float(value)
    return None
