"""The household's channels with what they can do, and their health as the messenger tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from postroom.app.known_channels import account_kinds, configured_channels
from postroom.domain.account import AccountHealth, ListedAccount
from postroom.domain.capabilities import KnownChannels
from postroom.domain.errors import PostroomError, StoreUnavailable
from postroom.domain.inbound_trouble import InboundTrouble
from postroom.domain.peer import Peer
from postroom.system.settings import Settings

_TOOL_SECONDS: Final = 10.0


class KnownTroubles(Protocol):
    async def listed(self) -> Sequence[InboundTrouble]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    settings: Settings
    channels: KnownChannels
    messenger: Peer
    troubles: KnownTroubles | None = None

    async def listed(self) -> list[ListedAccount]:
        """Never fails: without the messenger everything is known but the health."""
        circuits = (await self._told("messenger_circuit_status")).get("circuits", {})
        throttles = (await self._told("messenger_rate_limit_status")).get("provider_throttles", {})
        deaf = {one.channel: one for one in await self._deaf()}
        set_up, kinds = configured_channels(self.settings), account_kinds(self.settings)
        return [
            ListedAccount(
                name=name,
                kind=kinds.get(name, name),
                configured=circuits.get(name, {}).get("configured", name in set_up),
                capabilities=can,
                health=_health(circuits[name], throttles.get(name)) if name in circuits else None,
                trouble=deaf.get(name),
            )
            for name, can in self.channels.items()
        ]

    async def _deaf(self) -> Sequence[InboundTrouble]:
        try:
            return await self.troubles.listed() if self.troubles else ()
        except StoreUnavailable:
            return ()

    async def _told(self, tool: str) -> dict[str, Any]:
        try:
            return await self.messenger.call(tool, {}, _TOOL_SECONDS)
        except PostroomError:
            return {}


def _health(circuit: Mapping[str, Any], throttle: Mapping[str, Any] | None) -> AccountHealth:
    return AccountHealth(
        circuit=circuit["state"],
        reason=circuit["trip_reason"],
        retry_after_seconds=circuit["retry_after_seconds"],
        throttled_seconds=throttle["retry_after_seconds"] if throttle else None,
    )
