"""How far people were heard, and what is done about a time in which they were not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.clock import FakeClock
from tests.opened_database import opened_database
from tests.work.questions.sample_questions import MINT

from postroom.intents.store import StoredIntents
from postroom.kernel.database.engine import Database
from postroom.kernel.running.process import Seal
from postroom.kernel.values.ids import seconds
from postroom.questions.store.questions import StoredQuestions
from postroom.questions.timekeeper import GAP_SECONDS, Listening

Gap = tuple[str, int, int]


@pytest.fixture
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database("sqlite", tmp_path, request) as database:
        yield database


def listening(database: Database, clock: FakeClock, gaps: list[Gap]) -> Listening:
    """As each process builds it."""

    async def repair(channel: str, since_us: int, until_us: int) -> None:
        gaps.append((channel, since_us, until_us))

    made = Listening(
        StoredIntents(database, MINT.mint), StoredQuestions(database, Seal(bytes(32))), clock, lambda: None
    )
    made.expect("telegram")
    made.after_a_gap(repair)
    return made


@pytest.mark.requirement("ask:gap")
async def test_the_next_process_repairs_a_gap_even_when_the_first_one_died_during_its_first_look(
    database: Database,
) -> None:
    clock, gaps = FakeClock(), list[Gap]()
    began_us = clock.now_us()
    await listening(database, clock, gaps).patience("telegram", 25.0)

    clock.jump(GAP_SECONDS + 1)
    again = listening(database, clock, gaps)
    await again.patience("telegram", 25.0)
    await again.looked("telegram", clock.now_us(), everything=True)

    assert gaps == [("telegram", began_us, began_us + seconds(GAP_SECONDS + 1))]


async def test_a_house_that_has_never_listened_has_missed_nothing(database: Database) -> None:
    clock, gaps = FakeClock(), list[Gap]()
    first = listening(database, clock, gaps)

    await first.patience("telegram", 25.0)
    await first.looked("telegram", clock.now_us(), everything=True)

    assert gaps == []
    assert first.caught_up() == clock.now_us()


async def test_the_first_look_waits_for_nothing_so_that_a_gap_is_known_at_once(database: Database) -> None:
    clock = FakeClock()
    first = listening(database, clock, [])

    assert await first.patience("telegram", 25.0) == 0
    await first.looked("telegram", clock.now_us(), everything=True)
    assert await first.patience("telegram", 25.0) == 25.0
