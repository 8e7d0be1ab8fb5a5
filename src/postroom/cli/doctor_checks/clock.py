"""This machine's clock, held against the clocks of whatever it works with."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime

import aiohttp
from sqlalchemy import text

from postroom.app.store import connect_store
from postroom.cli.doctor_checks.finding import Finding
from postroom.system.settings import Settings

MOST_SECONDS = 5.0  # words that are dated longer than this before a question do not answer it
_SECONDS = 5.0


async def look_at_clock(settings: Settings) -> list[Finding]:
    """Whoever cannot be asked is left out: that is another finding's business."""
    asked: dict[str, Callable[[Settings], Awaitable[float | None]]] = {}
    if not settings.database.startswith("sqlite"):
        asked["PostgreSQL"] = _of_database
    if settings.redis_url:
        asked["Redis"] = _of_redis
    if not settings.in_sandbox:
        asked["the Bot API"] = _of_bot_api
    findings = []
    for whose, ask in asked.items():
        before = time.time()
        theirs = await ask(settings)
        if theirs is not None:
            findings.append(verdict(whose, theirs - (before + time.time()) / 2))
    return findings or [Finding("clock", True, "nothing here to compare it with")]


def verdict(whose: str, ahead_seconds: float) -> Finding:
    if abs(ahead_seconds) <= MOST_SECONDS:
        return Finding("clock", True, f"agrees with {whose} to within {max(1, round(abs(ahead_seconds)))} s")
    way = "behind" if ahead_seconds > 0 else "ahead of"
    detail = f"is {abs(ahead_seconds):.0f} s {way} {whose}"
    return Finding("clock", False, detail, "set the time on both machines, for example with chrony")


async def _of_database(settings: Settings) -> float | None:
    try:
        store = connect_store(settings)
        try:
            return await store.database.read(
                lambda connection: float(connection.execute(text("SELECT extract(epoch FROM now())")).scalar_one())
            )
        finally:
            await store.database.close()
    except Exception:  # another finding says what is wrong with it
        return None


async def _of_redis(settings: Settings) -> float | None:
    try:
        from redis.asyncio import Redis
        from redis.exceptions import RedisError
    except ImportError:
        return None
    try:
        async with Redis.from_url(settings.redis_url.reveal(), socket_connect_timeout=2.0) as client:
            seconds, microseconds = await client.time()
    except (RedisError, OSError, ValueError):
        return None
    return float(seconds) + float(microseconds) / 1e6


async def _of_bot_api(settings: Settings) -> float | None:
    """By the Date of any answer; the address asked is the server's own page, never one with the token."""
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_SECONDS)) as session,
            session.head(settings.telegram.api_base_url, allow_redirects=False) as response,
        ):
            return parsedate_to_datetime(response.headers["Date"]).timestamp()
    except (aiohttp.ClientError, TimeoutError, ValueError, KeyError):
        return None
