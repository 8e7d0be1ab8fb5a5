"""A record of devices in memory, for a channel without a household."""

from __future__ import annotations

from dataclasses import dataclass, field

from postroom.people.model import PushSubscription


@dataclass(slots=True)
class KeptDevices:
    known: dict[str, PushSubscription]
    uses: list[str] = field(default_factory=list)
    over: list[str] = field(default_factory=list)

    async def subscription(self, channel: str, device_id: str) -> PushSubscription | None:
        return None if device_id in self.over else self.known.get(device_id)

    async def used(self, device_id: str) -> None:
        self.uses.append(device_id)

    async def ended(self, device_id: str) -> None:
        self.over.append(device_id)
