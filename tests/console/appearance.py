"""Light and dark, on a desk and on a phone: each page is looked at in every way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from playwright.async_api import Page

from postroom.kernel.values.principal import OPERATOR, Principal
from tests.console.browser import DESKTOP, PHONE, Site, is_wider_than_the_window, violations

THEMED = ["color-contrast"]  # of all that is looked for, only this depends on the palette


async def looks_right(site: Site, paths: Mapping[str, str], who: Principal = OPERATOR) -> None:
    """By a name: what the page at this path shows is accessible and fits, light and dark."""
    page = await site.signed_in(who)
    for name, path in paths.items():
        await page.goto(site.url + path)
        await is_accessible(page, name)
    assert site.mishaps == []


async def is_accessible(page: Page, name: str) -> None:
    found: dict[str, Any] = {}
    await seen_as(page, DESKTOP, "light")
    found["light"] = await violations(page)
    await seen_as(page, DESKTOP, "dark")
    found["dark"] = await violations(page, THEMED)
    await seen_as(page, PHONE, "light")
    found["too wide for a phone"] = await is_wider_than_the_window(page)
    await seen_as(page, DESKTOP, "light")
    assert found == {"light": [], "dark": [], "too wide for a phone": False}, f"{name}: {found}"


async def seen_as(page: Page, size: dict[str, int], scheme: Literal["light", "dark"]) -> None:
    await page.set_viewport_size({"width": size["width"], "height": size["height"]})
    await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
