"""`postroom up`: run a household until told to stop."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from postroom.cli.output import Database, Home, Redis, Roster, say
from postroom.cli.progress import bar
from postroom.domain.errors import StoreUnavailable
from postroom.domain.nearest import did_you_mean
from postroom.domain.principal import Principal, Role
from postroom.domain.settings_error import SettingsError
from postroom.doors.guard.tokens import TokenFile
from postroom.system.settings import Settings
from postroom.system.settings.load import from_process

if TYPE_CHECKING:
    from postroom.app.running_household import RunningHousehold
    from postroom.system.roster.config import ButlerConfig

_OF_A_WORKER: Final = (
    "  This is a delivery worker: it sends what the household has stored, beside `postroom up` and other workers.",
    "  It has no port and no page; `postroom doctor` and the console's Health name it while it lives.",
    "",
)
_SHOW_TOKEN: Final = "$(postroom token show --butler health)"  # noqa: S105  # a command, not a secret
Only = Annotated[
    list[str] | None, typer.Option("--only", help="Run only this part; may be repeated or comma-separated.")
]


def up(
    home: Home = None,
    database: Database = None,
    redis: Redis = None,
    roster: Roster = None,
    only: Only = None,
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on.")] = None,
    no_sandbox: Annotated[bool, typer.Option("--no-sandbox", help="Never pretend: real providers only.")] = False,
) -> None:
    """Run a household: switchboard, butlers, messenger, API and, without credentials, the sandbox."""
    from postroom.app.parts import parts_of
    from postroom.doors.butler.modules.credentials import with_credentials
    from postroom.system.roster.load import load_roster

    overrides: dict[str, Any] = {
        "home": home,
        "database_url": database,
        "redis_url": redis,
        "roster": roster,
        "host": host,
        "sandbox": False if no_sandbox else None,
    }
    settings, _ = from_process(overrides)
    butlers = load_roster(settings, os.environ)
    settings = with_credentials(settings, butlers, os.environ)
    _run(settings, butlers, _parts(parts_of(settings, butlers), only))


def worker(home: Home = None, database: Database = None, redis: Redis = None, roster: Roster = None) -> None:
    """
    Add a delivery worker to a household on PostgreSQL: one more process that sends what is stored.

    It has no port and no page, and needs the household's settings, credentials and tokens; `postroom up` has all the
    rest, and sends, too. Start as many as you like, on any machine, and stop each at any time.
    """
    from postroom.doors.butler.modules.credentials import with_credentials
    from postroom.system.roster.load import load_roster

    settings, _ = from_process({"home": home, "database_url": database, "redis_url": redis, "roster": roster})
    if settings.database.startswith("sqlite"):
        raise SettingsError(
            "postroom worker needs PostgreSQL (POSTROOM_DATABASE_URL): "
            "a SQLite household has one worker, in `postroom up`."
        )
    butlers = load_roster(settings, os.environ)
    _run(with_credentials(settings, butlers, os.environ), butlers, ("worker",))


def _parts(known: tuple[str, ...], only: list[str] | None) -> tuple[str, ...]:
    chosen = [name.strip() for item in only or [] for name in item.split(",") if name.strip()]
    for name in chosen:
        if name not in known:
            raise SettingsError(
                f"--only: there is no part '{name}'{did_you_mean(name, known)} Parts: {', '.join(known)}."
            )
    return tuple(part for part in known if not chosen or part in chosen)


def _run(settings: Settings, roster: Sequence[ButlerConfig], parts: Sequence[str]) -> None:
    import uvloop

    from postroom.system.garbage import collect_less_often
    from postroom.system.serving.connections import raise_descriptor_limit
    from postroom.system.telemetry import log, trace

    raise_descriptor_limit()
    collect_less_often()
    log.configure_log(settings.telemetry.log_level)
    endpoint = settings.telemetry.otlp_endpoint
    provider = trace.configure_tracing(trace.otlp_exporter(endpoint) if endpoint else None)
    uvloop.run(_until_signalled(settings, roster, parts))
    provider.shutdown()


async def _until_signalled(settings: Settings, roster: Sequence[ButlerConfig], parts: Sequence[str]) -> None:
    from postroom.app.household import running

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        with bar("Starting the household"):  # the first time its database is made, and after an update changed
            household = await stack.enter_async_context(running(settings, parts, roster, os.environ))
        in_private = sys.stdout.isatty()  # what a journal or a file keeps, others may read later
        link = None
        with suppress(StoreUnavailable):  # the household waits for it; `postroom login` prints a link afterwards
            link = await household.sign_in() if household.sign_in and in_private else None
        for line in announcement(household, link, in_private=in_private):
            say(line)
        await stop.wait()
        say("Stopping: sessions may finish for 30 seconds, and what is being sent is finished …")
    say("Stopped.")


def announcement(household: RunningHousehold, link: str | None, *, in_private: bool) -> list[str]:
    """With secrets only for the eyes of the person who started it; otherwise with the commands that print them."""
    settings = household.settings
    lines = ["", "Postroom is up.", ""]
    if household.parts == ("worker",):
        return [*lines, *_OF_A_WORKER, f"  data         {settings.home}", "", "  Ctrl-C stops."]
    lines += [f"  {part:<13}{address}" for part, address in household.addresses.items()]
    lines += ["", f"  data         {settings.home}", f"  tokens       {settings.tokens_file}", ""]
    if link:
        lines += [
            "  The console (this link works once, for ten minutes; `postroom login` makes another):",
            f"  {link}",
            "",
        ]
    elif household.sign_in:
        lines += ["  The console: `postroom login` prints a link.", ""]
    if settings.in_sandbox:
        lines += _in_sandbox(household)
    if url := household.addresses.get("health"):
        health = Principal(Role.BUTLER, "health")
        token = TokenFile(settings.tokens_file).token_of(health) if in_private else _SHOW_TOKEN
        lines += [
            "  Connect a coding agent by `postroom connect claude` (codex, gemini …), or any MCP client by hand:",
            f'  claude mcp add --transport http postroom {url} --header "Authorization: Bearer {token}"',
            "",
        ]
    return [*lines, "  Ctrl-C stops."]


def _in_sandbox(household: RunningHousehold) -> list[str]:
    from postroom.app.known_channels import configured_channels

    played, url = configured_channels(household.settings), household.addresses.get("sandbox")
    return [
        "  SANDBOX: no provider credentials are set, so nothing leaves this machine.",
        f"  It plays {', '.join(played)}.",
        *([f"  Your phone and your mailbox: {url}"] if url else []),
        "",
    ]
