"""Clocks are compared with everything that has one and answers."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from postroom.cli.doctor.doctor import look_at_clock, verdict
from postroom.settings import Settings


@pytest.mark.parametrize(
    ("ahead_seconds", "is_well", "words"),
    [
        (0.2, True, "agrees with Redis to within 1 s"),
        (-4.0, True, "agrees with Redis to within 4 s"),
        (29.0, False, "is 29 s behind Redis"),
        (95.0, False, "is 95 s behind Redis"),
        (-3600.0, False, "is 3600 s ahead of Redis"),
    ],
)
def test_a_few_seconds_are_where_the_trouble_begins(ahead_seconds: float, is_well: bool, words: str) -> None:
    found = verdict("Redis", ahead_seconds)

    assert (found.ok, found.detail) == (is_well, words)
    assert bool(found.advice) is not is_well


async def test_the_clocks_of_the_servers_are_asked(home: Path, postgres_url: str, redis_url: str) -> None:
    settings = Settings.model_validate({"home": home, "database_url": postgres_url, "redis_url": redis_url})

    found = await look_at_clock(settings)

    assert [one.detail.split(" to ")[0] for one in found] == ["agrees with PostgreSQL", "agrees with Redis"]


@pytest.mark.parametrize(("off", "is_well"), [(timedelta(0), True), (timedelta(minutes=5), False)])
async def test_the_bot_api_tells_the_time_in_every_answer(home: Path, off: timedelta, is_well: bool) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        assert b"canary" not in asked
        date = format_datetime(datetime.now(UTC) + off, usegmt=True)
        writer.write(f"HTTP/1.1 302 Found\r\nLocation: /\r\nDate: {date}\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        telegram = {"token": "4242:canary", "api_base_url": url}
        found = await look_at_clock(Settings.model_validate({"home": home, "telegram": telegram}))

    assert [one.ok for one in found] == [is_well]


async def test_who_cannot_be_asked_is_left_out(home: Path, free_port: int) -> None:
    nowhere = {"database_url": f"postgresql://x@127.0.0.1:{free_port}/x", "redis_url": f"redis://127.0.0.1:{free_port}"}

    found = await look_at_clock(Settings.model_validate({"home": home, **nowhere}))

    assert [one.detail for one in found] == ["nothing here to compare it with"]
