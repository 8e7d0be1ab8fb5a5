"""`postroom login`: a link that opens the console, once."""

from __future__ import annotations

import asyncio
import shlex
from typing import Annotated

import typer

from postroom.cli.output import Database, Home, Json, say, say_json
from postroom.domain.nearest import did_you_mean
from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.doors.guard.tokens import TokenFile
from postroom.system.settings import Settings, SettingsError
from postroom.system.settings.load import from_process

As = Annotated[str | None, typer.Option("--as", help="Sign in as this person, who sees only what is theirs.")]
End = Annotated[bool, typer.Option("--end", help="Instead, sign this person out everywhere.")]


def login(name: As = None, end: End = False, home: Home = None, database: Database = None, json: Json = False) -> None:
    """Print a link that signs you in to the console; it works once, for ten minutes."""
    settings, _ = from_process({"home": home, "database_url": database})
    tokens = TokenFile(settings.tokens_file)
    principal = _principal(name, tokens)
    if end:
        many = asyncio.run(_end(settings, principal))
        say_json({"ended": many}) if json else say(f"{principal} was signed out {many} time{'' if many == 1 else 's'}.")
        return
    link = asyncio.run(_link(settings, tokens, principal))
    say_json({"principal": str(principal), "url": link}) if json else say(link)


async def _link(settings: Settings, tokens: TokenFile, principal: Principal) -> str:
    from postroom.app.store import open_store
    from postroom.doors.console.sign_in_link import sign_in_link
    from postroom.system.clock import SystemClock
    from postroom.world.store.shared.console_sessions import StoredConsoleSessions

    if not settings.url and settings.ports.api == 0:
        raise SettingsError("ports.api is 0, so only the household knows its port: use the link `postroom up` prints.")
    if principal == OPERATOR:
        tokens.ensure([OPERATOR])  # before the first start there is none
    async with open_store(settings) as store:
        links = StoredConsoleSessions(store.database)
        return await sign_in_link(links, tokens, settings.api_url, principal, SystemClock().now_us())


async def _end(settings: Settings, principal: Principal) -> int:
    from postroom.app.store import open_store
    from postroom.system.clock import SystemClock
    from postroom.world.store.shared.console_sessions import StoredConsoleSessions

    async with open_store(settings) as store:
        return await StoredConsoleSessions(store.database).end_all(principal, SystemClock().now_us())


def _principal(name: str | None, tokens: TokenFile) -> Principal:
    """What the console does for a person it does with that person's token, so there must be one."""
    if name is None:
        return OPERATOR
    name = name.strip()
    if not name or name == OPERATOR.name:
        raise SettingsError("--as names a person; without it you sign in as the owner.")
    callers = tokens.principals()
    for role in (Role.PERSON, Role.USER):
        if (one := Principal(role, name)) in callers:
            return one
    people = [one.name for one in callers if one.role in (Role.PERSON, Role.USER)]
    raise SettingsError(
        f"There is no person '{name}' with a token{did_you_mean(name, people)} "
        f"To make one: postroom token create --person {shlex.quote(name)}"
    )
