"""Write docs/reference, the museum, llms.txt and the tables of channels; with --check, name only what is not so."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.reference.channels import MARKED, with_table  # noqa: E402 - the line above finds it
from scripts.reference.commands import commands_page  # noqa: E402
from scripts.reference.errors import errors_page  # noqa: E402
from scripts.reference.households import shown_household  # noqa: E402
from scripts.reference.museum import museum_page  # noqa: E402
from scripts.reference.routes import routes_page  # noqa: E402
from scripts.reference.scenarios import scenarios_page  # noqa: E402
from scripts.reference.settings import settings_page  # noqa: E402
from scripts.reference.tools import tools_page  # noqa: E402

from postroom.connectors.profile import llms_text  # noqa: E402

FOLDER = ROOT / "docs" / "reference"
MUSEUM = Path("docs", "reference", "museum.md")


async def pages() -> dict[str, str]:
    async with shown_household() as shown:
        asked = {"tools.md": await tools_page(shown), "routes.md": await routes_page(shown)}
    read = {"settings.md": settings_page(), "errors.md": errors_page(), "commands.md": commands_page()}
    return asked | read | {"scenarios.md": scenarios_page()}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="write nothing")
    options.add_argument("--folder", type=Path, default=FOLDER, help="where the pages are")
    options.add_argument(
        "--root", type=Path, default=ROOT, help="where the museum and the pages with a table of channels are"
    )
    chosen = options.parse_args()
    written = {chosen.folder / name: text for name, text in asyncio.run(pages()).items()} | _elsewhere(chosen.root)
    stale = [file for file, text in written.items() if _read(file) != text]
    if chosen.check:
        for file in stale:
            sys.stdout.write(f"{file.name} is not what the code says: python scripts/generate-reference.py\n")
        return 1 if stale else 0
    chosen.folder.mkdir(exist_ok=True)
    for file in stale:
        file.write_text(written[file], encoding="utf-8")
    sys.stdout.write(f"{len(written)} pages, {len(stale)} of them new.\n")
    return 0


def _elsewhere(root: Path) -> dict[Path, str]:
    tables = {
        root / name: with_table((root / name).read_text(encoding="utf-8"), links, short=name == "README.md")
        for name, links in MARKED.items()
    }
    return tables | {root / MUSEUM: museum_page(), root / "docs" / "llms.txt": llms_text()}


def _read(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None


if __name__ == "__main__":
    sys.exit(main())
