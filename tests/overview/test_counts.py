"""The first page's figures, on both databases."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import Connection, insert, update
from tests.approvals.parked import deciding_desk
from tests.attention.attended import take_in
from tests.attention.sample import accepted
from tests.attention.test_store import book_on
from tests.clock import FakeClock
from tests.questions.sample_questions import new_question
from tests.support.delivery_rows import NOON_US, new_id, request_row, write

from postroom.approvals.store.tables import was_refused
from postroom.delivery.reading.counts import DeadLetterCounts, StoredFigures
from postroom.delivery.rules.breaker import BreakerPolicy
from postroom.delivery.store.tables import delivery_dead_letter, delivery_requests
from postroom.kernel.database.engine import Database
from postroom.kernel.running.process import Seal
from postroom.kernel.values.ids import IdMint, first_id_at, seconds
from postroom.kernel.values.principal import OPERATOR
from postroom.overview.counts import ConsoleOverview, StoredOverview
from postroom.questions.store.questions import StoredQuestions

DAY_US = seconds(24 * 3600)


@pytest.fixture
def overview(database: Database) -> StoredOverview:
    return StoredOverview(database)


def row_at(at_us: int, **changes: object) -> dict[str, object]:
    """With an id of exactly that time: one mint for all would never go back."""
    return request_row(at_us, id=IdMint().mint(at_us), **changes)


def dead_letter(row: dict[str, object], reason: str, **more: object) -> dict[str, object]:
    return {
        "id": new_id(),
        "delivery_request_id": row["id"],
        "quarantine_reason": reason,
        "total_attempts": 3,
        "replay_count": 0,
        "discarded_at": None,
        "created_at": NOON_US,
        **more,
    }


async def test_a_tally_counts_what_the_window_holds_and_nothing_older(database: Database) -> None:
    await write(
        database,
        [
            row_at(NOON_US - DAY_US - seconds(1)),
            row_at(NOON_US - DAY_US, terminal_at=NOON_US - DAY_US),
            row_at(NOON_US, terminal_at=NOON_US + 5),
            row_at(NOON_US, status="failed"),
            row_at(NOON_US, status="dead_lettered", channel="email"),
        ],
    )

    figures = StoredFigures(database, was_refused())
    email, pigeon, telegram = await figures.tallies(["email", "pigeon", "telegram"], NOON_US - DAY_US)

    assert (telegram.figures.delivered, telegram.figures.failed) == (2, 1)
    assert telegram.last_delivered_at_us == NOON_US + 5
    assert telegram.success_rate == pytest.approx(2 / 3)
    assert (email.figures.dead_lettered, email.success_rate, email.last_delivered_at_us) == (1, 0.0, None)
    assert (pigeon.figures.delivered, pigeon.success_rate) == (0, None)


async def test_each_day_says_what_was_sent_held_and_asked(database: Database) -> None:
    midnight, clock = NOON_US - DAY_US // 2, FakeClock(NOON_US - DAY_US // 2)
    await write(
        database, [row_at(NOON_US), row_at(NOON_US + 1), row_at(NOON_US, status="failed"), row_at(midnight - 1)]
    )
    book = book_on(database, clock)  # quiet until seven
    await take_in(book, accepted("a", midnight), accepted("b", midnight, agent="gardener"))
    clock.jump(12 * 3600)
    await take_in(book, accepted("c", NOON_US))
    store = StoredQuestions(database, Seal(bytes(32)))
    await store.ask(replace(new_question(), id=IdMint().mint(NOON_US)))

    overview = ConsoleOverview(database, ["email", "telegram"], BreakerPolicy())
    days = await overview.days([midnight - DAY_US, midnight, midnight + DAY_US])

    assert [(one.sent, one.held, one.asked) for one in days] == [(1, 0, 0), (2, 2, 1)]


async def test_trouble_is_what_nobody_has_dealt_with(database: Database, overview: StoredOverview) -> None:
    rows = [request_row(NOON_US, status="dead_lettered") for _ in range(5)]
    await write(database, rows)
    letters = [
        dead_letter(rows[0], "retries_exhausted"),
        dead_letter(rows[1], "retries_exhausted"),
        dead_letter(rows[2], "outcome_uncertain"),
        dead_letter(rows[3], "retries_exhausted", discarded_at=NOON_US),
        dead_letter(rows[4], "outcome_uncertain", replay_count=1),
    ]
    await database.write(lambda connection: connection.execute(insert(delivery_dead_letter), letters))

    assert await overview.trouble() == DeadLetterCounts(given_up=2, held=1)


async def test_what_waits_for_approval_is_counted_until_it_is_too_late(
    database: Database, overview: StoredOverview
) -> None:
    desk = deciding_desk(database, FakeClock(NOON_US))
    for late in (10, 20):
        await desk.park(parking={"expires_at_us": NOON_US + late})

    assert (await overview.waits(OPERATOR, NOON_US)).approvals == 2
    assert (await overview.waits(OPERATOR, NOON_US + 10)).approvals == 1


async def test_the_pulse_differs_when_a_delivery_comes_or_moves(database: Database, overview: StoredOverview) -> None:
    still = await overview.pulse()
    row = request_row(NOON_US, status="pending")
    await write(database, [row])
    came = await overview.pulse()

    def move(connection: Connection) -> None:
        mine = update(delivery_requests).where(delivery_requests.c.id == row["id"])
        connection.execute(mine.values(updated_at=NOON_US + 7, status="in_progress"))

    await database.write(move)
    moved = await overview.pulse()

    assert len({still["deliveries"], came["deliveries"], moved["deliveries"]}) == 3
    assert moved == await overview.pulse()


def test_the_first_id_of_a_moment_is_not_above_any_minted_then() -> None:
    assert first_id_at(NOON_US) <= IdMint().mint(NOON_US)
    assert first_id_at(NOON_US) > IdMint().mint(NOON_US - 1000)
