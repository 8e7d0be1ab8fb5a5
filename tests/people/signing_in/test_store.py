"""Links people ask for: the limits hold also for those that are asked for at the same moment."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import func, select

from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import Principal, Role
from postroom.people.model import PersonRole
from postroom.people.signing_in.rules import MOST_OF_SENDER, MOST_OPEN, LinkWish, SignIn, SignInWay
from postroom.people.signing_in.store import StoredSignInLinks, console_links
from postroom.people.store.people import StoredPeople

WISH = LinkWish(
    sign_in=SignIn(principal=Principal(Role.PERSON, "ann"), token_ids=(), way=SignInWay.LINK),
    channel="telegram",
    address="7",
)


@pytest.fixture
async def database(database: Database) -> Database:
    await StoredPeople(database, IdMint().mint, ()).admit({"ann": PersonRole.MEMBER}, now_us=1)
    return database


async def links(database: Database) -> int:
    asked = select(func.count()).select_from(console_links)
    return int(await database.read(lambda connection: connection.execute(asked).scalar_one()))


@pytest.mark.requirement("side:link-limits")
async def test_many_who_ask_for_one_person_at_once_get_no_more_than_one_who_asks_in_turn(database: Database) -> None:
    store = StoredSignInLinks(database, IdMint().mint)

    await asyncio.gather(
        *(store.ask(WISH, sender=f"192.0.2.{one}", browser="b" * 43, now_us=10**15) for one in range(MOST_OF_SENDER))
    )

    assert await links(database) == MOST_OPEN
