"""Health in a browser: channels in words, the limits in use, the queue and the last day."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect
from tests.console.appearance import looks_right
from tests.console.browser import IN_BROWSER, Site, console_site
from tests.household.asked_household import ask
from tests.household.living import QUICK

pytestmark = [*IN_BROWSER, pytest.mark.timeout(120)]


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    opens = {"breaker": {"failure_threshold": 3, "recovery_seconds": 600}}
    async with console_site(browser, tmp_path_factory.mktemp("home"), QUICK, opens) as one:
        await one.home.notify(channel="email", message="Hi", subject="Hi", recipient="ann@example.org")
        await one.home.fault(channel="telegram", times=3, status=503)
        await one.home.notify(message="Lost")
        yield one


@pytest.mark.requirement("side:health-in-plain-words")
async def test_a_paused_channel_says_what_it_means_and_what_to_do(site: Site) -> None:
    page = await site.signed_in(path="/health")
    card = page.locator(".channel-states li").filter(has_text="Telegram")

    await expect(card).to_contain_text("Paused after failures")
    await expect(card).to_contain_text("503")
    await expect(card).to_contain_text(re.compile(r"tries again at [\d -]*\d\d:\d\d"))
    await expect(card).to_contain_text("What is stored waits and leaves by itself")
    await expect(card).to_contain_text("What to do:")
    await expect(page.locator(".channel-states li").filter(has_text="E-mail")).to_contain_text("Working")


@pytest.mark.requirement("side:health-in-plain-words")
async def test_only_limits_in_use_are_shown_in_words(site: Site) -> None:
    page = await site.signed_in(path="/health")
    section = page.locator("section", has=page.get_by_role("heading", name="How much may be sent"))

    await expect(section).to_contain_text(re.compile(r"E-mail\s+[\d.]+ of 20 messages this minute"))
    await expect(section).to_contain_text("All channels together")
    assert await section.locator("li").count() == await section.locator("meter").count() == 4  # telegram, too
    assert ".user" not in await section.inner_text()


async def test_what_the_machine_needs_is_folded_away(site: Site) -> None:
    page = await site.signed_in(path="/health")
    machinery = page.locator("#machinery")
    await expect(machinery.get_by_text("opens after 3").first).not_to_be_visible()
    await machinery.locator("summary").click()

    await expect(machinery.get_by_text("opens after 3").first).to_be_visible()
    await expect(machinery.get_by_role("row").filter(has_text="telegram.user")).to_be_visible()
    await expect(machinery.get_by_role("row").filter(has_text="next probe in")).to_contain_text("open")
    await expect(machinery).to_contain_text("All loops of this process run.")
    await expect(machinery).to_contain_text("SQLite")


async def test_the_last_day_is_drawn_and_told_in_a_table(site: Site) -> None:
    page = await site.signed_in(path="/health")
    day = page.locator("section", has=page.get_by_role("heading", name="The last 24 hours"))
    await expect(day.locator("svg rect")).to_be_visible()
    await day.get_by_text("The same as a table").click()

    await expect(page.locator("#figures tbody tr").first).to_contain_text("50 %")


async def test_what_was_sent_held_and_asked_is_drawn_by_day(site: Site) -> None:
    await ask(site.home)
    page = await site.signed_in(path="/health")
    days = page.locator("section", has=page.get_by_role("heading", name="Day by day"))
    await expect(days.locator("svg rect").first).to_be_visible()
    await expect(days.locator("svg rect")).to_have_count(2)
    await days.get_by_text("The same as a table").click()

    async with page.expect_response(lambda answer: answer.url.endswith("/health")):
        await page.evaluate("htmx.trigger('#live', 'sse:deliveries')")
    await expect(days.locator("tbody tr")).to_have_count(1)
    await expect(days.locator("tbody td")).to_have_text(["1", "0", "1"])


async def test_health_is_accessible(site: Site) -> None:
    await looks_right(site, {"health": "/health"})
