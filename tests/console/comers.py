"""People who sign in: made in the household's book, invited, and led in without a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from postroom.household.people import build_admissions
from postroom.household.store import connect_store
from postroom.kernel.database.engine import Database
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OPERATOR
from postroom.people.model import NewPerson, Person, PersonAddress, PersonRole
from postroom.people.signing_in.admission import Admissions
from tests.console.http import Caller
from tests.household.living import Living


@asynccontextmanager
async def admissions(home: Living) -> AsyncIterator[Admissions]:
    """As another process has them: what it changes must count at once."""
    store = connect_store(home.settings)
    try:
        yield build_admissions(home.settings, store, home.tokens, home.household.addresses["api"])
    finally:
        await store.database.close()


@asynccontextmanager
async def database(home: Living) -> AsyncIterator[Database]:
    store = connect_store(home.settings)
    try:
        yield store.database
    finally:
        await store.database.close()


async def person(
    home: Living, name: str, role: PersonRole = PersonRole.MEMBER, *, chat: str | None = None, verified: bool = True
) -> Person:
    now_us = SystemClock().now_us()
    proved = now_us if verified else None
    places = (PersonAddress(channel="telegram", address=chat, verified_at_us=proved),) if chat else ()
    new = NewPerson(name=name, role=role, addresses=places)
    async with admissions(home) as here:
        return await here.people.create(HOUSEHOLD_OWNER, new, source="test", now_us=now_us)


async def invitation(home: Living, one: Person) -> str:
    async with admissions(home) as here:
        await here.invite(one, str(OPERATOR), SystemClock().now_us())
        return await here.link(one, SystemClock().now_us())


async def let_in(home: Living, caller: Caller, one: Person) -> dict[str, str]:
    """The cookies of a person who was invited."""
    return await caller.sign_in(await invitation(home, one))


async def change_role(home: Living, one: Person, role: PersonRole) -> None:
    async with admissions(home) as here:
        await here.people.change(
            HOUSEHOLD_OWNER, one.id, lambda known: replace(known.as_written, role=role), now_us=SystemClock().now_us()
        )
