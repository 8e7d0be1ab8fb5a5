"""Both screens of the scenario beside each other: one frame for each moment, and the phone shaking when it buzzes."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image  # in build/picture-tools: `make moving-picture` brings it there
from playwright.async_api import async_playwright
from scripts.pictures.scenario import COLUMNS, PHONE, ROWS, Moment
from scripts.pictures.screen import as_html, shown
from tests.console.browser import CHROMIUM

WIDTH, HEIGHT, SCALE = 830, 596, 2
_PHONE_WIDTH = 274
_BUZZ = ((-2, 70), (2, 70), (-2, 70), (2, 70), (0, 70))
_CAPTIONS = {
    "begins": "You give an agent work, and go away from the screen.",
    "asks": "It stops: it needs a permission.",
    "buzzes": "Your phone buzzes.",
    "is answered": "The card says who answered.",
    "goes on": "And the agent goes on.",
}
_STYLE = """
* { box-sizing: border-box; margin: 0; }
body { background: #f4f2ee; font: 15px/1.4 system-ui, sans-serif; height: 596px; overflow: hidden; width: 830px; }
.both { display: flex; gap: 18px; justify-content: space-between; padding: 14px 16px 0; }
.terminal { background: #16181d; border-radius: 10px; height: 536px; overflow: hidden; width: 488px; }
.bar { background: #2a2d35; color: #b9bdc7; font-size: 11px; height: 22px; line-height: 22px; text-align: center; }
pre { font: 13px/17px "DejaVu Sans Mono", monospace; padding: 4px 14px; }
.phone { background: #111; border-radius: 26px; height: 536px; padding: 9px; position: relative; width: 292px; }
.phone img { border-radius: 18px; display: block; height: 518px; width: 274px; }
.phone img { object-fit: cover; object-position: top; }
.tap { background: #e6a10088; border: 3px solid #b87a00; border-radius: 50%; }
.tap { height: 44px; position: absolute; width: 44px; }
p { color: #1c1c1a; font-size: 18px; font-weight: 600; padding: 9px 0 0; text-align: center; }
"""


@dataclass(frozen=True, slots=True)
class Frame:
    moment: Moment
    screen: Moment
    milliseconds: int
    tilt: int = 0
    is_tapped: bool = False


def frames(moments: Sequence[Moment]) -> Iterator[Frame]:
    begins, asks, buzzes, answered, goes_on = moments
    yield Frame(begins, begins, 1500)
    yield Frame(asks, asks, 1900)
    for tilt, milliseconds in _BUZZ:
        yield Frame(buzzes, asks, milliseconds, tilt)
    yield Frame(buzzes, asks, 2100)
    yield Frame(buzzes, asks, 500, is_tapped=True)
    yield Frame(answered, answered, 1700)
    yield Frame(goes_on, goes_on, 3300)


async def drawn(moments: Sequence[Moment]) -> list[tuple[Image.Image, int]]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE)
        pictures = []
        for frame in frames(moments):
            await page.set_content(_page(frame))
            pictures.append((Image.open(io.BytesIO(await page.screenshot())).convert("RGB"), frame.milliseconds))
        await browser.close()
        return pictures


def write_gif(pictures: Sequence[tuple[Image.Image, int]], file: Path) -> None:
    """One palette for all, or each frame would be stored whole."""
    palette = _palette([picture for picture, _ in pictures])
    reduced = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture, _ in pictures]
    times = [milliseconds for _, milliseconds in pictures]
    reduced[0].save(file, save_all=True, append_images=reduced[1:], duration=times, loop=0, optimize=True, disposal=1)


def write_png(picture: Image.Image, file: Path) -> None:
    picture.quantize(128, dither=Image.Dither.NONE).save(file, optimize=True)


def _palette(pictures: Sequence[Image.Image]) -> Image.Image:
    whole = Image.new("RGB", (pictures[0].width, sum(one.height for one in pictures)))
    for place, one in enumerate(pictures):
        whole.paste(one, (0, place * one.height))
    return whole.quantize(96, dither=Image.Dither.NONE)


def _page(frame: Frame) -> str:
    phone = base64.b64encode(frame.moment.phone).decode()
    terminal = as_html(shown(frame.screen.drawn, ROWS, COLUMNS))
    tilt = f' style="transform: rotate({frame.tilt}deg)"' if frame.tilt else ""
    return (
        f"<!doctype html><style>{_STYLE}</style><div class=both>"
        f"<div class=terminal><div class=bar>claude</div><pre>{terminal}</pre></div>"
        f'<div class=phone{tilt}><img src="data:image/png;base64,{phone}">{_tap(frame)}</div></div>'
        f"<p>{'One tap.' if frame.is_tapped else _CAPTIONS[frame.moment.name]}</p>"
    )


def _tap(frame: Frame) -> str:
    if not frame.is_tapped or frame.moment.tap is None:
        return ""
    shrunk = _PHONE_WIDTH / PHONE["viewport"]["width"]
    x, y = (9 + part * shrunk - 22 for part in frame.moment.tap)
    return f'<div class=tap style="left: {x}px; top: {y}px"></div>'
