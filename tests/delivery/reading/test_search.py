"""Finding deliveries and dead letters by any filter, in bounded looks, on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import insert
from tests.support.delivery_rows import NOON_US, attempt_row, new_id, request_row, write

from postroom.approvals.store.tables import was_refused
from postroom.delivery.reading import search
from postroom.delivery.reading.counts import StoredFigures, Stretch
from postroom.delivery.reading.file import DeadLetterQuery, DeliveryQuery, RowPage
from postroom.delivery.reading.search import (
    FoundDeliveries,
    FoundLetters,
    find_letters,
    identified,
    lookup,
    settled_among,
)
from postroom.delivery.store.tables import delivery_dead_letter
from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import IdMint, seconds
from postroom.message.delivery import Intent, Status
from postroom.overview.story import delivery_file

_mint = IdMint()


def row(number: int, **changes: Any) -> dict[str, Any]:
    """One per second, each with an id of its own time."""
    at_us = NOON_US + seconds(number)
    return request_row(at_us, id=IdMint().mint(at_us), request_id=f"r{number}", **changes)


async def find(
    database: Database, words: str | None = None, places: Sequence[str] = (), **filters: Any
) -> FoundDeliveries:
    query = DeliveryQuery(page=RowPage(limit=filters.pop("limit", 50), before=filters.pop("before", None)), **filters)
    return await database.read(partial(lookup, query=query, words=words, places=places))


def numbers(found: FoundDeliveries) -> list[str]:
    return [one.request_id for one in found.rows]


@pytest.fixture
async def rows(database: Database) -> list[dict[str, Any]]:
    made = [
        row(0, message_content="Take your pills", target_identity="1000"),
        row(1, channel="email", subject="Weekly REPORT", target_identity="ann@example.org"),
        row(2, status="failed", origin_butler="general", message_content="100% wrong_"),
        row(3, channel="email", status="failed", intent="reply", order_key="email:ann@example.org"),
        row(4, status="pending"),
    ]
    await write(database, made, [attempt_row(made[0], 1, 10.0), attempt_row(made[1], 1, 30.0)])
    return made


FILTERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing": ({}, ["r4", "r3", "r2", "r1", "r0"]),
    "a status over all channels": ({"status": Status.FAILED}, ["r3", "r2"]),
    "a channel": ({"channel": "email"}, ["r3", "r1"]),
    "both": ({"channel": "email", "status": Status.FAILED}, ["r3"]),
    "an origin": ({"origin_butler": "general"}, ["r2"]),
    "an intent": ({"intent": Intent.REPLY}, ["r3"]),
    "from a moment on": ({"since_us": NOON_US + seconds(3)}, ["r4", "r3"]),
    "up to a moment": ({"until_us": NOON_US + seconds(1)}, ["r1", "r0"]),
    "a word of the message": ({"words": "pills"}, ["r0"]),
    "a word of the subject in other letters": ({"words": "report"}, ["r1"]),
    "a recipient": ({"words": "ann@"}, ["r1"]),
    "two words, both wanted": ({"words": "take pills"}, ["r0"]),
    "signs that mean something to a database": ({"words": "100% wrong_"}, ["r2"]),
    "a sign alone is a sign": ({"words": "_"}, ["r2"]),
    "a name, by the addresses of its person": ({"words": "Ann", "places": ["email:ann@example.org"]}, ["r3", "r1"]),
    "a name and a filter": (
        {"words": "Ann", "places": ["email:ann@example.org"], "status": Status.FAILED},
        ["r3"],
    ),
    "places without words": ({"places": ["email:ann@example.org"]}, ["r4", "r3", "r2", "r1", "r0"]),
    "nowhere": ({"words": "nowhere"}, []),
    "an injection": ({"words": "' OR 1=1 --"}, []),
}


@pytest.mark.parametrize("name", FILTERS)
async def test_a_filter_finds_what_it_names(database: Database, rows: list[dict[str, Any]], name: str) -> None:
    filters, expected = FILTERS[name]

    found = await find(database, **filters)

    assert numbers(found) == expected and found.before is None


async def test_pages_follow_each_other_without_a_gap(database: Database, rows: list[dict[str, Any]]) -> None:
    first = await find(database, limit=2)
    second = await find(database, limit=2, before=first.before)
    third = await find(database, limit=2, before=second.before)

    assert numbers(first) + numbers(second) + numbers(third) == ["r4", "r3", "r2", "r1", "r0"]
    assert third.before is None


async def test_a_look_is_bounded_and_can_be_taken_up_again(
    database: Database, rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "LOOKED_AT", 3)

    first = await find(database, "pills")
    second = await find(database, "pills", before=first.before)

    assert (numbers(first), first.unfinished) == ([], True)
    assert (numbers(second), second.unfinished) == (["r0"], False)


async def test_an_id_of_any_kind_leads_to_the_delivery(database: Database, rows: list[dict[str, Any]]) -> None:
    letter_id = _mint.mint(NOON_US)
    letter = {
        "id": letter_id,
        "delivery_request_id": rows[3]["id"],
        "quarantine_reason": "retries_exhausted",
        "total_attempts": 3,
        "replay_count": 0,
        "created_at": NOON_US,
    }
    await database.write(lambda connection: connection.execute(insert(delivery_dead_letter), [letter]))

    async def known(text: str) -> str | None:
        return await database.read(partial(identified, identifier=text))

    assert await known(rows[0]["id"].upper()) == rows[0]["id"]
    assert await known("r1") == rows[1]["id"]
    assert await known(letter_id) == rows[3]["id"]
    assert await known("r99") is None and await known(_mint.mint(NOON_US)) is None


async def test_a_delivery_comes_with_what_belongs_to_it(database: Database, rows: list[dict[str, Any]]) -> None:
    replay = row(9, replay_of=rows[0]["id"], replay_number=1)
    waiting = [row(n, status="pending", order_key="telegram:1") for n in (20, 21)]
    await write(database, [replay | {"request_id": "r0"}, *waiting])

    file = await database.read(partial(delivery_file, delivery_id=rows[0]["id"]))
    second = await database.read(partial(delivery_file, delivery_id=waiting[1]["id"]))

    assert file is not None and second is not None
    assert (file.traced.delivery.attempts, len(file.traced.attempts), file.around.ahead) == (1, 1, 0)
    assert [one.delivery_id for one in file.siblings] == [replay["id"]]
    assert second.around.ahead == 1
    assert await database.read(partial(delivery_file, delivery_id="nobody")) is None


async def test_a_series_tells_of_each_stretch_from_a_bounded_number(
    database: Database, rows: list[dict[str, Any]]
) -> None:
    edges = [NOON_US - seconds(10), NOON_US, NOON_US + seconds(2), NOON_US + seconds(10)]

    stretches = [Stretch(since_us=since_us, until_us=until_us, most=2) for since_us, until_us in pairwise(edges)]

    found = await StoredFigures(database, was_refused()).report(stretches)

    nothing, first, second = (one.figures for one in found)
    assert (nothing.deliveries, nothing.success_rate, nothing.p50_latency_ms) == (0, None, None)
    assert (first.delivered, first.finished, first.p50_latency_ms, first.p95_latency_ms) == (2, 2, 10.0, 30.0)
    assert (second.deliveries, second.finished, second.success_rate) == (2, 1, 0.0)


async def test_a_channel_that_is_no_longer_set_up_keeps_its_deliveries(database: Database) -> None:
    await write(database, [row(0, channel="pigeon", status="failed"), row(1, status="failed")])

    assert numbers(await find(database, status=Status.FAILED)) == ["r1", "r0"]


async def test_where_nothing_is_stored_nothing_is_found(database: Database) -> None:
    assert numbers(await find(database, status=Status.FAILED)) == []


# -- which deliveries are over ---------------------------------------------------------------------------------


async def test_only_what_has_ended_is_named_however_many_are_asked_about(database: Database) -> None:
    mint = IdMint()
    ids = {name: mint.mint(NOON_US) for name in ("delivered", "failed", "pending")}
    rows = [
        request_row(NOON_US, id=one, status=name, terminal_at=None if name == "pending" else NOON_US)
        for name, one in ids.items()
    ]
    await write(database, rows)
    strangers = [mint.mint(NOON_US) for _ in range(2500)]

    over = await database.read(lambda connection: settled_among(connection, [*strangers, *ids.values()]))

    assert set(over) == {ids["delivered"], ids["failed"]}


# -- dead letters by words and by person -----------------------------------------------------------------------

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


@pytest.fixture
async def letters(database: Database) -> Database:
    await write(database, REQUESTS, [])
    rows = [letter(number, each) for number, each in enumerate(REQUESTS)]
    await database.write(lambda connection: connection.execute(insert(delivery_dead_letter), rows))
    return database


async def find_dead(database: Database, words: str | None = None, **asked: Any) -> FoundLetters:
    places = asked.pop("places", ())
    query = DeadLetterQuery(page=RowPage(limit=asked.pop("limit", 50), before=asked.pop("before", None)), **asked)
    return await database.read(partial(find_letters, query=query, words=words, places=places))


def requests(found: FoundLetters) -> list[str]:
    return [one.request_id for one in found.rows]


LETTER_FILTERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing": ({}, ["r2", "r1", "r0"]),
    "a word of the message": ({"words": "PILLS"}, ["r0"]),
    "a word of the error": ({"words": "501"}, ["r1"]),
    "an address": ({"words": "ann@example"}, ["r2"]),
    "a name, by the addresses of its person": ({"words": "Ann", "places": ["email:ann@example.org"]}, ["r2", "r1"]),
    "a name and a filter": ({"words": "Ann", "places": ["email:ann@example.org"], "channel": "telegram"}, []),
    "signs that mean something to a database": ({"words": "%"}, []),
}


@pytest.mark.parametrize("name", LETTER_FILTERS)
async def test_a_search_of_dead_letters_finds_what_it_names(letters: Database, name: str) -> None:
    asked, expected = LETTER_FILTERS[name]

    found = await find_dead(letters, **asked)

    assert (requests(found), found.before, found.unfinished) == (expected, None, False)


@pytest.mark.parametrize("words", [None, "status"])
async def test_pages_of_dead_letters_follow_each_other(letters: Database, words: str | None) -> None:
    first = await find_dead(letters, words, limit=2)
    second = await find_dead(letters, words, limit=2, before=first.before)

    assert (requests(first), requests(second), second.before) == (["r2", "r1"], ["r0"], None)


async def test_a_look_at_dead_letters_is_bounded_and_can_be_taken_up_again(
    letters: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "LOOKED_AT", 2)

    first = await find_dead(letters, "pills")
    second = await find_dead(letters, "pills", before=first.before)

    assert (requests(first), first.unfinished, requests(second), second.unfinished) == ([], True, ["r0"], False)
