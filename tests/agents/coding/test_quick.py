"""What clients start all the time starts at once, and is understood as the tree of commands would understand it."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.agents.coding.recorded import recorded
from tests.cli.command import postroom
from tests.household.living import QUICK, living
from tests.services.ports import free_port

from postroom.agents.coding.quick import QuickCommand, understood
from postroom.settings.connections import changing


@pytest.mark.requirement("connect:hook-quick")
@pytest.mark.parametrize("event", ["PermissionRequest", "PostToolUse"])
def test_a_hook_imports_nothing_heavy(home: Path, event: str) -> None:
    with changing(home) as document:
        document["programs"]["claude"] = {"url": f"http://127.0.0.1:{free_port()}", "token": "pr_program_0123456789"}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "postroom", "hook", "claude"],
        input=recorded("claude", event),
        env={**os.environ, "POSTROOM_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    modules = set(re.findall(r"^import time:.*\| +([\w.]+)", done.stderr, re.M))
    packages = {one.partition(".")[0] for one in modules}

    assert (done.returncode, done.stdout) == (0, "")
    assert packages & (HEAVY | {"typer", "tomllib", "subprocess", "argparse"}) == set()
    ours = {one for one in modules if one.startswith("postroom.")}
    assert not any(
        one.startswith(
            ("postroom.household", "postroom.kernel.database", "postroom.kernel.guard", "postroom.kernel.serving")
        )
        for one in ours
    )
    assert len(ours) < 30


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["claude"], QuickCommand(client="claude")),
        (["codex", "--wait-seconds", "7", "--finished"], QuickCommand(client="codex", wait_seconds=7, finished=True)),
        (["--home=/x", "gemini", "--defer"], QuickCommand(client="gemini", home="/x", defer=True)),
        (["codex", '{"type": "x"}'], QuickCommand(client="codex", payload='{"type": "x"}')),
        ([], None),
        (["claude", "more"], None),
        (["claude", "--wait"], None),
        (["claude", "--wait-seconds", "soon"], None),
        (["claude", "--home"], None),
    ],
)
def test_its_words_are_understood(words: list[str], said: QuickCommand | None) -> None:
    assert understood(words) == said


def test_a_program_that_is_not_connected_is_told_how(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "postroom", "bridge", "cursor", "--home", str(home)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 1 and "postroom connect cursor" in done.stderr
    assert "postroom connect cursor" in postroom("bridge", "cursor", "--home", str(home)).error
    assert "did you mean 'claude'" in postroom("hook", "claud").error


# How quickly it starts.

HEAVY = {
    *("aiohttp", "aiosmtplib", "alembic", "asyncio", "asyncpg", "click", "croniter", "fastapi", "httpx", "jinja2"),
    *("mcp", "opentelemetry", "prometheus_client", "pydantic", "pydantic_core", "rapidfuzz", "redis", "rich"),
    *("sqlalchemy", "sqlite3", "starlette", "structlog", "uvicorn", "uvloop"),
}
OF_AN_ACT = {"pydantic", "pydantic_core"}
"""What a command whose options an act declares cannot do without."""


def imported(*arguments: str) -> set[str]:
    """The packages that the command imports, as Python itself lists them."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "postroom", *arguments],
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return set(re.findall(r"^import time:.*\| +(\w+)", done.stderr, re.M))


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [(["--help"], set()), (["--version"], set()), (["notify", "--help"], OF_AN_ACT)],
    ids=["--help", "--version", "notify --help"],
)
def test_help_imports_nothing_heavy(arguments: list[str], needed: set[str], home: Path) -> None:
    packages = imported(*arguments)

    assert "typer" in packages
    assert packages & HEAVY == needed


@pytest.mark.parametrize("way", ["here", "elsewhere"])
async def test_a_message_is_sent_without_anything_heavy(way: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    general = free_port()
    monkeypatch.setenv("POSTROOM_PORTS__GENERAL", str(general))
    async with living(home, QUICK, {"ports": {"general": general}}) as household:
        if way == "elsewhere":
            monkeypatch.setenv("POSTROOM_URL", household.household.addresses["api"])
            monkeypatch.setenv("POSTROOM_TOKEN", household.token("health"))
        packages = await asyncio.to_thread(imported, "notify", "Hello", "--priority", "high")

        assert await household.texts() == ["Hello"]
    assert packages & HEAVY == OF_AN_ACT
