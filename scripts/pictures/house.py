"""A household in the sandbox, in a folder that is thrown away, with two more butlers than every household has."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from playwright.async_api import async_playwright
from tests.butlers.runtimes.installed import install
from tests.console.browser import CHROMIUM, Site
from tests.household.living import LIFTED, Living, settings_for
from tests.household.talking import reply, script

from postroom.household.household import running
from postroom.household.store import parts_of, shipped
from postroom.settings import Settings
from postroom.settings.roster import ButlerConfig, RuntimeKind

BUTLERS = {
    "kitchen": "Plans meals, keeps the shopping list",
    "builder": "Looks after builds, tests and deployments",
}


@asynccontextmanager
async def shown_site(answers: Mapping[str, str], *changes: Mapping[str, Any]) -> AsyncIterator[Site]:
    """`answers` is what the butlers' model says to whom asks it so."""
    with tempfile.TemporaryDirectory(prefix="postroom-pictures-") as folder:
        settings = settings_for(Path(folder) / "home", LIFTED, *changes)
        butlers, path = _butlers(settings), {"PATH": _model(Path(folder), answers)}
        async with (
            running(settings, parts_of(settings, butlers), butlers, path) as household,
            aiohttp.ClientSession() as http,
            async_playwright() as playwright,
            await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]) as browser,
        ):
            yield Site(Living(settings, household, http), browser)


def _butlers(settings: Settings) -> list[ButlerConfig]:
    model = {"runtime": RuntimeKind(type="codex")}
    known = [one.model_copy(update=model if one.name == "general" else {}) for one in shipped(settings)]
    general = next(one for one in known if one.name == "general")
    return [*known, *(_another(general, name, about) for name, about in BUTLERS.items())]


def _another(general: ButlerConfig, name: str, about: str) -> ButlerConfig:
    db = general.butler.db.model_copy(update={"schema_name": name})
    own = general.butler.model_copy(update={"name": name, "port": 0, "description": about, "db": db})
    return general.model_copy(update={"butler": own})


def _model(folder: Path, answers: Mapping[str, str]) -> str:
    """The program that stands in for a model's: it knows these questions, and answers them as a butler does."""
    inner = install(folder / "stand-in", ["codex"])
    scripts = {question: script(reply(answer)) for question, answer in answers.items()}
    program = folder / "bin" / "codex"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport subprocess, sys\nasked = sys.stdin.read()\n"
        f"known = {scripts!r}\nfirst = min((one for one in known if one in asked), key=asked.index)\n"
        "asked = asked.replace(first, known[first], 1)\n"
        f"run = subprocess.run([{inner + '/codex'!r}, *sys.argv[1:]], input=asked, text=True)\n"
        "sys.exit(run.returncode)\n",
        encoding="utf-8",
    )
    program.chmod(0o755)
    return str(program.parent)
