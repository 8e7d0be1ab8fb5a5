"""What every test of the console may ask for: one browser for all, and a household per module."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.console.browser import Site, console_site, launched
from tests.household.living import LIFTED, QUICK


@pytest_asyncio.fixture(loop_scope="session", scope="package")
async def browser() -> AsyncIterator[Browser]:
    """Its pages are apart, each in a context of its own; it ends with the last test of the console."""
    async with launched() as one:
        yield one


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with console_site(browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK) as one:
        yield one


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def no_page_outlives_its_test(request: pytest.FixtureRequest) -> AsyncIterator[None]:
    yield
    if "site" in request.fixturenames:
        one: Site = request.getfixturevalue("site")
        await one.end_test()
