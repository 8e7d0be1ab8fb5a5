"""A small command starts fast: what it does not need, it does not import."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.app.living import QUICK, living
from tests.services.ports import free_port

HEAVY = {
    *("aiohttp", "aiosmtplib", "alembic", "asyncio", "asyncpg", "click", "croniter", "fastapi", "httpx", "jinja2"),
    *("mcp", "opentelemetry", "prometheus_client", "pydantic", "pydantic_core", "rapidfuzz", "redis", "rich"),
    *("sqlalchemy", "sqlite3", "starlette", "structlog", "uvicorn", "uvloop"),
}


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


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["notify", "--help"]], ids=" ".join)
def test_help_imports_nothing_heavy(arguments: list[str], home: Path) -> None:
    packages = imported(*arguments)

    assert "typer" in packages
    assert packages & HEAVY == set()


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
    assert packages & HEAVY == set()
