"""The strongest scenario, run for real: Claude Code asks, the phone shows a card, a tap, and Claude Code goes on."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Page, async_playwright
from tests.agents.connect.fake_models import fake_model
from tests.agents.connect.terminal import Terminal, terminal
from tests.console.browser import CHROMIUM, Site
from tests.household.living import LIFTED, QUICK, living
from tests.services.ports import free_port

ROWS, COLUMNS = 30, 58
KEY = "sk-fake-0123456789ab"
TASK = "run the tests"
WORDS = "All 12 tests pass."
COMMAND = {"command": "npm test", "description": "Run the tests"}
PHONE = {"viewport": {"width": 390, "height": 737}, "device_scale_factor": 2, "has_touch": True}
SHOP = {
    "package.json": json.dumps(
        {"name": "shop", "version": "2.14.0", "scripts": {"test": "node --test --test-reporter=dot"}}
    ),
    "shop.test.js": 'const { test } = require("node:test");\n'
    + "".join(f'test("price {n}", () => {{}});\n' for n in range(1, 13)),
}
_PATIENCE = 60


@dataclass(frozen=True, slots=True)
class Moment:
    """What both screens show at one time: the bytes that drew the terminal, and a picture of the phone."""

    name: str
    drawn: bytes
    phone: bytes
    says: str
    tap: tuple[float, float] | None = None


async def run(claude: str, *, quiet_seconds: float = 1.5) -> list[Moment]:
    """For a picture the last screen is waited for until nothing on it has moved for so long."""
    with tempfile.TemporaryDirectory(prefix="clara-") as folder:
        return await _run(claude, Path(folder), quiet_seconds)


async def _run(claude: str, folder: Path, quiet_seconds: float) -> list[Moment]:
    shop, port = _project(folder), free_port()
    own = _environment(folder, port)
    changes = {"ports": {"api": port}, "owner": {"name": "Clara"}}
    async with living(folder / "household", QUICK, LIFTED, changes) as home, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        phone = await Site(home, browser).page(**PHONE)
        await phone.goto(home.household.addresses["sandbox"])
        await _connect(shop, own)
        async with fake_model("Bash", COMMAND, WORDS) as model:
            told = {**own, "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": KEY}
            async with terminal([claude, TASK], shop, told, rows=ROWS, columns=COLUMNS) as screen:
                return await _watched(screen, phone, quiet_seconds)


async def _watched(screen: Terminal, phone: Page, quiet_seconds: float) -> list[Moment]:
    moments = []

    async def keep(name: str, tap: tuple[float, float] | None = None) -> None:
        says = await phone.locator("#said").inner_text()
        moments.append(Moment(name, screen.drawn, await phone.screenshot(), says, tap))

    await _until(screen, TASK)
    await _bring_into_view(phone)
    await keep("begins")
    await _until(screen, "npm test", "Do you want to proceed?")
    await keep("asks")
    allow = phone.get_by_role("button", name="Allow", exact=True)
    await allow.wait_for(timeout=_PATIENCE * 1000)
    await _bring_into_view(phone)
    box = await allow.bounding_box()
    await keep("buzzes", None if box is None else (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2))
    await allow.tap()
    await phone.get_by_text("answered by Clara").first.wait_for(timeout=_PATIENCE * 1000)
    await _bring_into_view(phone)
    await keep("is answered")
    await _until(screen, "Allowed by PermissionRequest hook", WORDS)
    await _until_quiet(screen, quiet_seconds)
    await keep("goes on")
    return moments


async def _bring_into_view(phone: Page) -> None:
    await phone.locator("#phone-name").evaluate(
        "one => window.scrollTo(0, one.getBoundingClientRect().top + scrollY - 12)"
    )


async def _until(screen: Terminal, *words: str) -> None:
    """Words may be drawn apart by steering, so they are looked for without spaces."""
    wanted = ["".join(one.split()) for one in words]
    try:
        async with asyncio.timeout(_PATIENCE):
            while any(one not in "".join(screen.text.split()) for one in wanted):  # noqa: ASYNC110 - a program's own
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise TimeoutError(f"the screen never showed {words}, but: {screen.text[-2000:]}") from None


async def _until_quiet(screen: Terminal, seconds: float) -> None:
    """A program that works turns its sign of work all the time."""
    async with asyncio.timeout(_PATIENCE):
        seen = -1 if seconds else len(screen.drawn)
        while seen != len(screen.drawn):
            seen = len(screen.drawn)
            await asyncio.sleep(seconds)


def _project(folder: Path) -> Path:
    shop = folder / "shop"
    shop.mkdir()
    for name, text in SHOP.items():
        (shop / name).write_text(text, encoding="utf-8")
    known = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(shop): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
    }
    (folder / ".claude.json").write_text(json.dumps(known), encoding="utf-8")
    return shop


def _environment(folder: Path, port: int) -> dict[str, str]:
    return {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "POSTROOM_HOME": str(folder / "household"),
        "POSTROOM_PORTS__API": str(port),
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


async def _connect(shop: Path, own: Mapping[str, str]) -> None:
    words = [sys.executable, "-m", "postroom", "connect", "claude", "--yes"]
    process = await asyncio.create_subprocess_exec(*words, cwd=shop, env=dict(own), stdout=asyncio.subprocess.DEVNULL)
    if await process.wait() != 0:
        raise RuntimeError("postroom connect claude failed")
