"""`postroom login`: a link that opens the console, once."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.noted import noted
from postroom.cli.output import Database, Home, Json, say, say_json
from postroom.domain.audit import AuditKind
from postroom.domain.nearest import did_you_mean
from postroom.domain.principal import OPERATOR, OWNER, Principal, Role
from postroom.domain.settings_error import SettingsError
from postroom.doors.guard.tokens import TokenFile
from postroom.system.settings import Settings
from postroom.system.settings.load import from_process

if TYPE_CHECKING:
    from postroom.app.store import OpenedStore
    from postroom.domain.person import Person

As = Annotated[
    str | None, typer.Option("--as", help="Invite this person, by name, alias or id, who sees only what is theirs.")
]
End = Annotated[bool, typer.Option("--end", help="Instead, sign this person out everywhere.")]


def login(name: As = None, end: End = False, home: Home = None, database: Database = None, json: Json = False) -> None:
    """Print a link that signs you in to the console; it works once, for ten minutes."""
    settings, _ = from_process({"home": home, "database_url": database})
    tokens = TokenFile(settings.tokens_file)
    principal = _principal(name, tokens)
    if end:
        principal, many = asyncio.run(_end(settings, principal, name, tokens))
        subject = "" if principal == OPERATOR else f"person:{principal.name}"
        noted(settings, AuditKind.ACCESS, "signed out everywhere", subject=subject)
        say_json({"ended": many}) if json else say(f"{principal} was signed out {many} time{'' if many == 1 else 's'}.")
        return
    principal, link = asyncio.run(_link(settings, tokens, principal, name))
    say_json({"principal": str(principal), "url": link}) if json else say(link)


async def _link(
    settings: Settings, tokens: TokenFile, principal: Principal | None, name: str | None
) -> tuple[Principal, str]:
    from postroom.app.store import open_store
    from postroom.doors.console.sign_in_link import sign_in_link
    from postroom.system.clock import SystemClock
    from postroom.world.store.shared.console_sessions import StoredConsoleSessions

    if not settings.url and settings.ports.api == 0:
        raise SettingsError("ports.api is 0, so only the household knows its port: use the link `postroom up` prints.")
    if principal == OPERATOR:
        tokens.ensure([OPERATOR])  # before the first start there is none
    async with open_store(settings) as store:
        now_us = SystemClock().now_us()
        if principal is None:
            return await _invited(settings, store, tokens, await _person(store, name or "", tokens), now_us)
        links = StoredConsoleSessions(store.database)
        return principal, await sign_in_link(links, tokens, settings.api_url, principal, now_us)


async def _invited(
    settings: Settings, store: OpenedStore, tokens: TokenFile, person: Person, now_us: int
) -> tuple[Principal, str]:
    """Who may run this is the owner, so it invites."""
    from postroom.app.sign_in import Admissions
    from postroom.domain.console_session import SignInWay, principal_of
    from postroom.domain.ids import IdMint
    from postroom.system.signal import Signal
    from postroom.work.people.may_sign_in import SIGNING_IN

    if person.role not in SIGNING_IN:
        raise SettingsError(
            f"{person.name} is a contact, who can be written to and does not sign in. To make a member of them: "
            f"postroom people edit {shlex.quote(person.name)} --role member"
        )
    admissions = Admissions(
        settings=settings, store=store, tokens=tokens, mint=IdMint(), base_url=settings.api_url, due=Signal()
    )
    await admissions.invite(person, str(OPERATOR), now_us, door="command")
    return principal_of(person.id), await admissions.link(person, now_us, way=SignInWay.TERMINAL)


async def _end(
    settings: Settings, principal: Principal | None, name: str | None, tokens: TokenFile
) -> tuple[Principal, int]:
    from postroom.app.store import open_store
    from postroom.domain.console_session import principal_of
    from postroom.system.clock import SystemClock
    from postroom.world.store.shared.console_sessions import StoredConsoleSessions

    async with open_store(settings) as store:
        whom = principal or principal_of((await _person(store, name or "", tokens)).id)
        return whom, await StoredConsoleSessions(store.database).end_all(whom, SystemClock().now_us())


def _principal(name: str | None, tokens: TokenFile) -> Principal | None:
    """Known by a token; None for one who must be looked up among the household's people."""
    if name is None or name.strip() == OWNER:
        return OPERATOR
    name = name.strip()
    if not name or name == OPERATOR.name:
        raise SettingsError("--as names a person; without it you sign in as the owner.")
    callers = tokens.principals()
    known = (Principal(role, name) for role in (Role.PERSON, Role.USER))
    return next((one for one in known if one in callers), None)


async def _person(store: OpenedStore, name: str, tokens: TokenFile) -> Person:
    from postroom.domain.agent_address import HOUSEHOLD_OWNER

    found: Sequence[Person] = await store.people.find(HOUSEHOLD_OWNER, name)
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(f"{one.name} ({one.id})" for one in found[:5])
        raise SettingsError(f"Several people are called '{name}': {listed}. Name one by id.")
    people = [one.name for one in tokens.principals() if one.role in (Role.PERSON, Role.USER)]
    raise SettingsError(
        f"There is no person '{name}' in the household, and none with a token{did_you_mean(name, people)} "
        f"To add one: postroom people add {shlex.quote(name)} --role member"
    )
