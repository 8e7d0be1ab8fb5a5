"""The console's pictures that the documentation shows: taken from the same week, and made small."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

from PIL import Image  # in build/picture-tools: `make screenshots` brings it there
from tests.doors.console.browser import Site

NAMES = {
    "console-today": "/",
    "console-delivery": "/deliveries/{id}",
    "console-approval": "/approvals/{id}",
    "console-attention": "/attention",
    "console-sandbox": "/sandbox",
}
_WIDTH, _TALLEST = 1200, 1500


async def take_for_docs(site: Site, base: str, pages: Mapping[str, str], folder: Path) -> None:
    page = await site.signed_in(viewport={"width": _WIDTH, "height": 900})
    for name, kind in NAMES.items():
        await page.goto(base + pages[kind])
        whole = Image.open(io.BytesIO(await page.screenshot(full_page=True))).convert("RGB")
        shown = whole.crop((0, 0, whole.width, min(whole.height, _TALLEST)))
        shown.quantize(128, dither=Image.Dither.NONE).save(folder / f"{name}.png", optimize=True)
    await page.context.close()
