"""Draws the console's icons as PNG from its one SVG, with the browser that the tests use."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from playwright.async_api import Browser, async_playwright

STATIC: Final = Path(__file__).parents[1] / "src/postroom/console/static"
CHROMIUM: Final = "/usr/bin/chromium-headless-shell"
ACCENT: Final = "#1f6f5c"
ICONS: Final = {"icon-192.png": 192, "icon-512.png": 512}
FILLED: Final = {"icon-180.png": (180, 0.84), "icon-maskable-512.png": (512, 0.72)}
"""Cut to any shape by the system that shows them, so colour reaches every edge and the picture stays in the middle."""


async def draw(browser: Browser, name: str, size: int, share: float, ground: str) -> None:
    page = await browser.new_page(viewport={"width": size, "height": size})
    picture = (STATIC / "icon.svg").read_text(encoding="utf-8")
    inside = f"width:{size * share}px;height:{size * share}px"
    await page.set_content(
        f"<body style='margin:0;display:grid;place-items:center;height:100vh;background:{ground}'>"
        f"<div style='{inside}'>{picture.replace('<svg ', '<svg width=100% height=100% ')}</div>"
    )
    await page.screenshot(path=STATIC / name, omit_background=ground == "transparent")
    await page.close()


async def main() -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, size in ICONS.items():
            await draw(browser, name, size, 1.0, "transparent")
        for name, (size, share) in FILLED.items():
            await draw(browser, name, size, share, ACCENT)
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
