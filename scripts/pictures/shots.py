"""Every page of the console, found by the application's own list of routes, and taken three ways."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Page
from tests.console.browser import Site
from tests.console.routes import pattern

WAYS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1280, "height": 900}},
    "phone": {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "has_touch": True},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone-dark": {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "color_scheme": "dark"},
}
_STREAMS = frozenset({"/events"})
_MOST_OF_A_KIND = 8  # pages of one thing that are opened in search of links to others
_LINKS = "[...document.links].map(one => one.pathname + one.search)"


@dataclass(slots=True)
class Found:
    """Of every route an address that shows it; `missing` has those for which none was found."""

    pages: dict[str, str] = field(default_factory=dict)
    downloads: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


async def find(page: Page, base: str, known: Sequence[str], hints: Mapping[str, str]) -> Found:
    """By following links from every page that needs no id; `hints` are addresses that no link leads to."""
    found, seen, many = Found(), set[str](), Counter[str]()
    kinds = {path: pattern(f"/console{path}") for path in known if path not in _STREAMS}
    waiting = [f"/console{path}" for path in kinds if "{" not in path] + list(hints.values())
    while waiting:
        link = waiting.pop(0)
        kind = kind_of(kinds, link)
        if link in seen or kind is None or kind in found.downloads or many[kind] >= _MOST_OF_A_KIND:
            continue
        seen.add(link)
        many[kind] += 1
        waiting += await _look(page, base, kind, link, found)
    found.missing = [path for path in kinds if path not in found.pages and path not in found.downloads]
    return found


def kind_of(kinds: Mapping[str, re.Pattern[str]], link: str) -> str | None:
    """The first route that fits, as the application chooses; one without parameters before one with."""
    path = urlsplit(link).path
    return next((kind for kind, form in kinds.items() if form.fullmatch(path)), None)


async def _look(page: Page, base: str, kind: str, link: str, found: Found) -> list[str]:
    answer = await page.request.get(base + link)
    if answer.status != 200:
        return []
    if "text/html" not in answer.headers.get("content-type", ""):
        found.downloads[kind] = link
        return []
    await page.goto(base + link)
    found.pages.setdefault(kind, link)
    links: list[str] = await page.evaluate(_LINKS)
    sources: list[str] = await page.evaluate("[...document.images].map(one => new URL(one.src).pathname)")
    return sorted(one for one in {*links, *sources} if one.startswith("/console/"))


async def take(site: Site, base: str, pages: Mapping[str, str], folder: Path) -> list[str]:
    """One picture of each page in each way; answers with what the browser complained about."""
    for way, look in WAYS.items():
        page = await site.signed_in(**look)
        (folder / way).mkdir(parents=True, exist_ok=True)
        for kind, link in pages.items():
            await page.goto(base + link)
            await page.screenshot(path=folder / way / f"{name_of(kind)}.png", full_page=True)
        await page.context.close()
    return site.mishaps


def name_of(kind: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", kind.lower()).strip("-") or "today"
