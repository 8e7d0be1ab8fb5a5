"""Notifications in a real browser: switched on, shown, pressed, and never twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Page, Worker, expect
from tests.channels.webpush.push_service import PushService, push_service
from tests.console.appearance import is_accessible, looks_right
from tests.console.asked import ask, now
from tests.console.browser import IN_BROWSER, INSTALLED, PHONE, Site, console_site, launched
from tests.household.living import LIFTED, QUICK
from tests.patience import PATIENCE_SECONDS

from postroom.questions.model import QuestionStatus

pytestmark = [*IN_BROWSER, pytest.mark.timeout(120)]
CHROMIUM = "/usr/bin/chromium"  # the small one without a window shows no notifications
PUSH = {"kind": "webpush", "contact": "mailto:us@example.org", "allow_private": True}
OWN = {"channels": {"push": PUSH}, "approvals": {"enabled": False}}
# A browser agrees with the push service of its maker, which is not reached from here: it is given one of ours.
AGREES = """([endpoint, p256dh, auth]) => {
    const bytes = text => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), one => one.charCodeAt(0));
    const keys = {p256dh: bytes(p256dh).buffer, auth: bytes(auth).buffer};
    const made = {endpoint, getKey: name => keys[name], unsubscribe: async () => sessionStorage.clear()};
    PushManager.prototype.subscribe = async options => {
        if (!options.userVisibleOnly || options.applicationServerKey.length !== 65) throw new Error('not so');
        sessionStorage.setItem('agreed', 'yes');
        return made;
    };
    PushManager.prototype.getSubscription = async () => sessionStorage.getItem('agreed') ? made : null;
}"""
SHOWN = """async () => (await self.registration.getNotifications()).map(one =>
    ({title: one.title, body: one.body, tag: one.tag, silent: one.silent, actions: one.actions.map(a => a.title)}))"""
PRESSED = """async action => {
    const [notification] = await self.registration.getNotifications();
    const event = new NotificationEvent('notificationclick', {notification, action});
    let done = null;
    event.waitUntil = promise => { done = promise; };
    self.dispatchEvent(event);
    await done;
}"""


@dataclass(frozen=True, slots=True)
class Phone:
    """A browser that is given what a push service would bring it."""

    page: Page
    worker: Worker

    async def gets(self, told: dict[str, Any]) -> list[dict[str, Any]]:
        """By the browser's own way, and then what it shows."""
        session = await self.page.context.new_cdp_session(self.page)
        known: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def registered(event: dict[str, Any]) -> None:
            if event["registrations"] and not known.done():
                known.set_result(event["registrations"][-1]["registrationId"])

        session.on("ServiceWorker.workerRegistrationUpdated", registered)
        await session.send("ServiceWorker.enable")
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(self.page.url))
        message = {"origin": origin, "registrationId": await known, "data": json.dumps(told)}
        await session.send("ServiceWorker.deliverPushMessage", message)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while told["body"] not in [one["body"] for one in await self.shown()]:
                await asyncio.sleep(0.02)
        return await self.shown()

    async def gets_again(self, told: dict[str, Any]) -> list[dict[str, Any]]:
        """A second copy; when it has been dealt with, nothing may show it."""
        await self.worker.evaluate("told => arrived(told)", told)
        return await self.shown()

    async def shown(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await self.worker.evaluate(SHOWN)
        return found


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def service() -> AsyncIterator[PushService]:
    async with push_service() as one:
        yield one


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    home = tmp_path_factory.mktemp("home")
    async with launched(CHROMIUM, "--headless=new") as shows, console_site(shows, home, LIFTED, QUICK, OWN) as one:
        yield one


async def phone(site: Site, service: PushService) -> Phone:
    """Switched on as a person does it, on the page itself."""
    page = await site.signed_in(viewport=PHONE, **INSTALLED)
    await page.context.grant_permissions(["notifications"], origin=site.home.household.addresses["api"])
    keys = service.subscribe(21).subscription
    await page.add_init_script(f"({AGREES})({json.dumps([keys.endpoint, keys.p256dh, keys.auth])})")
    await page.goto(f"{site.url}/devices")
    await page.get_by_label("Name of this device").fill("Pocket")
    await page.get_by_role("button", name="Switch notifications on").click()
    await expect(page.locator(".devices li")).to_contain_text("this device")
    await expect(page.get_by_text("Notifications are on here.")).to_be_visible()
    return Phone(page, page.context.service_workers[0])


@pytest.mark.requirement("side:push-press", "side:push-once", "side:devices-own")
async def test_a_question_rings_is_answered_by_a_press_and_says_how_it_ended(site: Site, service: PushService) -> None:
    one = await phone(site, service)
    asked = await ask(site.home, "Ship it?", options=["yes", "no"], allow_text=False)
    card = (await service.until(1))[0].shown

    [shown] = await one.gets(card)
    assert (shown["tag"], shown["actions"], shown["silent"]) == (card["tag"], ["yes", "no"], False)
    [still] = await one.gets_again(card)
    assert still["silent"] is True and still["body"] == shown["body"]
    await one.worker.evaluate(PRESSED, "0")

    assert (await now(site.home, asked)).status is QuestionStatus.ANSWERED
    [said] = await one.shown()
    assert (said["body"], said["actions"]) == ("✅ yes", [])
    closing = (await service.until(2))[1].shown
    [closed] = await one.gets(closing)
    assert "answered by" in closed["body"] and closed["silent"] is True
    assert await one.gets_again(card) == [closed]
    await one.page.get_by_role("button", name="Remove").click()
    await expect(one.page.get_by_role("button", name="Switch notifications on")).to_be_visible()
    assert site.home.rows("push_devices") == [] and site.mishaps == []


async def test_a_press_that_is_not_heard_may_be_made_again(site: Site, service: PushService) -> None:
    one = await phone(site, service)
    told = {"id": "d1", "tag": "t1", "title": "health", "body": "Ship it?", "url": "/console/", "device": "0" * 16}
    await one.gets({**told, "press": "/nowhere/at/all", "actions": [{"title": "yes", "token": "x"}]})
    await one.page.context.set_offline(True)

    await one.worker.evaluate(PRESSED, "0")

    [shown] = await one.shown()
    assert shown["actions"] == ["yes"] and shown["body"].startswith("Not sent: the household was not reached.")
    await one.page.context.set_offline(False)


async def test_the_page_is_accessible_with_and_without_devices(site: Site, service: PushService) -> None:
    await looks_right(site, {"devices-none": "/devices"})
    one = await phone(site, service)
    await is_accessible(one.page, "devices")
