"""What holds for every page: for eyes, for a keyboard, for a thumb, without a script and without motion."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from postroom.inbox.model import NewNotification, NotificationType
from tests.console.appearance import THEMED, crooked, seen_as
from tests.console.asked import ask
from tests.console.attended import ALWAYS_QUIET, say, wish
from tests.console.browser import DESKTOP, IN_BROWSER, PHONE, Site, console_site, is_wider_than_the_window, violations
from tests.console.every_page import every_page
from tests.household.living import LIFTED, QUICK, Living

pytestmark = [*IN_BROWSER, pytest.mark.timeout(240)]

OF_ONE_THING = {
    "/approvals/{id}",
    "/attention/notices/{id}",
    "/conversations/{id}",
    "/dead-letters/{id}",
    "/deliveries/{id}",
    "/inbox/{id}",
    "/questions/{id}",
}
_UNREACHABLE = """() => [...document.querySelectorAll('a[href], button, input, select, textarea, summary')]
    .filter(one => one.type !== 'hidden' && !one.matches('[aria-hidden=true]'))
    .filter(one => one.tabIndex !== 0 || one.closest('[inert]')).map(one => one.outerHTML.slice(0, 160))"""
_NEEDS_SCRIPT = """() => [...document.forms].filter(form =>
    ![...form.elements].some(one => one.type === 'submit') || !form.getAttribute('action'))
    .map(form => form.outerHTML.slice(0, 160))"""
_TOO_SMALL = """() => [...document.querySelectorAll(
    'button, .button, .place, summary, select, textarea, input:not([type=checkbox], [type=radio], [type=hidden])')]
    .map(one => [one, one.getBoundingClientRect()])
    .filter(([_, box]) => box.width && box.height < 43.5)
    .map(([one, box]) => `${Math.round(box.height)} px: ${one.outerHTML.slice(0, 120)}`)"""
_MOVES = """() => [...document.querySelectorAll('*')].filter(one => {
    const style = getComputedStyle(one);
    return style.transitionDuration.split(', ').some(time => parseFloat(time)) || parseFloat(style.animationDuration);
}).map(one => one.outerHTML.slice(0, 120))"""


LONG = "x" * 200
HOSTILE = f"<script>alert(1)</script> \u202egnp.exe \u05e9\u05dc\u05d5\u05dd 👩‍👩‍👧 {LONG}"


async def some_of_each(home: Living) -> None:
    """Of every kind one, and of those that people write one that would burst its place."""
    await home.notify(message="Take the pills")
    await home.notify(message=HOSTILE)
    await home.notify(channel="email", message=HOSTILE, subject=LONG, recipient=f"{LONG[:60]}@example.org")
    await home.fault(channel="telegram", times=3, status=503)
    await home.notify(message="Given up")
    await home.settled()
    await home.notify(channel="email", message="Dear Sir, …", subject="Invoice", recipient="novak@example.org")
    await ask(home, "Ship build 7?", options=["Yes", "No"], context="All is green.")
    await ask(home, HOSTILE, options=[LONG, "👍"], context=HOSTILE)
    inbox = home.household.inbox
    assert inbox is not None
    await inbox.send(NewNotification(message=HOSTILE, user_id="operator"))
    await inbox.send(NewNotification(message="Dentist at nine", user_id="operator", type=NotificationType.REMINDER))
    await wish(home, "owner", ALWAYS_QUIET)
    await say(home, "This can wait")


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    asking = {"approvals": {"enabled": True, "ask_owner": False}}
    async with console_site(browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK, asking) as one:
        await some_of_each(one.home)
        yield one


async def faults(page: Page) -> dict[str, Any]:
    """Each page is loaded once, and looked at in every way."""
    found: dict[str, Any] = {}
    await seen_as(page, DESKTOP, "light")
    found["a desk in the light"] = await violations(page)
    found["crooked on a desk"] = await crooked(page)
    found["out of the keyboard's reach"] = await page.evaluate(_UNREACHABLE)
    found["dead without a script"] = await page.evaluate(_NEEDS_SCRIPT)
    found["moves all the same"] = await page.evaluate(_MOVES)
    await seen_as(page, DESKTOP, "dark")
    found["a desk in the dark"] = await violations(page, THEMED)
    await seen_as(page, PHONE, "dark")
    found["a phone in the dark"] = await violations(page)
    found["crooked on a phone"] = await crooked(page)
    found["too small for a thumb"] = await page.evaluate(_TOO_SMALL)
    found["too wide for a phone"] = [page.url] if await is_wider_than_the_window(page) else []
    await seen_as(page, PHONE, "light")
    found["a phone in the light"] = await violations(page, THEMED)
    return {what: where for what, where in found.items() if where}


@pytest.mark.requirement("side:every-page")
async def test_every_page_is_for_everybody(site: Site) -> None:
    page = await site.signed_in()
    wrong: dict[str, Any] = {}
    seen: set[str] = set()

    async for kind in every_page(site, page):
        seen.add(kind)
        if found := await faults(page):
            wrong[kind] = found

    assert wrong == {}
    assert seen >= OF_ONE_THING
    assert site.mishaps == []
