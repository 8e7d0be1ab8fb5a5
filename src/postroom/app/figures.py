"""The household's figures, put together: counted in the store, by the days of the household's zone."""

from __future__ import annotations

from fastapi import APIRouter

from postroom.app.attention import household_policy
from postroom.app.store import OpenedStore
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.ports import Clock
from postroom.domain.principal import OWNER
from postroom.domain.zone import is_zone
from postroom.doors.figures.routes import figures_router
from postroom.system.settings import Settings
from postroom.work.figures.figures import HouseholdFigures
from postroom.world.store.figures.figures import StoredSpanFigures


def household_figures(settings: Settings, store: OpenedStore) -> HouseholdFigures:
    policy, _ = household_policy(settings)
    settled = policy.zone if policy is not None else None

    async def zone() -> str:
        """As the household's policy says; where it does not, as the owner's record does."""
        if settled:
            return settled
        owner = await store.people.get(HOUSEHOLD_OWNER, OWNER)
        named = owner.zone if owner is not None else None
        return named if named and is_zone(named) else "UTC"

    return HouseholdFigures(store=StoredSpanFigures(store.database), zone=zone)


def figures_door(settings: Settings, store: OpenedStore, clock: Clock) -> APIRouter:
    return figures_router(household_figures(settings, store), clock)
