"""The console as an app: installable, and honest when the network is away."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from playwright.async_api import expect
from tests.console.browser import IN_BROWSER, INSTALLED, PHONE, Site, violations

from postroom.people.devices.page import MANIFEST, service_worker

pytestmark = [*IN_BROWSER, pytest.mark.timeout(120)]
KEPT = """async () => Promise.all((await caches.keys()).map(async name =>
    [name, (await (await caches.open(name)).keys()).map(one => new URL(one.url).pathname)]))"""


async def fetched(site: Site, path: str) -> tuple[int, dict[str, str], bytes]:
    """As a browser fetches it: without a cookie, and before anybody has signed in."""
    async with site.home.http.get(f"{site.url}{path}") as answer:
        return answer.status, dict(answer.headers), await answer.read()


@pytest.mark.requirement("side:app-installable")
async def test_the_manifest_names_what_is_there(site: Site) -> None:
    status, headers, body = await fetched(site, "/manifest.webmanifest")
    told: dict[str, Any] = json.loads(body)

    assert status == 200 and headers["Content-Type"].startswith("application/manifest+json")
    assert told == MANIFEST and (told["scope"], told["display"]) == ("/console/", "standalone")
    assert {one.get("purpose", "any") for one in told["icons"]} == {"any", "maskable"}
    for icon in [*told["icons"], {"src": "/console/static/icon-180.png", "sizes": "180x180"}]:
        _, _, picture = await fetched(site, icon["src"].removeprefix("/console"))
        assert "x".join(map(str, struct.unpack("!II", picture[16:24]))) == icon["sizes"]


async def test_the_worker_is_another_one_when_a_file_of_the_console_is(site: Site) -> None:
    status, headers, body = await fetched(site, "/service-worker.js")

    assert status == 200 and headers["Content-Type"].startswith("text/javascript")
    assert body.decode() == service_worker() and "{{version}}" not in service_worker()
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.requirement("side:app-installable", "side:app-offline")
async def test_without_a_network_the_app_says_so_and_has_kept_nothing_of_anyones(site: Site) -> None:
    page = await site.signed_in(path="/questions", viewport=PHONE, **INSTALLED)
    assert await page.evaluate("navigator.serviceWorker.ready.then(one => new URL(one.scope).pathname)") == "/console/"
    await page.goto(f"{site.url}/inbox")
    await page.goto(f"{site.url}/devices")

    await page.context.set_offline(True)
    await page.goto(f"{site.url}/inbox")

    await expect(page.get_by_role("heading", name="Your household is not reached")).to_be_visible()
    assert await violations(page) == []
    [(_, kept)] = await page.evaluate(KEPT)
    assert all(path == "/console/offline" or path.startswith("/console/static/") for path in kept), kept
    await page.context.set_offline(False)
    await page.get_by_role("link", name="Try again").click()
    await expect(page.get_by_role("navigation", name="In reach")).to_be_visible()
    assert site.mishaps == []
