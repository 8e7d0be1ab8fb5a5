"""What every fake service has: its own routes, and the person's side of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from aiohttp import web

from postroom.kernel.running.clock import Clock
from postroom.sandbox.faults import ArmedFaults, Spoiled
from postroom.sandbox.ledger import FileShelf
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

    def spoiled(self, channel: str) -> Spoiled:
        return Spoiled(self.faults, channel, self.clock, self.stopping)


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
