"""What `postroom doctor` looks at: each finding is well, or says what to do."""

from __future__ import annotations

import platform
import stat
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sqlalchemy import text

from postroom.app.channels import KNOWN_CHANNELS, build_channels
from postroom.app.serving import PortTaken, bind
from postroom.app.store import connect_store
from postroom.domain.errors import PostroomError
from postroom.ports import Channel, Probe
from postroom.settings import Settings
from postroom.store.migrate import newest, revision

_PROBE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Finding:
    subject: str
    ok: bool
    detail: str
    advice: str = ""


async def examine(settings: Settings) -> list[Finding]:
    findings = [_python(), _home(settings), _tokens(settings), *_ports(settings)]
    checks: list[Callable[[Settings], Awaitable[Finding]]] = [_database]
    if not settings.database.startswith("sqlite"):
        checks.append(_connections)
    if settings.redis_url:
        checks.append(_redis)
    for check in checks:
        findings.append(await check(settings))
    return findings + await _channels(settings)


def _python() -> Finding:
    return Finding("python", sys.version_info >= (3, 11), platform.python_version())


def _home(settings: Settings) -> Finding:
    home = settings.home
    if not home.exists():
        return Finding("home", True, f"{home} will be made by `postroom up`")
    return Finding("home", home.is_dir(), str(home))


def _tokens(settings: Settings) -> Finding:
    file = settings.tokens_file
    if not file.exists():
        return Finding("tokens", True, "none yet; `postroom up` makes them")
    mode = stat.S_IMODE(file.stat().st_mode)
    return Finding(
        "tokens", mode & 0o077 == 0, f"{file} has mode {mode:04o}", "" if mode & 0o077 == 0 else f"chmod 600 {file}"
    )


def _ports(settings: Settings) -> list[Finding]:
    findings = []
    for part, port in settings.ports.model_dump().items():
        try:
            bind(part, settings.host, port).close()
            findings.append(Finding(f"port {port}", True, f"free for {part}"))
        except PortTaken:
            advice = f"a household may be running; otherwise set POSTROOM_PORTS__{part.upper()}"
            findings.append(Finding(f"port {port}", True, f"in use, wanted by {part}", advice))
    return findings


async def _database(settings: Settings) -> Finding:
    store = connect_store(settings)
    try:
        current = await store.database.read(revision)
        told = f"revision {current}" if current == newest() else f"revision {current}, newest is {newest()}"
        return Finding("database", True, told, "" if current == newest() else "`postroom up` or `postroom migrate`")
    except PostroomError as error:
        return Finding("database", False, error.message, "check database_url and that the server runs")
    finally:
        await store.database.close()


async def _connections(settings: Settings) -> Finding:
    """How many processes such as this one the server has room for."""
    asked = text(
        "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
    )
    store, each = connect_store(settings), settings.postgres.most_connections
    try:
        room = int(await store.database.read(lambda connection: connection.execute(asked).scalar_one()))
    except PostroomError as error:
        return Finding("connections", False, error.message, "check database_url and that the server runs")
    finally:
        await store.database.close()
    told = f"{each} per process at most, {room} on the server: room for {room // each} processes"
    advice = "" if room >= each else "raise max_connections, or lower postgres.pool_size and postgres.other_pool_size"
    return Finding("connections", room >= each, told, advice)


async def _redis(settings: Settings) -> Finding:
    from redis.asyncio import Redis
    from redis.exceptions import RedisError

    client = Redis.from_url(settings.redis_url.reveal(), socket_connect_timeout=2.0)
    try:
        await client.ping()
        return Finding("redis", True, "answers")
    except (RedisError, OSError) as error:
        return Finding("redis", False, type(error).__name__, "check redis_url and that the server runs")
    finally:
        await client.aclose()


async def _channels(settings: Settings) -> list[Finding]:
    if settings.in_sandbox:
        return [Finding("channels", True, "sandbox: no credentials are set, nothing leaves this machine")]
    channels = build_channels(settings, None)
    findings = [
        Finding(name, True, "no credentials are set, so it cannot be used")
        for name in sorted(KNOWN_CHANNELS - channels.keys())
    ]
    for channel in channels.values():
        findings.append(await _probe(channel))
        await channel.close()
    return findings


async def _probe(channel: Channel | Probe) -> Finding:
    name = getattr(channel, "name", "channel")
    try:
        who = await channel.probe(_PROBE_SECONDS)  # type: ignore[union-attr]  # both of ours can tell
        return Finding(name, True, f"we are {who}")
    except PostroomError as error:
        return Finding(name, False, error.message, f"check the credentials of {name}")
