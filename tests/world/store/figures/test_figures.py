"""What is counted over a span is what stands in the tables, on both databases, and no table is read whole."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event, insert
from tests.opened_database import KINDS, opened_database
from tests.world.store.delivery_rows import NOON_US, request_row, write

from postroom.domain.ids import IdMint
from postroom.domain.span_figures import Counted, FigureQuery, FigureSpan
from postroom.domain.time import seconds
from postroom.work.figures.stretches import edges
from postroom.world.store.engine.database import Database
from postroom.world.store.figures import deliveries as counting
from postroom.world.store.figures.figures import StoredSpanFigures
from postroom.world.store.figures.notices import counted_notices
from postroom.world.store.figures.questions import counted_questions
from postroom.world.store.tables.attention import attention_people, notices
from postroom.world.store.tables.corrections import delivery_corrections
from postroom.world.store.tables.questions import question_people, questions

EDGES = edges(NOON_US, FigureSpan.WEEK, "Europe/Vienna")
STATES = ("delivered", "delivered", "delivered", "failed", "dead_lettered", "pending", "awaiting_approval")
Rows = list[dict[str, Any]]


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as one:
        yield one


def many_rows(how_many: int = 300) -> Rows:
    """Some of them older than the span."""
    dice = random.Random(7)
    made = []
    for _ in range(how_many):
        at_us = NOON_US - seconds(dice.randrange(9 * 86_400))
        state = dice.choice(STATES)
        made.append(
            request_row(
                at_us,
                id=IdMint().mint(at_us),
                origin_butler=dice.choice(("health", "travel", "home")),
                channel=dice.choice(("telegram", "email", "ntfy")),
                status=state,
                terminal_at=at_us + seconds(dice.random() * 20) if state == "delivered" else None,
            )
        )
    return made


def expected(rows: Iterable[dict[str, Any]], *keys: str) -> Counter[tuple[Any, ...]]:
    """Counted anew from the rows, by their time and not by their id."""
    counts: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        place = sum(row["created_at"] >= edge for edge in EDGES) - 1
        if 0 <= place < len(EDGES) - 1:
            counts[(place, *(row[key] for key in keys))] += 1
    return counts


def counted(found: Iterable[Counted], key: Callable[[Counted], tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    counts: Counter[tuple[Any, ...]] = Counter()
    for one in found:
        counts[key(one)] += one.many
    return counts


@pytest.mark.requirement("side:figures-from-the-ledger")
async def test_deliveries_are_counted_as_they_stand_in_the_ledger(database: Database) -> None:
    rows = many_rows()
    await write(database, rows)

    found = await StoredSpanFigures(database).deliveries(FigureQuery(edges_us=EDGES))

    assert found.is_whole
    assert counted(found.outcomes, lambda one: (one.place, one.channel, one.state)) == expected(
        rows, "channel", "status"
    )
    assert counted(found.by_agent, lambda one: (one.place, one.agent, one.channel, one.state)) == expected(
        rows, "origin_butler", "channel", "status"
    )
    arrived = [row for row in rows if row["status"] == "delivered" and row["created_at"] >= EDGES[0]]
    assert sorted(one.milliseconds for one in found.arrivals) == sorted(
        (row["terminal_at"] - row["created_at"]) / 1000 for row in arrived
    )


@pytest.mark.parametrize(
    ("channel", "agent"), [("email", None), (None, "travel"), ("email", "travel"), ("pigeon", None), (None, "none")]
)
async def test_a_filter_leaves_only_what_fits(database: Database, channel: str | None, agent: str | None) -> None:
    rows = many_rows()
    await write(database, rows)
    fitting = [row for row in rows if channel in (None, row["channel"]) and agent in (None, row["origin_butler"])]

    found = await StoredSpanFigures(database).deliveries(FigureQuery(edges_us=EDGES, channel=channel, agent=agent))

    for some in (found.outcomes, found.by_agent):
        assert counted(some, lambda one: (one.place, one.channel, one.state)) == expected(fitting, "channel", "status")
    assert len(found.arrivals) == sum(row["status"] == "delivered" and row["created_at"] >= EDGES[0] for row in fitting)


async def test_what_its_sender_took_back_is_no_failure(database: Database) -> None:
    rows = [request_row(NOON_US, id=IdMint().mint(NOON_US), status="failed") for _ in range(3)]
    await write(database, rows)
    taken = {
        "id": IdMint().mint(NOON_US),
        "delivery_id": rows[0]["id"],
        "act": "recall",
        "how": "in_place",
        "version": 1,
        "actor": "butler:health",
        "fingerprint": "f",
        "at": NOON_US,
    }
    await database.write(lambda connection: connection.execute(insert(delivery_corrections), [taken]))

    found = await StoredSpanFigures(database).deliveries(FigureQuery(edges_us=EDGES))

    for some in (found.outcomes, found.by_agent):
        assert counted(some, lambda one: (one.state,)) == {("failed",): 2, ("withdrawn",): 1}


async def test_more_than_are_looked_at_is_said(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_LOOKED_AT", 10)
    await write(database, [request_row(NOON_US, id=IdMint().mint(NOON_US)) for _ in range(11)])

    found = await StoredSpanFigures(database).deliveries(FigureQuery(edges_us=EDGES))

    assert not found.is_whole
    assert (sum(one.many for one in found.by_agent), sum(one.many for one in found.outcomes)) == (10, 11)


def notice_row(person: str, agent: str, state: str, at_us: int) -> dict[str, Any]:
    return {
        "id": IdMint().mint(at_us),
        "person": person,
        "agent": agent,
        "key": None,
        "state": state,
        "open": state == "held",
        "created_at": at_us,
        "fingerprint": "f",
        "request_id": "r",
        "standing": "{}",
        "outgoing": "{}",
    }


async def test_notices_are_counted_for_one_person_or_for_all(database: Database) -> None:
    people = [{"person": name, "policy": None, "rest": "{}", "seq": 0, "next_at": None} for name in ("owner", "anna")]
    rows = [
        notice_row("owner", "health", "held", NOON_US),
        notice_row("owner", "health", "sent", NOON_US - seconds(86_400)),
        notice_row("owner", "home", "sent", NOON_US - seconds(8 * 86_400)),
        notice_row("anna", "travel", "digested", NOON_US),
    ]

    def work(connection: Connection) -> None:
        connection.execute(insert(attention_people), people)
        connection.execute(insert(notices), rows)

    await database.write(work)
    store = StoredSpanFigures(database)

    everybody = await store.notices(FigureQuery(edges_us=EDGES))
    anna = await store.notices(FigureQuery(edges_us=EDGES, person="anna"))
    health = await store.notices(FigureQuery(edges_us=EDGES, agent="health"))

    assert counted(everybody.states, lambda one: (one.place, one.agent, one.state)) == expected(rows, "agent", "state")
    assert counted(anna.states, lambda one: (one.agent, one.state)) == {("travel", "digested"): 1}
    assert counted(health.states, lambda one: (one.state,)) == {("held",): 1, ("sent",): 1}


def question_row(asker: str, status: str, at_us: int, took_us: int | None) -> dict[str, Any]:
    return {
        "id": IdMint().mint(at_us),
        "asker": asker,
        "fingerprint": "f",
        "revision": 1,
        "revision_hash": "h",
        "kind": "text",
        "secret": False,
        "urgency": "normal",
        "preview": "full",
        "quorum": "any",
        "status": status,
        "created_at": at_us,
        "expires_at": at_us + seconds(86_400),
        "ended_at": None if took_us is None else at_us + took_us,
    }


async def test_questions_are_counted_with_the_time_an_answer_took(database: Database) -> None:
    rows = [
        question_row("butler:health", "answered", NOON_US, seconds(40)),
        question_row("butler:travel", "expired", NOON_US - seconds(86_400), seconds(60)),
        question_row("butler:health", "open", NOON_US, None),
        question_row("butler:health", "answered", NOON_US - seconds(9 * 86_400), seconds(1)),
    ]
    asked = [
        {"question_id": row["id"], "person_id": who, "name": who, "added": "asked", "place": 0}
        for row, who in zip(rows, ("owner", "anna", "owner", "anna"), strict=True)
    ]

    def work(connection: Connection) -> None:
        connection.execute(insert(questions), rows)
        connection.execute(insert(question_people), asked)

    await database.write(work)
    store = StoredSpanFigures(database)

    everybody = await store.questions(FigureQuery(edges_us=EDGES))
    anna = await store.questions(FigureQuery(edges_us=EDGES, person="anna"))
    health = await store.questions(FigureQuery(edges_us=EDGES, agent="health"))

    assert counted(everybody.endings, lambda one: (one.place, one.state)) == expected(rows, "status")
    assert [one.milliseconds for one in everybody.answers] == [40_000]
    assert counted(anna.endings, lambda one: (one.agent, one.state)) == {("travel", "expired"): 1}
    assert counted(health.endings, lambda one: (one.state,)) == {("answered",): 1, ("open",): 1}


@pytest.mark.requirement("side:figures-are-bounded")
@pytest.mark.parametrize(
    ("channel", "agent", "person"),
    [
        (None, None, None),
        ("email", None, None),
        (None, "travel", None),
        ("email", "travel", None),
        (None, None, "anna"),
    ],
)
async def test_no_table_of_a_million_rows_is_read_whole(
    tmp_path: Path, request: pytest.FixtureRequest, channel: str | None, agent: str | None, person: str | None
) -> None:
    """As SQLite plans it: every table that grows is searched along an index, and none is scanned."""
    async with opened_database("sqlite", tmp_path, request) as database:
        await write(database, many_rows(50))
        query = FigureQuery(edges_us=EDGES, channel=channel, agent=agent, person=person)
        plans = await database.read(lambda connection: planned(connection, query))

    whole = [step for step in plans if step.startswith("SCAN") and any(name in step for name in GROWING)]
    assert plans and whole == []


GROWING = ("delivery_requests", "notices", "questions", "question_people")


def planned(connection: Connection, query: FigureQuery) -> list[str]:
    """Each statement that the counting runs, explained."""
    said: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_more: Any) -> None:
        said.append((statement, parameters))

    event.listen(connection.engine, "before_cursor_execute", note)
    try:
        counting.counted_deliveries(connection, query)
        counting.known_names(connection)
        counted_notices(connection, query)
        counted_questions(connection, query)
    finally:
        event.remove(connection.engine, "before_cursor_execute", note)
    return [
        row[3]
        for statement, parameters in list(said)
        for row in connection.connection.cursor().execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
    ]
