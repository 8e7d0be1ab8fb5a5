"""Every page of the console once, found by its routes and by the links between them, so that a new one is covered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from urllib.parse import urlsplit

from playwright.async_api import Error, Page

from tests.console.browser import Site
from tests.console.routes import pattern, routes

_NO_PAGES = ("/events", "/login")


async def every_page(site: Site, page: Page) -> AsyncIterator[str]:
    """The route of what the browser shows now; what is no page (a file, a list to download) is passed over."""
    known = [path for path in await routes(site.home, "GET") if path not in _NO_PAGES]
    forms = {path: pattern(f"/console{path}") for path in known}
    waiting, seen = [f"/console{path}" for path in known if "{" not in path], set[str]()
    while waiting:
        link = waiting.pop(0)
        kind = next((path for path, form in forms.items() if form.fullmatch(urlsplit(link).path)), None)
        if kind is None or kind in seen:
            continue
        seen.add(kind)
        if await _is_shown(site, page, link):
            waiting += await _links(page)
            yield kind


async def _is_shown(site: Site, page: Page, link: str) -> bool:
    try:
        answer = await page.goto(site.url.removesuffix("/console") + link)
    except Error as error:
        assert "ownload" in str(error), f"{link}: {error}"
        return False
    if answer is None or not answer.headers.get("content-type", "").startswith("text/html"):
        return False
    assert answer.status == 200, f"{link}: {answer.status}"
    return True


async def _links(page: Page) -> Sequence[str]:
    found = await page.evaluate("[...document.links].map(one => one.pathname + one.search)")
    return sorted({str(one) for one in found if str(one).startswith("/console/")})
