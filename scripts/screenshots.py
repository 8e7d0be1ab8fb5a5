"""Take a picture of every page of the console and of the sandbox's phone: desktop, phone, light and dark."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from pathlib import Path

import structlog

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.pictures.house import shown_site  # noqa: E402
from scripts.pictures.popup import take_popup  # noqa: E402
from scripts.pictures.progress import progress_pages  # noqa: E402
from scripts.pictures.sheet import write_sheet  # noqa: E402
from scripts.pictures.shots import WAYS, Found, find, name_of, take  # noqa: E402
from scripts.pictures.week import SAID, SETTINGS, Week  # noqa: E402
from tests.console.browser import Site  # noqa: E402 - the line above finds it
from tests.console.routes import routes  # noqa: E402

PHONE = "sandbox phone"


async def every_page(folder: Path, *, for_docs: bool) -> Found:
    async with shown_site(SAID, SETTINGS) as site:
        week = Week(site.home)
        await week.live()
        base = site.url.removesuffix("/console")
        page = await site.signed_in()
        hints = {**week.pages, **await progress_pages(page, base)}
        found = await find(page, base, await routes(site.home, "GET"), hints)
        await page.context.close()
        if for_docs:
            await _docs(site, base, found)
            return found
        for said in await take(site, base, found.pages, folder):
            sys.stderr.write(f"the browser complained: {said}\n")
        await _phone(site, folder)
        return found


async def _docs(site: Site, base: str, found: Found) -> None:
    sys.path.insert(1, str(ROOT / "build" / "picture-tools"))
    from scripts.pictures.shown_in_docs import take_for_docs

    await take_for_docs(site, base, found.pages, ROOT / "docs" / "pictures")


async def _phone(site: Site, folder: Path) -> None:
    for way, look in WAYS.items():
        page = await site.page(**look)
        await page.goto(site.home.household.addresses["sandbox"])
        await page.screenshot(path=folder / way / f"{name_of(PHONE)}.png", full_page=True)
        await page.context.close()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "screenshots", help="where to")
    options.add_argument("--docs", action="store_true", help="only take docs/pictures again, small")
    chosen = options.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    logging.disable(logging.WARNING)
    found = asyncio.run(every_page(chosen.folder, for_docs=chosen.docs))
    if chosen.docs:
        take_popup(ROOT / "docs" / "pictures" / "popup.png")
        return 0
    names = [*(name_of(kind) for kind in found.pages), name_of(PHONE)]
    sheet = write_sheet(chosen.folder, names, WAYS, found.missing)
    sys.stdout.write(f"{len(names)} pages, each in {len(WAYS)} ways: {sheet}\n")
    for kind, link in found.downloads.items():
        sys.stdout.write(f"no page, but a file: {kind} ({link})\n")
    for kind in found.missing:
        sys.stdout.write(f"NO PICTURE of {kind}: nothing in the seeded week leads there\n")
    return 1 if found.missing else 0


if __name__ == "__main__":
    sys.exit(main())
