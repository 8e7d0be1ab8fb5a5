"""Files of messages that are still to be sent: are their bytes there?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import aiohttp
from sqlalchemy import Connection, text
from sqlalchemy.exc import ArgumentError

from postroom.butlers.store import appointments_set_aside, sessions_set_aside
from postroom.delivery.files.folder import FolderFiles, waiting_files
from postroom.delivery.workers import living
from postroom.household.attention import attention_findings
from postroom.household.channels import account_channel, build_channels, section_name
from postroom.household.people import PeopleFindings, look_through_people, owner_seed
from postroom.household.store import connect_store, connected
from postroom.kernel.database.schema import about_newer, about_unreleased, is_newer, is_unreleased, newest, revision
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.errors import PostroomError, SettingsError, UserError
from postroom.kernel.values.fields import web_address
from postroom.kernel.values.ids import parse_text, seconds
from postroom.kernel.values.zones import relative
from postroom.message.attachment import attachments_of_text
from postroom.message.channel import Channel, Probe
from postroom.settings import Settings
from postroom.settings.accounts import Account, Surroundings, channel_kind
from postroom.settings.roster import ButlerConfig, port_for
from postroom.settings.written import SHIPPED

_MOST_NAMED = 5
_ADVICE = "restore the folder of [messages] files from the backup that belongs to this database"


async def look_at_attached_files(settings: Settings) -> list[Finding]:
    """Nothing to say while no message with files waits, or when the database is another finding's business."""
    if settings.has_no_file_yet:
        return []
    try:
        async with connected(settings) as store:
            return await _missing(store.database.read(waiting_files), store.files)
    except PostroomError as error:
        return [Finding("files", False, error.message, "check [messages] files and what it points to")]
    except Exception:  # whatever a driver raises
        return []


async def _missing(waiting: Awaitable[Sequence[tuple[str, str]]], files: FolderFiles) -> list[Finding]:
    rows = await waiting
    found = [(one, file) for one, text in rows for file in attachments_of_text(text)]
    gone = [f"{file.name} of delivery {one}" for one, file in found if not await files.holds(file)]
    if gone:
        more = f" and {len(gone) - _MOST_NAMED} more" if len(gone) > _MOST_NAMED else ""
        return [Finding("files", False, f"bytes are missing: {', '.join(gone[:_MOST_NAMED])}{more}", _ADVICE)]
    return [Finding("files", True, f"{len(found)} of messages that wait, all there")] if found else []


# The providers: do they know us, and do we know whom to write to?


_PROBE_SECONDS = 10.0


async def look_at_channels(settings: Settings) -> list[Finding]:
    """Asks each account who we are, or logs in; sends nothing."""
    if settings.in_sandbox:
        return [Finding("channels", True, "sandbox: no credentials are set, nothing leaves this machine")]
    accounts = settings.accounts
    findings = [
        Finding(name, True, "not set up, so it cannot be used", f"to use it, set {channel_kind(name).credentials}")
        for name in sorted(SHIPPED)
        if name not in {one.name for one in accounts}
    ]
    if not accounts:
        findings.append(
            Finding("channels", False, "no sandbox and no credentials", "set one of them, or drop --no-sandbox")
        )
    return findings + await asyncio.gather(*(_look_at(one, settings.home) for one in accounts))


async def _look_at(account: Account, home: Path) -> Finding:
    try:
        channel = account_channel(account, Surroundings(home=home))
    except SettingsError as error:
        return Finding(account.name, False, str(error), "mend that setting, or the variable it comes from")
    try:
        return await _probe(account, channel)
    finally:
        await channel.close()


async def _probe(account: Account, channel: Channel) -> Finding:
    if not isinstance(channel, Probe):
        return Finding(account.name, True, "set up; it cannot tell whether its credentials work")
    try:
        who = await channel.probe(_PROBE_SECONDS)
    except PostroomError as error:
        return Finding(account.name, False, error.message, f"check {_where(account)}")
    return Finding(account.name, True, f"we are {who}")


def _where(account: Account) -> str:
    section = section_name(account)
    return channel_kind(account.kind).credentials if section in SHIPPED else f"[{section}]"


def look_at_owner(settings: Settings, known_on: Sequence[str] = ()) -> list[Finding]:
    """
    In the sandbox there is always somebody to write to; channels that cannot be made have a finding of their own.

    `known_on`: the channels of the addresses that were given later than by the settings.
    """
    if settings.in_sandbox:
        return []
    try:
        channels = build_channels(settings, None)
    except SettingsError:
        return []
    places = {*known_on, *(one.channel for one in owner_seed(settings).addresses)}
    reached = [name for name in channels if name in places]
    if reached:
        return [Finding("owner", True, f"is reached by {' and '.join(reached)}")]
    advice = "`postroom people edit owner --address CHANNEL:ADDRESS`, or every message must name its recipient"
    return [Finding("owner", False, "has no address on any channel that is set up", advice)]


# One line of the doctor's report: well, or what to do about it.


@dataclass(frozen=True, slots=True)
class Finding:
    """Advice may stand beside something that is well: then it is only worth knowing."""

    subject: str
    ok: bool
    detail: str
    advice: str = ""


# The background work of a running household: does any of it fail?


_SECONDS = 2.0
_LOOPS_ADVICE = "it is tried again by itself; the log says where it failed (loop.failed)"


async def look_at_loops(settings: Settings, roster: Iterable[ButlerConfig]) -> list[Finding]:
    """Every part tells of its whole process, so what several of them say is one finding."""
    ports = {config.name: port_for(settings, config) for config in roster} | {"api": settings.ports.api}
    told = await asyncio.gather(*(_health(settings.host, part, port) for part, port in ports.items() if port))
    found = {(one["loop"], one["since"]): one for health in told for one in _failing(health)}
    return [_finding(one) for one in found.values()]


async def _health(host: str, part: str, port: int) -> Any:
    """None from a part that does not run, or from another program on its port."""
    timeout = aiohttp.ClientTimeout(total=_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"{web_address(host, port)}/health") as response,
        ):
            answer = await response.json(content_type=None)
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return None
    return answer if isinstance(answer, Mapping) and answer.get("part") == part else None


def _failing(health: Any) -> Iterator[Mapping[str, Any]]:
    loops = health.get("loops") if isinstance(health, Mapping) else None
    for one in loops if isinstance(loops, list) else ():
        if isinstance(one, Mapping) and {"loop", "error", "since", "failures"} <= one.keys():
            yield one


def _finding(one: Mapping[str, Any]) -> Finding:
    times = "time" if one["failures"] == 1 else "times"
    first = relative(parse_text(one["since"]), SystemClock().now_us())
    detail = f"has failed {one['failures']} {times} in a row, first {first} ({one['error']})"
    return Finding(f"loop {one['loop']}", False, detail, _LOOPS_ADVICE)


# Whether every notice is accounted for: the laws of attention, counted over all that is kept.


async def look_at_notices(settings: Settings) -> list[Finding]:
    try:
        found = await attention_findings(settings)
    except SettingsError as error:
        return [Finding("attention", False, str(error), "mend the section [attention] of the settings file")]
    except Exception:  # a database that cannot be read is another finding's business
        return []
    if found is None:
        return []
    return [_accounted(found.unaccounted), *_notices_missing(found.missing)]


def _accounted(broken: tuple[str, ...]) -> Finding:
    if not broken:
        return Finding("attention", True, "every notice is accounted for")
    named = "; ".join(broken[:_MOST_NAMED])
    advice = "tell the authors, with what `postroom why` says of the notice"
    return Finding("attention", False, f"{len(broken)} notices are not accounted for: {named}", advice)


def _notices_missing(missing: tuple[str, ...]) -> list[Finding]:
    advice = "add the person again, or name another in the settings or with `postroom attention set`"
    named = "; ".join(missing[:_MOST_NAMED])
    return [Finding("attention", False, f"policies name people who are not there: {named}", advice)] if missing else []


# People whom the database knows better than the settings file, addresses that lead nowhere, and those not proved.


_PEOPLE_MOST_NAMED = 10
_MENDED = "it is tried again by itself; nothing that people write meanwhile is lost"


async def look_at_people(settings: Settings) -> list[Finding]:
    found = await _looked_through(settings)
    return [*_overruled(found), *_unreachable(found), *_closed(found), *_deaf(found)] if found else []


async def look_at_proofs(settings: Settings) -> list[Finding]:
    found = await _looked_through(settings)
    return _unproved(found) if found else []


async def owner_channels(settings: Settings) -> Sequence[str]:
    """Where the database knows the owner; the settings file may know nothing of it."""
    found = await _looked_through(settings)
    return found.owner_on if found else []


async def _looked_through(settings: Settings) -> PeopleFindings | None:
    """A database that cannot be read is another finding's business."""
    try:
        return await look_through_people(settings, _PEOPLE_MOST_NAMED + 1)
    except Exception:  # whatever a driver raises
        return None


def _overruled(found: PeopleFindings) -> list[Finding]:
    if not found.overruled:
        return []
    named = _some([f"{one.name} ({', '.join(one.fields)})" for one in found.overruled])
    detail = f"changed in the database, so the settings file has no say: {named}"
    return [Finding("people", True, detail, "bring the settings file in line, or see `postroom people show NAME`")]


def _unreachable(found: PeopleFindings) -> list[Finding]:
    if not found.unreachable:
        return []
    named = _some([f"{name} (on {channel})" for name, channel in found.unreachable])
    detail = f"have an address on a channel that is not set up: {named}"
    return [Finding("people", True, detail, "set the channel up, or take the address away with `postroom people edit`")]


def _closed(found: PeopleFindings) -> list[Finding]:
    advice = "`postroom people edit WHO --reopen CHANNEL:ADDRESS` forgets what came back"
    told = {
        "written to no more": [one for one in found.closed if one.is_closed],
        "doubtful, though verified and still written to": [one for one in found.closed if not one.is_closed],
    }
    named = {what: [f"{one.address} on {one.channel} ({one.sentence})" for one in some] for what, some in told.items()}
    return [Finding("addresses", True, f"{what}: {_some(some)}", advice) for what, some in named.items() if some]


def _deaf(found: PeopleFindings) -> list[Finding]:
    now_us = SystemClock().now_us()
    return [
        Finding(one.channel, False, f"hears nothing since {relative(one.since_us, now_us)}: {one.sentence}", _MENDED)
        for one in found.deaf
    ]


def _unproved(found: PeopleFindings) -> list[Finding]:
    if not found.unproved:
        return []
    detail = f"have no verified address, so what they answer decides nothing: {_some(found.unproved)}"
    return [Finding("people", True, detail, "`postroom pair NAME --channel CHANNEL` shows a code they send to the bot")]


def _some(names: Sequence[str]) -> str:
    more = " and others" if len(names) > _PEOPLE_MOST_NAMED else ""
    return ", ".join(names[:_PEOPLE_MOST_NAMED]) + more


# The database and Redis: do they answer, and are they as new as we are?


_REDIS_SECONDS = 2.0


async def look_at_database(settings: Settings) -> Finding:
    """Leaves no trace: a file that is not there yet is not made."""
    is_file = settings.sqlite_file is not None
    if settings.has_no_file_yet:
        return Finding("database", True, f"{settings.sqlite_file} will be made by `postroom up`")
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


_ROOM = text(
    "SELECT sum(CASE name WHEN 'max_connections' THEN setting::int ELSE -setting::int END) FROM pg_settings "
    "WHERE name IN ('max_connections', 'superuser_reserved_connections')"
)


def _connection_room(connection: Connection) -> int:
    return int(connection.execute(_ROOM).scalar_one())


async def look_at_connections(settings: Settings) -> list[Finding]:
    """How many processes such as this one the server has room for; another finding says if it is away."""
    if settings.sqlite_file is not None:
        return []
    try:
        async with connected(settings) as store:
            room = await store.database.read(_connection_room)
    except Exception:  # whatever a driver raises, another finding has it
        return []
    each = settings.postgres.most_connections
    told = f"{each} per process at most, {room} on the server: room for {room // each} processes"
    advice = "" if room >= each else "raise max_connections, or lower postgres.pool_size and postgres.other_pool_size"
    return [Finding("connections", room >= each, told, advice)]


async def look_at_workers(settings: Settings) -> list[Finding]:
    """Which processes send; on SQLite that is `postroom up` alone."""
    if settings.sqlite_file is not None:
        return []
    try:
        async with connected(settings) as store:
            found = await store.database.read(partial(living, now_us=SystemClock().now_us()))
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


# What butlers could not do because of what stands in the database.


_BUTLERS_SECONDS: Final = 7 * 86_400
_BUTLERS_MOST_NAMED: Final = 5
_BUTLERS_ADVICE: Final = "order it again; a disk or a program that changes the database from outside may be the cause"


async def look_at_butlers(settings: Settings) -> list[Finding]:
    """Nothing to say where all can be read, or when the database is another finding's business."""
    if settings.has_no_file_yet:
        return []
    since_us = SystemClock().now_us() - seconds(_BUTLERS_SECONDS)

    def work(connection: Connection) -> list[str]:
        return [
            *appointments_set_aside(connection, since_us),
            *sessions_set_aside(connection, since_us),
        ]

    try:
        async with connected(settings) as store:
            found = await store.database.read(work)
    except Exception:  # whatever a driver raises
        return []
    if not found:
        return []
    more = f" and {len(found) - _BUTLERS_MOST_NAMED} more" if len(found) > _BUTLERS_MOST_NAMED else ""
    named = ", ".join(found[:_BUTLERS_MOST_NAMED])
    return [Finding("butlers", False, f"could not be read and was set aside: {named}{more}", _BUTLERS_ADVICE)]
