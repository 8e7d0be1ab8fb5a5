"""What is told of a message from outside its household is what the household goes by."""

from __future__ import annotations

from pathlib import Path

from postroom.app.ledger_view import ledger_view
from postroom.work.inbox.request import Request
from tests.app.living import living

PATIENT = {"retry": {"base_seconds": 600, "jitter": 0, "max_attempts": 3, "attempts_by_priority": {"high": 7}}}


async def test_attempts_are_counted_against_those_of_the_messages_own_priority(home: Path) -> None:
    async with living(home, PATIENT) as household:
        await household.fault(channel="telegram", times=1, status=503)
        answer = await household.notify(priority="high", wait_seconds=1)

        async with ledger_view(household.settings) as view:
            (told,) = await view.why(answer["delivery"]["delivery_id"])

    assert "Attempt 1 of 7" in told.why


async def test_a_note_is_explained_by_its_own_id(home: Path) -> None:
    async with living(home) as household:
        assert household.household.inbox is not None
        note = await household.household.inbox.notifications.send(Request(message="Tea is ready", user_id="ada"))

        async with ledger_view(household.settings) as view:
            (told,) = await view.why(note["notification_id"])

    assert told.id == note["notification_id"]
    assert told.why.startswith("It is a note in the inbox of ada, stored ")
    assert told.why.endswith("It has no e-mail copy: the person wants no e-mail.")
    assert "Tea" not in told.why
