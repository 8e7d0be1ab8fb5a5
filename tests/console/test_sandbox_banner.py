"""Every page says that this is a sandbox, and only then."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.console.visit import Templates
from tests.console.http import calling
from tests.household.living import Living, living


@pytest.mark.requirement("side:sandbox-said")
async def test_every_page_says_so_also_the_one_for_signing_in(tmp_path: Path) -> None:
    async with living(tmp_path) as home, calling(home) as caller:
        cookies = await caller.sign_in(await _link(home))
        pages = {path: (await caller.get(path, cookies)).text for path in ("/console/", "/console/health")}
        strangers = {path: (await caller.get(path)).text for path in ("/console/login", "/console/nowhere")}

        url = home.household.addresses["sandbox"]

    assert url.endswith("/sandbox/")
    for text in {**pages, **strangers}.values():
        assert "Nothing leaves this machine." in text
        assert f'href="{url}"' in text and f'href="{url}#go-live"' in text


async def _link(home: Living) -> str:
    assert home.household.sign_in is not None
    return await home.household.sign_in()


@pytest.mark.requirement("side:sandbox-said")
def test_a_live_household_has_no_such_banner() -> None:
    page = Templates(None).render("message.html", title="Sign in", text="", way=("On", "/"), theme="auto")
    assert 'aria-label="Sandbox"' not in page and "Sign in" in page
