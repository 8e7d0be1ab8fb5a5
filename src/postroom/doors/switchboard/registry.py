"""Look a butler up, or say why it cannot be reached."""

from __future__ import annotations

from typing import Protocol

from postroom.domain.errors import TargetUnavailable, ValidationError
from postroom.domain.registry import Eligibility, Registration, eligibility


class Registry(Protocol):
    async def find(self, name: str) -> Registration | None: ...

    async def all(self) -> list[Registration]: ...

    async def register(self, one: Registration) -> None: ...

    async def seen(self, name: str, now_us: int) -> None: ...

    async def quarantine(self, name: str, reason: str | None) -> bool: ...


async def look_up_messenger(registry: Registry, now_us: int) -> Registration:
    """No caller asked for it by name: that it is missing is our trouble, and may pass."""
    try:
        return await look_up(registry, "messenger", now_us)
    except ValidationError:
        raise TargetUnavailable("the messenger has not reported to the switchboard yet") from None


async def look_up(registry: Registry, name: str, now_us: int) -> Registration:
    found = await registry.find(name)
    if found is None:
        raise ValidationError(f"no butler called '{name[:64]}' is registered")
    state, reason = eligibility(found, now_us)
    match state:
        case Eligibility.ACTIVE:
            return found
        case Eligibility.STALE:
            raise TargetUnavailable(f"{name} is stale: {reason}")
        case Eligibility.QUARANTINED:
            raise TargetUnavailable(f"{name} is quarantined: {reason}")
