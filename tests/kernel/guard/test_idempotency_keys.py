"""The keys of calls, on either database."""

from __future__ import annotations

import asyncio

import pytest
from tests.clock import START_US

from postroom.kernel.database.engine import Database
from postroom.kernel.guard.answered_once import KeyedCall, StoredIdempotencyKeys

BODY = '{"ok":true}'


@pytest.fixture
def keys(database: Database) -> StoredIdempotencyKeys:
    return StoredIdempotencyKeys(database, most_per_caller=3)


def call(key: str, *, caller: str = "operator", fingerprint: str = "f") -> KeyedCall:
    return KeyedCall(caller=caller, key=key, fingerprint=fingerprint)


async def test_of_calls_at_the_same_moment_one_reserves_the_id(keys: StoredIdempotencyKeys) -> None:
    claims = await asyncio.gather(*(keys.claim(call("k"), f"id-{number}", START_US) for number in range(5)))

    assert len({claim.reserved_id for claim in claims}) == 1


async def test_the_answer_is_kept_with_what_was_said(keys: StoredIdempotencyKeys) -> None:
    await keys.claim(call("k"), "one", START_US)
    await keys.keep(call("k"), 201, BODY)
    await keys.release(call("k"))  # of what is answered nothing is released

    found = await keys.claim(call("k", fingerprint="other"), "two", START_US)

    assert (found.fingerprint, found.reserved_id, found.status, found.body) == ("f", "one", 201, BODY)


async def test_a_key_that_came_to_nothing_is_free_again(keys: StoredIdempotencyKeys) -> None:
    await keys.claim(call("k"), "one", START_US)
    await keys.release(call("k"))

    assert (await keys.claim(call("k", fingerprint="other"), "two", START_US)).reserved_id == "two"


async def test_of_one_caller_the_newest_are_kept_and_of_others_theirs(keys: StoredIdempotencyKeys) -> None:
    await keys.claim(call("k-0", caller="another"), "theirs", START_US)
    for number in range(5):
        await keys.claim(call(f"k-{number}"), f"first-{number}", START_US + number)

    theirs = await keys.claim(call("k-0", caller="another"), "again", START_US + 9)
    newest = await keys.claim(call("k-4"), "again", START_US + 9)
    oldest = await keys.claim(call("k-0"), "again", START_US + 9)

    assert [one.reserved_id for one in (theirs, newest, oldest)] == ["theirs", "first-4", "again"]
