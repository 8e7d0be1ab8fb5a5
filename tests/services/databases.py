"""PostgreSQL databases that exist for the length of a `with` block."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from urllib.parse import urlsplit

import asyncpg

_SECONDS = 60.0


@contextmanager
def temporary(server_url: str) -> Iterator[str]:
    """The URL of a new, empty database on that server."""
    name = f"postroom_test_{secrets.token_hex(6)}"
    _execute(server_url, f'create database "{name}"')
    try:
        yield urlsplit(server_url)._replace(path=f"/{name}").geturl()
    finally:
        _execute(server_url, f'drop database if exists "{name}" with (force)')


def _execute(url: str, statement: str) -> None:
    """In a thread, because the caller's thread may have an event loop of its own."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(asyncio.run, _execute_async(url, statement)).result(_SECONDS)


async def _execute_async(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url, timeout=_SECONDS)
    try:
        await connection.execute(statement, timeout=_SECONDS)
    finally:
        await connection.close()
