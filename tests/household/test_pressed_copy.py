"""A card that may have arrived is sent again; whichever of the two is pressed, both say how it ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.household.asked_household import ask, labels, press, until
from tests.household.living import LIFTED, QUICK, living


@pytest.mark.requirement("ask:closed-everywhere")
async def test_the_copy_that_nobody_noted_loses_its_buttons_when_it_is_pressed(home: Path) -> None:
    async with living(home, LIFTED, QUICK) as house:
        await house.fault(channel="telegram", times=1, mode="accept_then_cut")
        await ask(house)

        async def both() -> list[dict[str, Any]] | None:
            cards = [one for one in await house.received() if "Ship it?" in one["text"]]
            return cards if len(cards) == 2 and all(labels(one) for one in cards) else None

        first = min(await until(both), key=lambda one: int(one["message_id"]))
        await press(house, first, "yes")

        async def closed() -> bool:
            return all("✅ yes: answered by" in one["text"] and not labels(one) for one in await house.received())

        await until(closed)
