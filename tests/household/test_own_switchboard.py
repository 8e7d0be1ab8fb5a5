"""A butler whose file says where its switchboard is calls that one and no other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from postroom.household.wiring.store import shipped
from postroom.settings.roster import SwitchboardPlace
from tests.household.living import Living, started
from tests.household.living import settings_for as settings_of
from tests.services.ports import free_port


@asynccontextmanager
async def household(home: Path, url_of_switchboard: str, port: int) -> AsyncIterator[Living]:
    settings = settings_of(home, {"ports": {"switchboard": port}})
    place = SwitchboardPlace(url=url_of_switchboard)
    roster = [
        one.model_copy(update={"butler": one.butler.model_copy(update={"switchboard": place})})
        if one.name == "health"
        else one
        for one in shipped(settings)
    ]
    async with started(settings, roster=roster) as living, aiohttp.ClientSession() as session:
        yield Living(settings, living, session)


async def notify(living: Living, butler: str) -> dict[str, Any]:
    return await living.notify(butler=butler, message=butler)


async def test_it_is_called_there_even_if_another_one_lives_here(home: Path, free_port: int) -> None:
    async with household(home, f"http://127.0.0.1:{free_port}/mcp", 0) as living:
        lost, fine = await notify(living, "health"), await notify(living, "general")

    assert (lost["status"], lost["error_class"]) == ("error", "target_unavailable")
    assert fine["status"] == "ok"


async def test_it_is_reached_over_http_when_it_is_this_household_s_own(home: Path) -> None:
    port = free_port()
    async with household(home, f"http://127.0.0.1:{port}/mcp", port) as living:
        answer = await notify(living, "health")

    assert answer["status"] == "ok"
