"""Challenges: anybody may ask for one, and no one can fill the table with them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select
from tests.opened_database import KINDS, opened_database

from postroom.domain.ids import IdMint
from postroom.domain.passkey import MOST_CHALLENGES, Ceremony, Challenge
from postroom.world.store.engine.database import Database
from postroom.world.store.people.passkeys import StoredPasskeys
from postroom.world.store.tables.sign_in import passkey_challenges

NOW_US = 10**15


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as one:
        yield one


async def test_more_challenges_than_may_be_open_push_out_the_oldest(database: Database) -> None:
    store, more = StoredPasskeys(database, IdMint().mint), {"ceremony": "sign in", "browser": "b", "person_id": None}
    rows = [{**more, "digest": f"d{one}", "expires_at": NOW_US + 10 + one} for one in range(MOST_CHALLENGES)]
    await database.write(lambda connection: connection.execute(insert(passkey_challenges), rows))
    new = Challenge(
        digest="new", ceremony=Ceremony.SIGN_IN, browser="b", person_id=None, expires_at_us=NOW_US + MOST_CHALLENGES * 2
    )

    await store.keep_challenge(new, NOW_US)

    asked = select(func.count()).select_from(passkey_challenges)
    assert await database.read(lambda connection: connection.execute(asked).scalar_one()) == MOST_CHALLENGES
    assert await store.take_challenge("d0", NOW_US) is None
    assert await store.take_challenge("d1", NOW_US) is not None
    assert await store.take_challenge("new", NOW_US) == new
