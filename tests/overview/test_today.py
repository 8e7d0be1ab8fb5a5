"""Today, as a browser shows it: light, dark, on a phone, by keyboard, and while things happen."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from tests.console.appearance import looks_right
from tests.console.browser import IN_BROWSER, Site, console_site, focused, tab_to, violations
from tests.household.living import LIFTED, QUICK

from postroom.kernel.values.principal import Principal, Role

pytestmark = [*IN_BROWSER, pytest.mark.timeout(120)]


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """With something of every kind: delivered, failed, given up."""
    async with console_site(browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK) as one:
        await one.home.notify(message="Take the pills")
        await one.home.notify(channel="email", message="Hello", subject="Hi", recipient="ann@example.org")
        await one.home.fault(channel="telegram", times=3, status=503)
        await one.home.notify(message="Lost")
        await one.home.fault(channel="telegram", times=1, status=400)
        await one.home.notify(message="Refused")
        yield one


def tile(page: Page, name: str) -> str:
    return f".tile:has-text('{name}') .tile-value"


async def test_today_says_what_was_delivered_what_waits_and_what_is_wrong(site: Site) -> None:
    delivered = [one for one in site.home.rows("delivery_requests") if one["status"] == "delivered"]
    page = await site.signed_in()

    await expect(page.locator(tile(page, "Delivered")).first).to_have_text(str(len(delivered)))
    await expect(page.locator(tile(page, "Failed"))).to_have_text("1")
    await expect(page.locator(tile(page, "Dead letters"))).to_have_text("1")
    await expect(page.locator(tile(page, "Approvals"))).to_have_text("off")
    await expect(page.locator(tile(page, "Inbox"))).to_have_text("0")
    await expect(page.get_by_text("Needs a look")).to_be_visible()
    await expect(page.get_by_role("row").filter(has_text="ann@example.org")).to_contain_text("Delivered")


async def test_today_is_accessible_and_fits_the_window(site: Site) -> None:
    await looks_right(site, {"today": "/"})


async def test_the_sign_in_page_is_accessible(site: Site) -> None:
    page = await site.page()
    await page.goto(await site.link())

    assert await violations(page) == []


async def test_a_delivery_that_happens_meanwhile_appears_by_itself_and_is_announced(site: Site) -> None:
    page = await site.signed_in()
    rows = page.locator("#live table").last.locator("tbody tr")
    before = await rows.count()
    await page.wait_for_function("document.querySelector('main[sse-connect]') !== null")

    await site.home.notify(message="Meanwhile")

    await expect(rows).to_have_count(before + 1)
    await expect(page.locator("#news")).to_have_text("Today was brought up to date.")


async def test_the_keyboard_alone_reaches_the_content_and_the_theme_switch(site: Site) -> None:
    page = await site.page()
    await page.goto(await site.link())
    await expect(page.get_by_role("button", name="Sign in")).to_be_focused()
    await page.keyboard.press("Enter")
    await page.wait_for_url(site.url + "/")

    await page.keyboard.press("Tab")
    assert await focused(page) == "Skip to content"
    await tab_to(page, "Theme: auto")
    await page.keyboard.press("Enter")

    await expect(page.get_by_role("button", name="Theme: light")).to_be_visible()
    await expect(page.locator("html")).to_have_css("color-scheme", "light")


async def test_a_user_sees_what_is_theirs_and_nothing_of_the_household(site: Site) -> None:
    page = await site.signed_in(Principal(Role.USER, "ann"))

    await expect(page.get_by_text("Signed in as ann")).to_be_visible()
    await expect(page.locator(tile(page, "Inbox"))).to_have_text("0")
    await expect(page.get_by_text("Latest deliveries")).to_have_count(0)


async def test_without_scripts_the_page_says_the_same(site: Site) -> None:
    page = await site.signed_in(java_script_enabled=False)

    await expect(page.get_by_role("heading", name="Latest deliveries")).to_be_visible()
    await page.get_by_role("button", name="Theme: auto").click()
    await expect(page.get_by_role("button", name="Theme: light")).to_be_visible()


async def test_every_figure_of_a_channel_stands_under_its_heading(site: Site) -> None:
    page = await site.signed_in()
    edges = await page.locator("table.channels").evaluate(
        "table => [...table.rows].map(row => [...row.cells].map(cell => cell.getBoundingClientRect().left))"
    )
    assert len(edges) > 1 and all(row == edges[0] for row in edges) and all(one > 0 for one in edges[0])
