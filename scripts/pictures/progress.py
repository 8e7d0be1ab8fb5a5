"""Pages that only show while, or after, a person did something: done here as a person does it, in the browser."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.async_api import Page

CARDS = "name,aliases,email\nHugo Winter,Uncle Hugo,hugo@example.org\nSofia Marin,,sofia@example.org\n"


async def progress_pages(page: Page, base: str) -> dict[str, str]:
    """The addresses they have, by route."""
    return {
        "/people/import/{id}": await _imported(page, base),
        "/dead-letters/progress/{id}": await _replayed(page, base),
    }


async def _imported(page: Page, base: str) -> str:
    await page.goto(f"{base}/console/people/import")
    await page.fill("#cards", CARDS)
    await page.locator("form:has(#cards) button.main").click()
    await page.wait_for_url("**/people/import/*")
    return urlsplit(page.url).path


async def _replayed(page: Page, base: str) -> str:
    await page.goto(f"{base}/console/dead-letters")
    await page.locator("input[name=id]").last.check()
    await page.locator("button[value=replay]").first.click()
    await page.wait_for_url("**/dead-letters/progress/*")
    return urlsplit(page.url).path
