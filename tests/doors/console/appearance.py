"""Light and dark, on a desk and on a phone: each page is looked at in every way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playwright.async_api import Page
from tests.doors.console.browser import DESKTOP, PHONE, Site, is_wider_than_the_window, picture, violations

from postroom.domain.principal import OPERATOR, Principal

THEMED = ["color-contrast"]  # of all that is looked for, only this depends on the palette


async def looks_right(site: Site, paths: Mapping[str, str], who: Principal = OPERATOR) -> None:
    """By the name of the picture: what the page at this path shows is accessible and fits, light and dark."""
    page = await site.signed_in(who)
    for name, path in paths.items():
        await page.goto(site.url + path)
        await is_accessible(page, name)
    assert site.mishaps == []


async def is_accessible(page: Page, name: str) -> None:
    """Pictures are taken first, for whoever wants to see what was wrong."""
    found: dict[str, Any] = {}
    await page.emulate_media(color_scheme="light", reduced_motion="reduce")
    await picture(page, f"{name}-light-desktop")
    found["light"] = await violations(page)
    await page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    await picture(page, f"{name}-dark-desktop")
    found["dark"] = await violations(page, THEMED)
    await page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    await picture(page, f"{name}-dark-phone")
    await page.emulate_media(color_scheme="light")
    await picture(page, f"{name}-light-phone")
    found["too wide for a phone"] = await is_wider_than_the_window(page)
    await page.set_viewport_size({"width": DESKTOP["width"], "height": DESKTOP["height"]})
    assert found == {"light": [], "dark": [], "too wide for a phone": False}, f"{name}: {found}"
