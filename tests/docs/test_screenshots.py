"""The script that takes pictures finds a page for every route by following links, and names those it did not find."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from playwright.async_api import async_playwright
from scripts.pictures.sheet import write_sheet
from scripts.pictures.shots import find, name_of

from tests.console.browser import CHROMIUM

ROUTES = ["/", "/things", "/things/{id}", "/things/{id}/files/{number}", "/lost/{id}", "/events"]
HTML = {
    "/console/": '<a href="/console/things?page=2">things</a><a href="https://example.org/console/lost/1">away</a>',
    "/console/things": '<a href="/console/things/7">seven</a><a href="/console/lost/broken">lost</a>',
    "/console/things/7": '<a href="/console/things/7/files/0">its file</a>',
}


async def answer(request: web.Request) -> web.Response:
    if request.path.endswith("/files/0"):
        return web.Response(body=b"bytes", content_type="application/octet-stream")
    text = HTML.get(request.path)
    return web.Response(text=text or "", content_type="text/html", status=200 if text else 404)


@pytest.mark.requirement("side:screenshots")
async def test_pages_are_found_by_links_files_are_no_pages_and_what_is_missing_is_named() -> None:
    app = web.Application()
    app.router.add_get("/{rest:.*}", answer)
    async with TestServer(app) as server, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        found = await find(await browser.new_page(), str(server.make_url("")).rstrip("/"), ROUTES, {})
        await browser.close()

    assert found.pages == {"/": "/console/", "/things": "/console/things", "/things/{id}": "/console/things/7"}
    assert found.downloads == {"/things/{id}/files/{number}": "/console/things/7/files/0"}
    assert found.missing == ["/lost/{id}"]


@pytest.mark.requirement("side:screenshots")
def test_the_sheet_shows_every_picture_and_says_loudly_what_it_has_none_of(tmp_path: Path) -> None:
    sheet = write_sheet(tmp_path, ["today", "things-id"], ["desktop", "phone"], ["/lost/{id}"]).read_text("utf-8")

    assert [f'src="{way}/{name}.png"' in sheet for name in ("today", "things-id") for way in ("desktop", "phone")]
    assert '<p class="missing">No picture of: /lost/{id}</p>' in sheet


def test_a_file_is_named_after_its_route() -> None:
    assert [name_of(one) for one in ROUTES[:3]] == ["today", "things", "things-id"]
