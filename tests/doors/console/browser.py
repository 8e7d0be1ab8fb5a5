"""A household with its console, a real browser in front of it, and a judge of what the browser shows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, BrowserContext, Page, async_playwright
from tests.app.living import Living, living

from postroom.app.store import connect_store
from postroom.domain.principal import OPERATOR, Principal
from postroom.doors.console.sign_in_link import sign_in_link
from postroom.system.clock import SystemClock
from postroom.world.store.shared.console_sessions import StoredConsoleSessions

CHROMIUM = "/usr/bin/chromium-headless-shell"
PICTURES = Path(__file__).parents[3] / "artefacts" / "console"
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1200, "height": 900}
_AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_FOUND = """async runOnly => {
    const {violations} = await axe.run(document, {runOnly, resultTypes: ['violations']});
    return violations.flatMap(one => one.nodes.map(node => `${one.id}: ${node.html.slice(0, 160)}`));
}"""


@dataclass(frozen=True, slots=True)
class Site:
    """`mishaps` are errors of scripts and everything the content policy forbade; every test may expect none."""

    home: Living
    browser: Browser
    mishaps: list[str] = field(default_factory=list)
    sessions: dict[str, Any] = field(default_factory=dict)
    contexts: list[BrowserContext] = field(default_factory=list)

    @property
    def url(self) -> str:
        return self.home.household.addresses["api"] + "/console"

    async def link(self, principal: Principal = OPERATOR) -> str:
        return await link_for(self.home, principal)

    async def page(self, **context: Any) -> Page:
        """A browser of its own, not signed in."""
        made = await self.browser.new_context(**{"viewport": DESKTOP, **context})
        self.contexts.append(made)
        page = await made.new_page()
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: self.mishaps.append(str(error)))
        page.on("console", lambda said: self.mishaps.append(said.text) if _is_mishap(said.text) else None)
        return page

    async def signed_in(self, principal: Principal = OPERATOR, path: str = "/", **context: Any) -> Page:
        """Each person signs in once, in a browser; after that their session is lent to further ones."""
        if str(principal) not in self.sessions:
            first = await self.page()
            await first.goto(await self.link(principal))
            await first.get_by_role("button", name="Sign in").click()
            await first.wait_for_url(self.url + "/")
            self.sessions[str(principal)] = await first.context.storage_state()
            await first.close()
        page = await self.page(storage_state=self.sessions[str(principal)], **context)
        await page.goto(self.url + path)
        return page

    async def close_pages(self) -> None:
        """An open page goes on listening, which the tests after this one would pay for."""
        while self.contexts:
            await self.contexts.pop().close()


async def link_for(home: Living, principal: Principal = OPERATOR) -> str:
    """As `postroom login` makes it: from another connection to the same database."""
    home.tokens.ensure([principal])
    store = connect_store(home.settings)
    try:
        base = home.household.addresses["api"]
        links = StoredConsoleSessions(store.database)
        return await sign_in_link(links, home.tokens, base, principal, SystemClock().now_us())
    finally:
        await store.database.close()


@asynccontextmanager
async def console_site(home: Path, *changes: Mapping[str, Any]) -> AsyncIterator[Site]:
    async with living(home, *changes) as one, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield Site(one, browser)
        finally:
            await browser.close()


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
