"""The pictures that the documentation shows of the console and the sandbox: of the same week, and made small."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

from PIL import Image  # in build/picture-tools: `make screenshots` brings it there
from tests.console.browser import Site

NAMES = {
    "console-today": "/",
    "console-delivery": "/deliveries/{id}",
    "console-approval": "/approvals/{id}",
    "console-attention": "/attention",
}
_WIDTH, _TALLEST = 1200, 1500


async def take_for_docs(site: Site, base: str, pages: Mapping[str, str], folder: Path) -> None:
    page = await site.signed_in(viewport={"width": _WIDTH, "height": 900})
    shown = {name: base + pages[kind] for name, kind in NAMES.items()}
    for name, address in {**shown, "sandbox": site.home.household.addresses["sandbox"]}.items():
        await page.goto(address)
        whole = Image.open(io.BytesIO(await page.screenshot(full_page=True))).convert("RGB")
        top = whole.crop((0, 0, whole.width, min(whole.height, _TALLEST)))
        top.quantize(128, dither=Image.Dither.NONE).save(folder / f"{name}.png", optimize=True)
    await page.context.close()
