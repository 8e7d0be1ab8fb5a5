"""Make README's moving picture from a real run: Claude Code asks, the phone buzzes, a tap, Claude Code goes on."""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import logging
import subprocess
import sys
from pathlib import Path

import structlog

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
sys.path.insert(1, str(ROOT / "build" / "picture-tools"))

from PIL import Image  # noqa: E402 - the lines above find them
from scripts.pictures.composed import drawn, write_gif, write_png  # noqa: E402
from scripts.pictures.scenario import COLUMNS, ROWS, run  # noqa: E402
from scripts.pictures.screen import lines, shown  # noqa: E402
from scripts.pictures.told import told  # noqa: E402

NAME = "agent-asks"
_WITHOUT_MOTION = -3  # the card on the phone and the finger on it


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--folder", type=Path, default=ROOT / "docs" / "pictures", help="where to")
    options.add_argument("--claude", default=str(Path(sys.prefix) / "clients" / "node_modules" / ".bin" / "claude"))
    chosen = options.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    version = subprocess.check_output([chosen.claude, "--version"], text=True).strip()  # noqa: S603 - as it was named
    asyncio.run(_make(chosen.folder, chosen.claude, version))
    return 0


async def _make(folder: Path, claude: str, version: str) -> None:
    moments = await run(claude)
    pictures = await drawn(moments)
    write_gif(pictures, folder / f"{NAME}.gif")
    write_png(pictures[_WITHOUT_MOTION][0], folder / f"{NAME}.png")
    card = next(one.phone for one in moments if one.tap)
    write_png(Image.open(io.BytesIO(card)).convert("RGB"), folder / "permission-card.png")
    said = {"client": version, "moments": told(moments, lambda drawn: lines(shown(drawn, ROWS, COLUMNS)))}
    (folder / f"{NAME}.json").write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for kind in ("gif", "png", "json"):
        sys.stdout.write(f"{folder / NAME}.{kind}: {(folder / f'{NAME}.{kind}').stat().st_size:,} bytes\n")


if __name__ == "__main__":
    sys.exit(main())
