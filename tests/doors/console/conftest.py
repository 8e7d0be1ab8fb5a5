"""What every test of the console may ask for: one household with a browser per module."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.app.living import LIFTED, QUICK
from tests.doors.console.browser import Site, console_site


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with console_site(tmp_path_factory.mktemp("home"), LIFTED, QUICK) as one:
        yield one


@pytest_asyncio.fixture(loop_scope="module", autouse=True)
async def no_page_outlives_its_test(request: pytest.FixtureRequest) -> AsyncIterator[None]:
    yield
    if "site" in request.fixturenames:
        one: Site = request.getfixturevalue("site")
        await one.close_pages()
