"""Finding dead letters by words and by person, in bounded looks, on both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert
from tests.opened_database import KINDS, opened_database
from tests.support.delivery_rows import NOON_US, new_id, request_row, write

from postroom.delivery.reading import search
from postroom.delivery.reading.file import DeadLetterQuery, RowPage
from postroom.delivery.reading.search import FoundLetters, find_letters
from postroom.delivery.store.tables import delivery_dead_letter
from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import seconds

REQUESTS = [
    request_row(NOON_US, request_id="r0", status="dead_lettered", message_content="Take your pills"),
    request_row(NOON_US, request_id="r1", status="dead_lettered", channel="email", order_key="email:ann@example.org"),
    request_row(NOON_US, request_id="r2", status="dead_lettered", target_identity="ann@example.org", channel="email"),
]


def letter(number: int, request: dict[str, Any]) -> dict[str, Any]:
    at_us = NOON_US + seconds(number)
    return {
        "id": new_id(at_us),
        "delivery_request_id": request["id"],
        "quarantine_reason": "retries_exhausted",
        "error_class": "target_unavailable",
        "error_summary": f"status 50{number}",
        "total_attempts": 3,
        "replay_count": 0,
        "discarded_at": None,
        "discard_reason": None,
        "created_at": at_us,
    }


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as one:
        await write(one, REQUESTS, [])

        def work(connection: Connection) -> None:
            rows = [letter(number, each) for number, each in enumerate(REQUESTS)]
            connection.execute(insert(delivery_dead_letter), rows)

        await one.write(work)
        yield one


async def find(database: Database, words: str | None = None, **asked: Any) -> FoundLetters:
    places = asked.pop("places", ())
    query = DeadLetterQuery(page=RowPage(limit=asked.pop("limit", 50), before=asked.pop("before", None)), **asked)
    return await database.read(partial(find_letters, query=query, words=words, places=places))


def requests(found: FoundLetters) -> list[str]:
    return [one.request_id for one in found.letters]


FILTERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing": ({}, ["r2", "r1", "r0"]),
    "a word of the message": ({"words": "PILLS"}, ["r0"]),
    "a word of the error": ({"words": "501"}, ["r1"]),
    "an address": ({"words": "ann@example"}, ["r2"]),
    "a name, by the addresses of its person": ({"words": "Ann", "places": ["email:ann@example.org"]}, ["r2", "r1"]),
    "a name and a filter": ({"words": "Ann", "places": ["email:ann@example.org"], "channel": "telegram"}, []),
    "signs that mean something to a database": ({"words": "%"}, []),
}


@pytest.mark.parametrize("name", FILTERS)
async def test_a_search_finds_what_it_names(database: Database, name: str) -> None:
    asked, expected = FILTERS[name]

    found = await find(database, **asked)

    assert (requests(found), found.before, found.unfinished) == (expected, None, False)


@pytest.mark.parametrize("words", [None, "status"])
async def test_pages_follow_each_other(database: Database, words: str | None) -> None:
    first = await find(database, words, limit=2)
    second = await find(database, words, limit=2, before=first.before)

    assert (requests(first), requests(second), second.before) == (["r2", "r1"], ["r0"], None)


async def test_a_look_is_bounded_and_can_be_taken_up_again(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "LOOKED_AT", 2)

    first = await find(database, "pills")
    second = await find(database, "pills", before=first.before)

    assert (requests(first), first.unfinished, requests(second), second.unfinished) == ([], True, ["r0"], False)
