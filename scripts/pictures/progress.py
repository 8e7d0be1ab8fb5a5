"""Pages that only show while, or after, a person did something: done here as a person does it, in the browser."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.async_api import Page


async def progress_pages(page: Page, base: str) -> dict[str, str]:
    """The addresses they have, by route."""
    return {
        "/dead-letters/progress/{id}": await _replayed(page, base),
    }


async def _replayed(page: Page, base: str) -> str:
    await page.goto(f"{base}/console/dead-letters")
    await page.locator("input[name=id]").last.check()
    await page.locator("button[value=replay]").first.click()
    await page.wait_for_url("**/dead-letters/progress/*")
    return urlsplit(page.url).path
