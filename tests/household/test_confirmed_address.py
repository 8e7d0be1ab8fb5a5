"""A whole household that asks an address before it sends copies there."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import aiohttp

from postroom.household.household import running
from postroom.household.wiring.console import RunningHousehold
from postroom.inbox.rules import Request
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import Principal, Role
from postroom.settings.load import load
from tests.doors.notifications.api import NO_PORTS
from tests.patience import PATIENCE_SECONDS

STRANGER = "stranger@example.com"
_LINK = re.compile(r"http://\S+/confirm/[A-Za-z0-9_-]+")


async def mails(http: aiohttp.ClientSession, household: RunningHousehold, count: int) -> list[dict[str, Any]]:
    """What the mail server holds, once it holds that many."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            async with http.get(f"{household.addresses['sandbox']}email/messages") as answer:
                found: list[dict[str, Any]] = (await answer.json())["messages"]
            if len(found) >= count:
                return found
            await asyncio.sleep(0.02)


async def test_a_copy_leaves_only_after_the_address_was_confirmed(home: Path) -> None:
    wanted = {"home": str(home), "approvals.enabled": True, **NO_PORTS}
    settings, _ = load({}, wanted)
    token = TokenFile(settings.tokens_file).create(Principal(Role.USER, "ada"))
    own = {"Authorization": f"Bearer {token}"}
    async with running(settings, ("sandbox", "messenger", "api")) as household, aiohttp.ClientSession() as http:
        api = household.addresses["api"]
        assert household.inbox is not None
        wished = {"delivery_channel": "both", "email": STRANGER}
        async with http.patch(f"{api}/notifications/preferences", json=wished, headers=own) as answer:
            kept = await answer.json()
        assert (kept["email"], kept["email_pending"]) == (None, STRANGER)

        assert (await household.inbox.notifications.send(Request(message="Too early", user_id="ada")))["success"]
        (asked,) = await mails(http, household, 1)
        links = _LINK.findall(asked["body"])
        assert (asked["to"], len(links), links[0].startswith(api)) == (STRANGER, 1, True)

        for _ in range(2):  # a mail scanner looks, too
            async with http.get(links[0]) as page:
                assert (page.status, "Confirm this address" in await page.text()) == (200, True)
                assert "form-action 'self'" in page.headers["Content-Security-Policy"]
        assert (await household.inbox.preferences.of("ada")).email is None

        async with http.post(links[0], headers={"Origin": "http://evil.example"}) as answer:
            assert answer.status == 403
        async with http.post(links[0], headers={"Origin": api}) as answer:
            assert answer.status == 200
        async with http.post(links[0]) as answer:
            assert answer.status == 404
        async with http.get(f"{api}/notifications/preferences", headers=own) as answer:
            kept = await answer.json()
        assert (kept["email"], kept["email_pending"]) == (STRANGER, None)

        await household.inbox.notifications.send(Request(message="Dentist at nine", user_id="ada"))
        found = await mails(http, household, 2)

    assert [one["subject"] for one in found] == ["Please confirm your address", "Info: Dentist at nine"]


async def test_no_mail_that_asks_leaves_while_copies_are_off(home: Path) -> None:
    settings, _ = load({}, {"home": str(home), "inbox.email_enabled": False, **NO_PORTS})
    token = TokenFile(settings.tokens_file).create(Principal(Role.USER, "ada"))
    async with running(settings, ("sandbox", "messenger", "api")) as household, aiohttp.ClientSession() as http:
        url, headers = f"{household.addresses['api']}/notifications/preferences", {"Authorization": f"Bearer {token}"}
        async with http.patch(url, json={"email": STRANGER}, headers=headers) as answer:
            assert answer.status == 200
        assert household.inbox is not None
        links = household.inbox.confirmations

        due = await links.take(now_us=household.inbox.clock.now_us(), lease_until_us=household.inbox.clock.now_us())

    assert [one.address for one in due] == [STRANGER]
