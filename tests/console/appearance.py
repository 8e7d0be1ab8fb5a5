"""Light and dark, on a desk and on a phone: each page is looked at in every way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from playwright.async_api import Page

from postroom.kernel.values.principal import OPERATOR, Principal
from tests.console.browser import DESKTOP, PHONE, Site, is_wider_than_the_window, violations

# By boxes: a cell with nothing in it, words that are cut off by what holds them, and words over other words. What
# ends in an ellipsis, scrolls or floats above the page is meant so; the space after a line's last word may hang.
_CROOKED = """() => {
    const away = one => one && (['fixed', 'sticky'].includes(getComputedStyle(one).position) ||
        getComputedStyle(one).clipPath !== 'none' || away(one.parentElement));
    const seen = one => one.checkVisibility({visibilityProperty: true}) && !away(one);
    const shown = (one, box) => {
        const {left, right, top, bottom} = box, rest = {left, right, top, bottom, isCut: false};
        for (let around = one.parentElement; around !== document.body; around = around.parentElement) {
            const style = getComputedStyle(around), edge = around.getBoundingClientRect();
            if (style.overflowX === 'visible' || style.display === 'inline') continue;
            const isOver = rest.left < edge.left - 1 || rest.right > edge.right + 6;
            rest.isCut ||= isOver && style.textOverflow !== 'ellipsis' && ['hidden', 'clip'].includes(style.overflowX);
            rest.left = Math.max(rest.left, edge.left), rest.right = Math.min(rest.right, edge.right);
            rest.top = Math.max(rest.top, edge.top), rest.bottom = Math.min(rest.bottom, edge.bottom);
        }
        rest.isCut ||= rest.left < -1 || rest.right > innerWidth + 1;
        return rest;
    };
    const words = [], texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const one = texts.currentNode, range = document.createRange();
        if (!one.data.trim() || !seen(one.parentElement) || one.parentElement.closest('option, textarea')) continue;
        range.selectNodeContents(one);
        for (const box of range.getClientRects()) if (box.width > 2) words.push([one, shown(one, box)]);
    }
    const over = words.flatMap(([one, a], place) => words.slice(place + 1).filter(([other, b]) => one !== other &&
        Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 6).map(([other]) => [one, other]));
    const empty = [...document.querySelectorAll('td, th')].filter(one =>
        seen(one) && !one.textContent.trim() && !one.querySelector('img, svg, input, button, .face'));
    return [...empty.map(one => `empty: ${one.outerHTML.slice(0, 160)}`),
        ...words.filter(([_, box]) => box.isCut).map(([one]) => `cut: ${one.data.trim().slice(0, 160)}`),
        ...over.map(([one, other]) => `over each other: ${one.data.trim()} | ${other.data.trim()}`)].slice(0, 20);
}"""
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
    found["crooked on a desk"] = await crooked(page)
    await seen_as(page, DESKTOP, "dark")
    found["dark"] = await violations(page, THEMED)
    await seen_as(page, PHONE, "light")
    found["crooked on a phone"] = await crooked(page)
    found["too wide for a phone"] = ["yes"] if await is_wider_than_the_window(page) else []
    await seen_as(page, DESKTOP, "light")
    assert not any(found.values()), f"{name}: {found}"


async def crooked(page: Page) -> list[str]:
    """What the eye finds at once, found by the boxes of what is shown."""
    found: list[str] = await page.evaluate(_CROOKED)
    return found


async def seen_as(page: Page, size: dict[str, int], scheme: Literal["light", "dark"]) -> None:
    await page.set_viewport_size({"width": size["width"], "height": size["height"]})
    await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
