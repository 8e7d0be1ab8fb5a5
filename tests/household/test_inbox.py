"""The inbox of a whole household: from an agent's call to the mail in a mailbox."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest
from tests.doors.notifications.api import NO_PORTS

from postroom.cli.up import remember_address
from postroom.household.household import running
from postroom.inbox.rules import Request
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import Principal, Role
from postroom.settings.load import load


@pytest.mark.requirement("inbox:side-effect-email")
async def test_in_a_fresh_household_a_note_reaches_the_mailbox_of_somebody_who_asked_for_that(
    home: Path,
) -> None:
    settings, _ = load({}, {"home": str(home), **NO_PORTS})
    await remember_address(settings, "ada", "ada@example.com")
    token = TokenFile(settings.tokens_file).create(Principal(Role.USER, "ada"))
    async with running(settings, ("sandbox", "messenger", "api")) as household, aiohttp.ClientSession() as http:
        wished = {"delivery_channel": "both"}
        url = f"{household.addresses['api']}/notifications/preferences"
        async with http.put(url, json=wished, headers={"Authorization": f"Bearer {token}"}) as answer:
            assert answer.status == 200
        assert household.inbox is not None
        sent = await household.inbox.notifications.send(Request(message="Dentist at nine", user_id="ada"))
        subjects = await mail_subjects(http, household.addresses["sandbox"])

    assert sent["success"]
    assert subjects == ["Info: Dentist at nine"]


async def mail_subjects(http: aiohttp.ClientSession, sandbox: str) -> list[str]:
    for _ in range(500):
        async with http.get(f"{sandbox}email/messages") as answer:
            if messages := (await answer.json())["messages"]:
                return [message["subject"] for message in messages]
        await asyncio.sleep(0.02)
    raise AssertionError("no mail arrived")
