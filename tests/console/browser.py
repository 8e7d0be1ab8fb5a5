"""A household with its console, a real browser in front of it, and a judge of what the browser shows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from postroom.household.store import connect_store
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.principal import OPERATOR, Principal
from postroom.people.signing_in.rules import ROOT
from postroom.people.signing_in.store import ConsoleSessions
from tests.console.http import calling
from tests.household.living import Living, living
from tests.patience import PATIENCE_SECONDS

CHROMIUM = "/usr/bin/chromium-headless-shell"
PICTURES = Path(__file__).parents[2] / "artefacts" / "console"
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1200, "height": 900}
INSTALLED = {"service_workers": "allow"}  # it asks for every file of a page once more
_AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_FOUND = """async runOnly => {
    const {violations} = await axe.run(document, {runOnly, resultTypes: ['violations']});
    return violations.flatMap(one => one.nodes.map(node => `${one.id}: ${node.html.slice(0, 160)}`));
}"""

IN_BROWSER = (pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("no_page_outlives_its_test"))
expect.set_options(timeout=PATIENCE_SECONDS * 1000)


@dataclass(frozen=True, slots=True)
class Site:
    """`mishaps` are errors of scripts and everything the content policy forbade; every test may expect none."""

    home: Living
    browser: Browser
    mishaps: list[str] = field(default_factory=list)
    sessions: dict[str, Any] = field(default_factory=dict)
    contexts: list[BrowserContext] = field(default_factory=list)
    lent: list[tuple[str, Page]] = field(default_factory=list)
    idle: dict[str, list[Page]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return self.home.household.addresses["api"] + "/console"

    async def link(self, principal: Principal = OPERATOR) -> str:
        return await link_for(self.home, principal)

    async def page(self, **context: Any) -> Page:
        """A browser of its own, not signed in; the service worker comes where it is asked for, see INSTALLED."""
        made = await self.browser.new_context(**{"viewport": DESKTOP, "service_workers": "block", **context})
        self.contexts.append(made)
        page = await made.new_page()
        page.set_default_timeout(PATIENCE_SECONDS * 1000)
        page.on("pageerror", lambda error: self.mishaps.append(str(error)))
        page.on("console", lambda said: self.mishaps.append(said.text) if _is_mishap(said.text) else None)
        return page

    async def signed_in(self, principal: Principal = OPERATOR, path: str = "/", **context: Any) -> Page:
        """Each person signs in once; their page goes from test to test, but for one that asks for another kind."""
        who = str(principal)
        if who not in self.sessions:
            self.sessions[who] = {"cookies": await self._cookies(principal)}
        idle = self.idle.setdefault(who, [])
        if idle and not context:
            page = idle.pop()
            self.contexts.append(page.context)
        else:
            page = await self.page(storage_state=self.sessions[who], **context)
        if not context:
            self.lent.append((who, page))
        await page.goto(self.url + path)
        return page

    async def _cookies(self, principal: Principal) -> list[dict[str, Any]]:
        async with calling(self.home) as caller:
            worn = await caller.sign_in(await self.link(principal))
        place = {"domain": urlsplit(self.url).hostname, "path": ROOT, "httpOnly": True, "sameSite": "Strict"}
        return [{"name": name, "value": value, **place} for name, value in worn.items()]

    async def end_test(self) -> None:
        """An open page goes on listening, which the tests after this one would pay for; those lent come to rest."""
        while self.lent:
            who, page = self.lent.pop()
            if page.is_closed():
                continue
            await self._rest(who, page)
            self.contexts.remove(page.context)
            self.idle[who].append(page)
        await self._close(self.contexts)

    async def _rest(self, who: str, page: Page) -> None:
        """With nothing left of what a test did to it."""
        await page.goto(self.url + "/static/icon.svg")
        await page.evaluate("localStorage.clear(), sessionStorage.clear()")
        await page.context.clear_cookies()
        await page.context.add_cookies(self.sessions[who]["cookies"])
        await page.emulate_media(color_scheme="null", reduced_motion="null")
        await page.set_viewport_size({"width": DESKTOP["width"], "height": DESKTOP["height"]})
        await page.mouse.move(0, 0)

    async def close(self) -> None:
        await self._close([page.context for pages in self.idle.values() for page in pages])
        await self._close(self.contexts)

    async def _close(self, contexts: list[BrowserContext]) -> None:
        while contexts:
            await contexts.pop().close()


async def link_for(home: Living, principal: Principal = OPERATOR) -> str:
    """As `postroom login` makes it: from another connection to the same database."""
    home.tokens.ensure([principal])
    store = connect_store(home.settings)
    try:
        base = home.household.addresses["api"]
        return await ConsoleSessions(store.database, home.tokens).link(base, principal, SystemClock().now_us())
    finally:
        await store.database.close()


@asynccontextmanager
async def launched(program: str = CHROMIUM, *options: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox", *options])
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def console_site(browser: Browser, home: Path, *changes: Mapping[str, Any]) -> AsyncIterator[Site]:
    async with living(home, *changes) as one:
        site = Site(one, browser)
        try:
            yield site
        finally:
            await site.close()


async def violations(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """What axe-core finds, by all rules or by these; beside the page's own policy, which would refuse the script."""
    if not await page.evaluate("'axe' in window"):
        await page.add_init_script(_AXE)  # to send it again for every page that follows costs more than to look
        await page.evaluate(_AXE)
    asked = {"type": "rule", "values": list(rules)} if rules else {"type": "tag", "values": _RULES}
    found: list[str] = await page.evaluate(_FOUND, asked)
    if found:
        await _picture(page)
    return found


async def is_wider_than_the_window(page: Page) -> bool:
    wider = bool(await page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))
    if wider:
        await _picture(page)
    return wider


async def _picture(page: Page) -> None:
    """Of what is wrong, for those who mend it: named after the page, its palette and its width."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    palette = await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'")
    width = await page.evaluate("window.innerWidth")
    name = path_of(page).strip("/").replace("/", "-")
    await page.screenshot(path=PICTURES / f"{name}-{palette}-{width}.png", full_page=True)


async def focused(page: Page) -> str:
    """The name of what the keyboard is on."""
    return str(await page.evaluate("document.activeElement.innerText || document.activeElement.name || ''"))


async def tab_to(page: Page, name: str, most: int = 60) -> None:
    """By keyboard alone, as many steps as it takes."""
    for _ in range(most):
        await page.keyboard.press("Tab")
        if await focused(page) == name:
            return
    raise AssertionError(f"the keyboard never reached {name!r}")


def path_of(page: Page) -> str:
    return urlsplit(page.url).path


def _is_mishap(text: str) -> bool:
    return "Content Security Policy" in text or "Uncaught" in text
