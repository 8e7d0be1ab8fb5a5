"""What is told of a message from outside its household is what the household goes by."""

from __future__ import annotations

from pathlib import Path

from postroom.app.ledger_view import reasons
from tests.app.living import living

PATIENT = {"retry": {"base_seconds": 600, "jitter": 0, "max_attempts": 3, "attempts_by_priority": {"high": 7}}}


async def test_attempts_are_counted_against_those_of_the_messages_own_priority(home: Path) -> None:
    async with living(home, PATIENT) as household:
        await household.fault(channel="telegram", times=1, status=503)
        answer = await household.notify(priority="high", wait_seconds=1)

        (told,) = await reasons(household.settings, answer["delivery"]["delivery_id"])

    assert "Attempt 1 of 7" in told["why"]
