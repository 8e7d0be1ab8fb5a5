"""The database and Redis: do they answer, and are they as new as we are?"""

from __future__ import annotations

from functools import partial

from sqlalchemy.exc import ArgumentError

from postroom.app.store import connect_store
from postroom.cli.doctor_checks.finding import Finding
from postroom.domain.errors import PostroomError, UserError
from postroom.system.clock import SystemClock
from postroom.system.settings import Settings
from postroom.world.store.engine.migrate import about_newer, about_unreleased, is_newer, is_unreleased, newest, revision
from postroom.world.store.engine.server_capacity import connection_room
from postroom.world.store.engine.sole_worker import sqlite_path
from postroom.world.store.shared.workers import living

_REDIS_SECONDS = 2.0


async def look_at_database(settings: Settings) -> Finding:
    """Leaves no trace: a file that is not there yet is not made."""
    is_file = settings.database.startswith("sqlite")
    if is_file and not sqlite_path(settings).exists():
        return Finding("database", True, f"{sqlite_path(settings)} will be made by `postroom up`")
    try:
        store = connect_store(settings)
    except (UserError, OSError, ArgumentError) as error:
        told = "is no address of a database" if isinstance(error, ArgumentError) else str(error)
        return Finding("database", False, told, "check database_url")
    try:
        current = await store.database.read(revision)
    except Exception as error:  # whatever a driver raises, a person shall read a sentence
        told = error.message if isinstance(error, PostroomError) else type(error).__name__
        advice = (
            "restore a backup" if is_file else "check user, password and name in database_url; does the server run?"
        )
        return Finding("database", False, told, advice)
    finally:
        await store.database.close()
    return _age("SQLite" if is_file else "PostgreSQL", current)


def _age(kind: str, current: str | None) -> Finding:
    if current == newest():
        return Finding("database", True, f"{kind}, revision {current}")
    if current is not None and is_newer(current):
        advice = "install the newer Postroom again, or restore a backup that is older"
        return Finding("database", False, f"{kind}, {about_newer(current)}", advice)
    if current is not None and is_unreleased(current):
        advice = "begin with an empty database: another --home or database_url"
        return Finding("database", False, f"{kind}, {about_unreleased(current)}", advice)
    told = f"revision {current}" if current else "empty"
    advice = "`postroom up` or `postroom migrate` brings it there"
    return Finding("database", True, f"{kind}, {told}; newest is {newest()}", advice)


async def look_at_connections(settings: Settings) -> list[Finding]:
    """How many processes such as this one the server has room for; another finding says if it is away."""
    if settings.database.startswith("sqlite"):
        return []
    try:
        store = connect_store(settings)
        try:
            room = await store.database.read(connection_room)
        finally:
            await store.database.close()
    except Exception:  # whatever a driver raises, another finding has it
        return []
    each = settings.postgres.most_connections
    told = f"{each} per process at most, {room} on the server: room for {room // each} processes"
    advice = "" if room >= each else "raise max_connections, or lower postgres.pool_size and postgres.other_pool_size"
    return [Finding("connections", room >= each, told, advice)]


async def look_at_workers(settings: Settings) -> list[Finding]:
    """Which processes send; on SQLite that is `postroom up` alone."""
    if settings.database.startswith("sqlite"):
        return []
    try:
        store = connect_store(settings)
        try:
            found = await store.database.read(partial(living, now_us=SystemClock().now_us()))
        finally:
            await store.database.close()
    except Exception:  # whatever a driver raises, another finding has it
        return []
    if not found:
        return [Finding("workers", True, "none is running; `postroom up` sends, and so does `postroom worker`")]
    return [Finding("workers", True, f"{len(found)} running: {', '.join(one.words for one in found)}")]


async def look_at_redis(settings: Settings) -> list[Finding]:
    """Not asked for, not looked at."""
    if not settings.redis_url:
        return []
    try:
        from redis.asyncio import Redis
        from redis.exceptions import RedisError
    except ImportError:
        return [Finding("redis", False, "its driver is not installed", "pip install 'postroom[redis]'")]
    try:
        client = Redis.from_url(settings.redis_url.reveal(), socket_connect_timeout=_REDIS_SECONDS)
    except ValueError:
        return [Finding("redis", False, "redis_url is no such address", "write it as redis://HOST:PORT/0")]
    try:
        await client.ping()
        return [Finding("redis", True, "answers")]
    except (RedisError, OSError) as error:
        return [Finding("redis", False, type(error).__name__, "check redis_url, and that the server runs")]
    finally:
        await client.aclose()
