"""What the gateway's doors need, and who is acting through them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from postroom.domain.clock import Clock
from postroom.domain.principal import Principal, Role
from postroom.domain.webhook import Subscription
from postroom.system.signal import Signal
from postroom.work.intents.acting import Acting
from postroom.work.intents.agency import Agency
from postroom.work.intents.intake import Intake
from postroom.work.intents.threads import Threads


class SubscriptionStore(Protocol):
    async def save(self, subscription: Subscription) -> Subscription: ...

    async def listed(self, owner_agent: str) -> Sequence[Subscription]: ...

    async def delete(self, owner_agent: str, subscription_id: str) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayParts:
    intake: Intake
    threads: Threads
    subscriptions: SubscriptionStore
    agency: Agency
    signal: Signal
    clock: Clock
    mint: Callable[[int], str]
    decides: Callable[[Principal], bool]  # what was put to them; the others only answer

    def acting(self, caller: Principal, agent: str | None, field: str = "owner_agent") -> Acting:
        """`field` is what this door calls the agent it was given."""
        agent = self.agency.sender(caller, agent, field)
        return Acting(
            agent,
            self.decides(caller),
            anyone=caller.role is Role.OPERATOR,
            caller=str(caller),
            name=self.agency.name(caller, agent),
            own=frozenset(self.agency.agents(caller)),
        )
