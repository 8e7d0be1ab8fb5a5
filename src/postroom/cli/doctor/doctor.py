"""`postroom doctor`: what is well, what is not, and what to do about it."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import stat
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path

import aiohttp
import typer
from sqlalchemy import text

from postroom.butlers.loading import check_modules, with_credentials
from postroom.cli.doctor.checks import (
    Finding,
    look_at_attached_files,
    look_at_butlers,
    look_at_channels,
    look_at_connections,
    look_at_database,
    look_at_loops,
    look_at_notices,
    look_at_owner,
    look_at_people,
    look_at_proofs,
    look_at_redis,
    look_at_workers,
    owner_channels,
)
from postroom.household.butlers import cannot_answer
from postroom.household.store import connected
from postroom.kernel.running.terminal import Database, Home, Json, Redis, Roster, bar, say, say_json
from postroom.kernel.serving.servers import PortTaken, bind
from postroom.kernel.values.fields import web_address
from postroom.sandbox.mail import BANNER
from postroom.settings import Settings
from postroom.settings.listeners import where_set
from postroom.settings.load import from_process
from postroom.settings.roster import ButlerConfig, RosterError, load_roster, port_for
from postroom.settings.written import SHIPPED


def doctor(
    home: Home = None, database: Database = None, redis: Redis = None, roster: Roster = None, json: Json = False
) -> None:
    """Check Python, files, ports, loops, database, Redis, credentials, clock and display; exits with 1 on a problem."""

    settings, _ = from_process({"home": home, "database_url": database, "redis_url": redis, "roster": roster})
    with bar("Looking", quiet=json):
        findings = asyncio.run(examine(settings, os.environ))
    if json:
        say_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            advice = f"  → {finding.advice}" if finding.advice else ""
            say(f"{'ok     ' if finding.ok else 'problem'}  {finding.subject}: {finding.detail}{advice}")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


# This machine's clock, held against the clocks of whatever it works with.


MOST_SECONDS = 5.0  # words that are dated longer than this before a question do not answer it
_SECONDS = 5.0


async def look_at_clock(settings: Settings) -> list[Finding]:
    """Whoever cannot be asked is left out: that is another finding's business."""
    asked: dict[str, Callable[[Settings], Awaitable[float | None]]] = {}
    if settings.sqlite_file is None:
        asked["PostgreSQL"] = _of_database
    if settings.redis_url:
        asked["Redis"] = _of_redis
    if not settings.in_sandbox:
        clocks = (getattr(settings, name).clock for name in SHIPPED)
        asked |= {whose: partial(_of_answer, url) for whose, url in filter(None, clocks)}
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
        async with connected(settings) as store:
            return await store.database.read(
                lambda connection: float(connection.execute(text("SELECT extract(epoch FROM now())")).scalar_one())
            )
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


async def _of_answer(url: str, _: Settings) -> float | None:
    """By its Date; what is asked for is the server's own page, never one with a credential."""
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_SECONDS)) as session,
            session.head(url, allow_redirects=False) as response,
        ):
            return parsedate_to_datetime(response.headers["Date"]).timestamp()
    except (aiohttp.ClientError, TimeoutError, ValueError, KeyError):
        return None


# The screen: could a popup be shown here?


_DISPLAY_SECONDS = 10.0
# In a process of its own: a display that does not answer would hold up this one. The window is never shown.
_TRY = "import tkinter; root = tkinter.Tk(); root.withdraw(); root.destroy()"


async def look_at_display() -> Finding:
    """Only `postroom desk` needs one, so there is no problem without it."""
    told = await _error()
    if told is None:
        return Finding("display", True, "popups can be shown")
    if "tkinter" in told and "No module" in told:
        return Finding("display", True, "no popups: Python has no tkinter", "apt install python3-tk")
    advice = "only `postroom desk` needs a display; run it in the person's own session"
    return Finding("display", True, "no popups: there is no display here", advice)


async def _error() -> str | None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _TRY,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, errors = await asyncio.wait_for(process.communicate(), _DISPLAY_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
        return "the display does not answer"
    return None if process.returncode == 0 else errors.decode(errors="replace")


# The whole examination: every finding is well, or says what to do.


async def examine(settings: Settings, environment: Mapping[str, str]) -> list[Finding]:
    roster, about_roster = look_at_roster(settings, environment)
    settings = with_credentials(settings, roster, environment)
    return [
        look_at_python(),
        *look_at_files(settings),
        about_roster,
        *await look_at_ports(settings, roster),
        *await look_at_loops(settings, roster),
        await look_at_database(settings),
        *await look_at_connections(settings),
        *await look_at_workers(settings),
        *await look_at_redis(settings),
        *await look_at_attached_files(settings),
        *await look_at_butlers(settings),
        look_at_models(roster, environment),
        *await look_at_channels(settings),
        *look_at_owner(settings, await owner_channels(settings)),
        *await look_at_people(settings),
        *await look_at_proofs(settings),
        *await look_at_notices(settings),
        *await look_at_clock(settings),
        await look_at_display(),
    ]


def look_at_python() -> Finding:
    fine = sys.version_info >= (3, 11)
    return Finding("python", fine, platform.python_version(), "" if fine else "install Python 3.11 or newer")


def look_at_models(roster: Sequence[ButlerConfig], environment: Mapping[str, str]) -> Finding:
    """A household whose people only get messages needs none."""
    if why := cannot_answer(roster, environment):
        advice = "to have one, install the program that [runtime] type in its butler.toml names, and set its key"
        return Finding("models", True, why, advice)
    return Finding("models", True, "a butler can answer people")


def look_at_roster(settings: Settings, environment: Mapping[str, str]) -> tuple[tuple[ButlerConfig, ...], Finding]:
    try:
        roster = load_roster(settings, environment)
        for config in roster:
            check_modules(config)
    except RosterError as error:
        return (), Finding("roster", False, str(error), "mend that file, or choose another folder with --roster")
    return roster, Finding("roster", True, ", ".join(config.name for config in roster))


# The data directory: can we write there, and can nobody else read it?


def look_at_files(settings: Settings) -> list[Finding]:
    return [_home(settings.home), *_private_files(settings)]


def _home(home: Path) -> Finding:
    if not home.exists():
        above = next(parent for parent in home.parents if parent.exists())
        if not os.access(above, os.W_OK | os.X_OK):
            return Finding("home", False, f"{home} cannot be made in {above}", "choose another with --home")
        return Finding("home", True, f"{home} will be made by `postroom up`")
    if not home.is_dir():
        return Finding("home", False, f"{home} is not a directory", "choose another with --home")
    if not os.access(home, os.W_OK | os.X_OK):
        return Finding("home", False, f"{home} cannot be written to", f"chown it to user {os.getuid()}, or use --home")
    return Finding("home", True, str(home))


def _private_files(settings: Settings) -> Iterator[Finding]:
    """A directory that others may not enter protects what is in it; a file must not rely on that."""
    yield _private("tokens", settings.tokens_file, "none yet; `postroom up` makes them")
    secrets = settings.home / "secrets.toml"
    if secrets.exists():
        yield _private("secrets", secrets, "")
    if (file := settings.sqlite_file) and file.exists():
        yield _private("database file", file, "")


def _private(subject: str, file: Path, if_missing: str) -> Finding:
    if not file.exists():
        return Finding(subject, True, if_missing)
    if not os.access(file, os.R_OK | os.W_OK):
        return Finding(subject, False, f"{file} cannot be read and written", f"chown it to user {os.getuid()}")
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & 0o077:
        return Finding(subject, False, f"{file} is open to others (mode {mode:04o})", f"chmod 600 {file}")
    return Finding(subject, True, f"{file}, readable by you alone")


# The ports: free, held by this household or another, or taken by another program.


_PORTS_SECONDS = 2.0
_MAIL = ("sandbox_smtp", "sandbox_imap")


async def look_at_ports(settings: Settings, roster: Iterable[ButlerConfig]) -> list[Finding]:
    wanted = _wanted(settings, roster)
    return list(await asyncio.gather(*(_look(settings, part, port) for part, port in wanted.items())))


def _wanted(settings: Settings, roster: Iterable[ButlerConfig]) -> Mapping[str, int]:
    others = ["api", "chatgpt", "gemini", *(["sandbox", *_MAIL] if settings.in_sandbox else [])]
    butlers = {config.name: port_for(settings, config) for config in roster}
    return butlers | {name: getattr(settings.ports, name) for name in others}


async def _look(settings: Settings, part: str, port: int) -> Finding:
    subject = f"port {port}" if port else "port"
    try:
        bind(part, settings.host, port).close()
    except PortTaken:
        return _taken(subject, part, await _whose(settings, part, port), settings.household_id)
    return Finding(subject, True, f"free for {part}" if port else f"the system will choose one for {part}")


def _taken(subject: str, part: str, whose: str | None, ours: str) -> Finding:
    if whose == ours:
        return Finding(subject, True, f"{part} is running there")
    holder = "taken by another program" if whose is None else "held by another household"
    advice = f"stop what listens there, or set another port {where_set(part)}"
    return Finding(subject, False, f"{holder}, wanted for {part}", advice)


async def _whose(settings: Settings, part: str, port: int) -> str | None:
    """The household that holds the port; '' for one too old to say so, None for another program."""
    if part not in _MAIL:
        return await household_at(settings.host, port, part)
    if not await _is_our_mail(settings.host, port):
        return None
    return await household_at(settings.host, settings.ports.sandbox, "sandbox") or ""  # they run together


async def household_at(host: str, port: int, part: str) -> str | None:
    """Whose part that is; None when it is not one."""
    timeout = aiohttp.ClientTimeout(total=_PORTS_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"{web_address(host, port)}/health") as response,
        ):
            answer = json.loads(await response.text())
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return None
    is_part = isinstance(answer, dict) and (answer.get("part") == part or (part == "sandbox" and "sandbox" in answer))
    return str(answer.get("household", "")) if is_part else None


async def _is_our_mail(host: str, port: int) -> bool:
    try:
        async with asyncio.timeout(_PORTS_SECONDS):
            reader, writer = await asyncio.open_connection(host, port)
            greeting = await reader.readline()
            writer.close()
    except (OSError, TimeoutError, ValueError):
        return False
    return BANNER.encode() in greeting
