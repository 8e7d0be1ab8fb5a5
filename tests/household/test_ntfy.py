"""A household that writes to ntfy topics, over real sockets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.household.living import QUICK, living
from tests.fakes.server import serve

FACTORY = "postroom.channels.ntfy.channel:Ntfy"


@pytest.mark.parametrize(("priority", "number"), [("high", 4), ("low", 2)])
async def test_a_message_reaches_the_topic_with_its_priority_and_who_speaks(
    home: Path, priority: str, number: int
) -> None:
    async with serve() as sandbox:
        options = {"name": "ntfy", "url": f"{sandbox.bot_api_url}/ntfy", "token": "tk_x", "answers_topic": "answers"}
        own = {"channels": {"ntfy": {"factory": FACTORY, "options": options}}, "approvals": {"enabled": False}}
        async with living(home, QUICK, own) as household:
            answer = await household.notify(channel="ntfy", recipient="anna", message="Tea is ready", priority=priority)

        [kept] = sandbox.faces["ntfy"].ledger.messages()

    assert (answer["status"], answer["delivery"]["provider_delivery_id"]) == ("ok", kept.message_id)
    assert (kept.text, kept.body["title"], kept.body["priority"]) == ("Tea is ready", "health", number)
