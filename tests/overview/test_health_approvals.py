"""What a person took their time for, or said no to, is no trouble of a channel."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.console.http import calling
from tests.household.asked_household import until
from tests.household.living import LIFTED, QUICK, Living, living

ON = {"approvals": {"enabled": True, "ask_owner": False}}
STRANGER = "4711"


async def parked(house: Living) -> str:
    answer = await house.notify(recipient=STRANGER, message="Dinner at eight?")
    return str(answer["delivery"]["delivery_id"])


def an_hour_ago(house: Living) -> None:
    """When they were handed in."""
    with sqlite3.connect(house.settings.home / "postroom.db") as connection:
        connection.execute("UPDATE delivery_requests SET created_at = created_at - 3600000000")
        connection.execute("UPDATE pending_actions SET requested_at = requested_at - 3600000000")


async def by_owner(house: Living, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await house.call("messenger", tool, arguments, caller="operator")
    assert answer.get("status", "ok") == "ok", answer
    return answer


async def page_of(house: Living, path: str = "/console/health") -> str:
    assert house.household.sign_in is not None
    async with calling(house) as caller:
        cookies = await caller.sign_in(await house.household.sign_in())
        return (await caller.get(path, cookies)).text


@pytest.mark.requirement("side:health-in-plain-words")
async def test_the_hours_until_a_person_agreed_make_no_channel_slow(home: Path) -> None:
    async with living(home, LIFTED, QUICK, ON) as house:
        waited = [await parked(house) for _ in range(3)]
        an_hour_ago(house)
        for one in waited:
            found = await by_owner(house, "show_pending_action", action_id=one)
            seen = found["action"]["content_hash"]
            await by_owner(house, "approve_action", action_id=one, content_hash=seen)
        await until(lambda: arrived(house, 3))
        await house.settled()

        page = await page_of(house)
        assert "With people" in page and "until a yes or no, the middle of 3 in 24 hours" in page
        assert re.search(r"With people.{0,200}\b1 h", page, re.DOTALL)
        assert "Slow" not in page and "status page" not in page and "Messages leave at once." in page
        assert "Before that it waited" in await page_of(house, f"/console/deliveries/{waited[0]}")


async def arrived(house: Living, many: int) -> bool:
    return len([one for one in await house.received() if str(one["chat_id"]) == STRANGER]) >= many


@pytest.mark.requirement("side:health-in-plain-words")
async def test_what_a_person_did_not_let_go_is_no_failure(home: Path) -> None:
    async with living(home, LIFTED, QUICK, ON) as house:
        assert (await house.notify(message="Hello"))["status"] == "ok"
        rejected = await parked(house)
        await by_owner(house, "reject_action", action_id=rejected, reason="no")

        stats = await by_owner(house, "messenger_delivery_stats")
        page, its_own = await page_of(house), await page_of(house, f"/console/deliveries/{rejected}")
    assert '<span class="badge plain">Not sent</span>' in its_own and 'class="card why plain"' in its_own
    assert "the middle of 1 in 24 hours" in page
    assert (stats["failed_count"], stats["success_rate"]) == (0, 1.0)
    assert "100 %" in page or "100%" in page
