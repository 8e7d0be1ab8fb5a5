"""Health in a browser: circuits, limits, queue and the last day."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import expect
from tests.app.living import QUICK
from tests.doors.console.browser import (
    BOTH_WAYS,
    PHONE,
    Site,
    console_site,
    is_wider_than_the_window,
    picture,
    violations,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(120)]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    opens = {"breaker": {"failure_threshold": 3, "recovery_seconds": 600}}
    async with console_site(tmp_path_factory.mktemp("home"), QUICK, opens) as one:
        await one.home.notify(channel="email", message="Hi", subject="Hi", recipient="ann@example.org")
        await one.home.fault(channel="telegram", times=3, status=503)
        await one.home.notify(message="Lost")
        yield one


async def test_an_open_circuit_is_shown_with_its_reason_and_its_next_probe(site: Site) -> None:
    page = await site.signed_in(path="/health")
    row = page.get_by_role("row").filter(has_text="Circuit open")

    await expect(row).to_contain_text("telegram")
    await expect(row).to_contain_text("503")
    await expect(row).to_contain_text("next probe in")


async def test_limits_show_what_is_left(site: Site) -> None:
    page = await site.signed_in(path="/health")

    await expect(page.get_by_role("row").filter(has_text="email.bot")).to_contain_text("20")
    assert await page.locator("meter").count() == 10


async def test_the_last_day_is_drawn_and_told_in_a_table(site: Site) -> None:
    page = await site.signed_in(path="/health")
    await expect(page.locator("svg rect")).to_have_count(1)
    await page.get_by_text("The same as a table").click()

    await expect(page.locator("details tbody tr").first).to_contain_text("50 %")


@pytest.mark.parametrize(("scheme", "viewport"), BOTH_WAYS, ids=["light desktop", "dark phone"])
async def test_health_is_accessible(site: Site, scheme: str, viewport: dict[str, int]) -> None:
    page = await site.signed_in(path="/health", color_scheme=scheme, viewport=viewport)
    await picture(page, f"health-{scheme}-{'phone' if viewport == PHONE else 'desktop'}")

    assert await violations(page) == []
    assert not await is_wider_than_the_window(page)
    assert site.mishaps == []
