"""The registry and the gateway for callers inside this process, as one principal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from postroom.domain.contact import InputMode, Resolution
from postroom.domain.contact_book import ConfirmSource
from postroom.domain.principal import Principal
from postroom.doors.intents.parts import GatewayParts
from postroom.doors.intents.submit import submit
from postroom.work.intents.receipt import first_receipt, receipt
from postroom.work.people.confirm import Confirmation, Confirmer
from postroom.work.people.resolve import Resolver


@dataclass(frozen=True, slots=True)
class Direct:
    gateway: GatewayParts
    resolver: Resolver
    confirmer: Confirmer
    principal: Principal
    as_at_first: bool = False

    async def resolve(self, owner_agent: str, query: str, input_mode: InputMode) -> Resolution:
        return await self.resolver.resolve(owner_agent, query, input_mode=input_mode)

    async def confirm(
        self, owner_agent: str, query: str, *, resolution_token: str | None, agent_address: str | None
    ) -> None:
        asked = Confirmation(
            owner_agent=owner_agent,
            query=query,
            resolution_token=resolution_token,
            agent_address=agent_address,
            source=ConfirmSource.CONFIRM_SEND,
        )
        await self.confirmer.confirm(asked, by_person=self.principal.is_person)

    async def submit(self, envelope: Mapping[str, Any]) -> dict[str, Any]:
        intent = await submit(self.gateway, self.principal, envelope)
        return first_receipt(intent) if self.as_at_first else receipt(intent)


@dataclass(frozen=True, slots=True)
class DirectHousehold:
    """The household of an adapter that runs in its process: the same steps, and no call to our own port."""

    gateway: GatewayParts
    resolver: Resolver
    confirmer: Confirmer

    def under(self, caller: Principal, token: str, *, key: str | None = None) -> Direct:
        """The guard has looked at the token; the key stands in the envelope, and its answer is the first one."""
        return Direct(self.gateway, self.resolver, self.confirmer, caller, as_at_first=key is not None)

    async def close(self) -> None:
        """Nothing was opened."""
