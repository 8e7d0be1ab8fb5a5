"""`postroom login`: a link that opens the console, once."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from postroom.cli.output import Database, Home, Json, say, say_json
from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.guard.tokens import TokenFile
from postroom.settings import Settings, SettingsError
from postroom.settings.load import from_process

As = Annotated[str | None, typer.Option("--as", help="Sign in as this user, who sees only what is theirs.")]
End = Annotated[bool, typer.Option("--end", help="Instead, sign this person out everywhere.")]


def login(name: As = None, end: End = False, home: Home = None, database: Database = None, json: Json = False) -> None:
    """Print a link that signs you in to the console; it works once, for ten minutes."""
    settings, _ = from_process({"home": home, "database_url": database})
    principal = _principal(name)
    if end:
        many = asyncio.run(_end(settings, principal))
        say_json({"ended": many}) if json else say(f"{principal} was signed out {many} time{'' if many == 1 else 's'}.")
        return
    link = asyncio.run(_link(settings, principal))
    say_json({"principal": str(principal), "url": link}) if json else say(link)


async def _link(settings: Settings, principal: Principal) -> str:
    from postroom.app.sign_in import sign_in_link
    from postroom.app.store import open_store
    from postroom.clock import SystemClock

    if not settings.url and settings.ports.api == 0:
        raise SettingsError("ports.api is 0, so only the household knows its port: use the link `postroom up` prints.")
    TokenFile(settings.tokens_file).ensure([principal])  # what the console does for a person, it does in their name
    async with open_store(settings) as store:
        return await sign_in_link(store.database, settings.api_url, principal, SystemClock().now_us())


async def _end(settings: Settings, principal: Principal) -> int:
    from postroom.app.store import open_store
    from postroom.clock import SystemClock
    from postroom.store.console_sessions import StoredConsoleSessions

    async with open_store(settings) as store:
        return await StoredConsoleSessions(store.database).end_all(principal, SystemClock().now_us())


def _principal(name: str | None) -> Principal:
    if name is None:
        return OPERATOR
    if not name.strip() or name.strip() == OPERATOR.name:
        raise SettingsError("--as names a user; without it you sign in as the operator.")
    return Principal(Role.USER, name.strip())
