"""What every fake service has: its own routes, and the person's side of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from aiohttp import web

from postroom.kernel.running.clock import Clock
from postroom.kernel.values.ids import seconds
from postroom.sandbox.records import HANG_LIMIT_SECONDS, ArmedFaults, Fault, FileShelf, Mode
from tests.fakes.ledger import FaceLedger
from tests.fakes.record import FaceButton, FaceMessage, PressedKey, Wrote


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceParts:
    """What a face is made of."""

    ledger: FaceLedger
    files: FileShelf
    faults: ArmedFaults
    clock: Clock
    stopping: asyncio.Event


class SandboxFace(Protocol):
    """`written` and `pressed` raise ValidationError for what nobody could do there."""

    @property
    def name(self) -> str: ...

    @property
    def ledger(self) -> FaceLedger: ...

    def routes(self) -> Sequence[web.RouteDef]:
        """The service's own API, for its clients."""
        ...

    def buttons(self, message: FaceMessage) -> Sequence[FaceButton]:
        """What stands under a message now."""
        ...

    async def written(self, wrote: Wrote) -> FaceMessage:
        """Kept, and announced to the clients that listen."""
        ...

    async def pressed(self, pressed: PressedKey) -> dict[str, Any]:
        """Announced to the clients that listen; returns what the person sees of it."""
        ...


class Spoiled:
    """One sending call under the fault that was armed for it, if any: asked before it is kept, and after."""

    def __init__(self, parts: FaceParts, channel: str) -> None:
        self._parts = parts
        self._fault: Fault | None = parts.faults.take(channel)

    @property
    def status(self) -> int | None:
        """Refuse with this, and keep nothing."""
        return self._fault.status if self._fault else None

    @property
    def retry_after(self) -> int | None:
        return self._fault.retry_after if self._fault else None

    async def before(self, request: web.Request) -> bool:
        """False when the connection is gone and nothing may be kept."""
        mode = self._fault.mode if self._fault else None
        if mode is Mode.HANG:
            await self._pause(HANG_LIMIT_SECONDS)
        if mode in (Mode.HANG, Mode.REFUSE):
            _abort(request)
            return False
        return True

    async def after(self, request: web.Request) -> None:
        """It is kept; now the answer is late, or never comes."""
        if self._fault and self._fault.delay_seconds:
            await self._pause(self._fault.delay_seconds)
        if self._fault and self._fault.mode is Mode.ACCEPT_THEN_CUT:
            _abort(request)

    async def _pause(self, pause_seconds: float) -> None:
        clock = self._parts.clock
        await clock.wait(self._parts.stopping, clock.now_us() + seconds(pause_seconds))


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
