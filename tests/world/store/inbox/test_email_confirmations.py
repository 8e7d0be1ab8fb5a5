"""Links that confirm an address, on SQLite and PostgreSQL alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.clock import START_US
from tests.opened_database import KINDS, opened_database

from postroom.domain.email_confirmation import LINK_LIFE_SECONDS, MOST_A_DAY, AddressClaim, AskedToConfirm
from postroom.domain.email_copy import HandedOver, TryAgain
from postroom.domain.errors import ValidationError
from postroom.domain.ids import IdMint
from postroom.domain.time import seconds
from postroom.work.people.normalise import keys_of
from postroom.world.store.engine.database import Database
from postroom.world.store.inbox.email_confirmations import StoredConfirmations
from postroom.world.store.inbox.preferences import StoredPreferences
from postroom.world.store.people.people import StoredPeople
from postroom.world.store.tables.email_confirmations import email_confirmations

ADA = "ada@example.com"
LEASE_US = seconds(60)
LIFE_US = seconds(LINK_LIFE_SECONDS)


@dataclass(frozen=True, slots=True)
class Desk:
    database: Database
    book: StoredPreferences
    links: StoredConfirmations

    async def wish(self, address: str | None, user_id: str = "ada", now_us: int = START_US) -> None:
        await self.book.change(user_id, lambda one: replace(one, email_pending=address), now_us)

    async def taken(self, now_us: int = START_US) -> list[AskedToConfirm]:
        return list(await self.links.take(now_us=now_us, lease_until_us=now_us + LEASE_US))


@pytest.fixture(params=KINDS)
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    async with opened_database(request.param, tmp_path, request) as database:
        people = StoredPeople(database, IdMint().mint, keys_of)
        yield Desk(database, StoredPreferences(database), StoredConfirmations(database, people))


async def test_a_link_is_made_once_looked_at_often_and_good_once(desk: Desk) -> None:
    await desk.wish(ADA)
    (asked,) = await desk.taken()
    await desk.links.settle(asked, HandedOver("d1"), START_US)

    assert await desk.taken(START_US + 2 * LEASE_US) == []
    assert [await desk.links.claim(asked.secret, START_US) for _ in range(2)] == [
        AddressClaim(user_id="ada", address=ADA)
    ] * 2
    assert (await desk.book.of("ada")).email is None

    ends = await asyncio.gather(*(desk.links.confirm(asked.secret, START_US) for _ in range(4)))

    assert [end for end in ends if end is not None] == [AddressClaim(user_id="ada", address=ADA)]
    after = await desk.book.of("ada")
    assert (after.email, after.email_pending) == (ADA, None)
    assert await desk.links.claim(asked.secret, START_US) is None


async def test_the_secret_of_a_link_is_kept_nowhere(desk: Desk) -> None:
    await desk.wish(ADA)
    (asked,) = await desk.taken()

    rows = await desk.database.read(lambda connection: connection.execute(select(email_confirmations)).all())

    assert asked.secret not in str(rows) and asked.digest in str(rows)
    assert asked.secret not in repr(asked)


@pytest.mark.parametrize("what", ["another", "none", "late", "unknown"])
async def test_a_link_that_is_no_longer_wanted_confirms_nothing(desk: Desk, what: str) -> None:
    await desk.wish(ADA)
    (asked,) = await desk.taken()
    if what in ("another", "none"):
        await desk.wish("other@example.com" if what == "another" else None)
    now_us = START_US + LIFE_US if what == "late" else START_US

    assert await desk.links.confirm("x" * 43 if what == "unknown" else asked.secret, now_us) is None
    assert (await desk.book.of("ada")).email is None


async def test_a_mail_whose_sender_died_is_sent_again_under_a_new_link(desk: Desk) -> None:
    await desk.wish(ADA)
    (first,) = await desk.taken()
    assert await desk.taken(START_US + LEASE_US - 1) == []

    (second,) = await desk.taken(START_US + LEASE_US)
    await desk.links.settle(first, HandedOver("late"), START_US + LEASE_US)

    assert await desk.links.claim(first.secret, START_US + LEASE_US) is None
    assert await desk.links.claim(second.secret, START_US + LEASE_US) is not None
    assert await desk.book.awaits_confirmation("email", ADA)


async def test_a_mail_that_could_not_leave_waits_its_turn(desk: Desk) -> None:
    await desk.wish(ADA)
    (asked,) = await desk.taken()
    await desk.links.settle(asked, TryAgain(START_US + 5, "overload_rejected"), START_US)

    assert await desk.taken(START_US + 4) == []
    assert [one.address for one in await desk.taken(START_US + 5)] == [ADA]


async def test_what_nobody_wishes_any_more_is_not_asked(desk: Desk) -> None:
    await desk.wish(ADA)
    await desk.wish(None)

    assert await desk.taken() == []


async def test_preferences_are_no_way_to_write_to_many(desk: Desk) -> None:
    for number in range(MOST_A_DAY):
        await desk.wish(f"stranger{number}@example.com")

    with pytest.raises(ValidationError):
        await desk.wish("one-more@example.com")

    assert (await desk.book.of("ada")).email_pending == f"stranger{MOST_A_DAY - 1}@example.com"
    await desk.wish("bob@example.com", "bob")
    await desk.wish("one-more@example.com", now_us=START_US + seconds(24 * 3600))
