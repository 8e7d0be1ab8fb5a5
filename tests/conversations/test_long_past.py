"""A person's page, a conversation and the last of each read no more of a longer past, on either database."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from benchmarks.growth_fill import filled
from benchmarks.growth_rows import row_id
from sqlalchemy import Connection
from tests.conversations.test_history import ADA
from tests.support.planned import planned

from postroom.conversations import history
from postroom.conversations.model import HistoryQuery
from postroom.kernel.database.engine import Database
from postroom.people.model import Person, PersonAddress

NOW_MS = time.time_ns() // 1_000_000
SIZE = 4_000  # deliveries, with a tenth as many messages of people
BUSY = replace(ADA, id="p1", addresses=(PersonAddress(channel="telegram", address="person7@example.org"),))
READ_WHOLE = (
    *("SCAN main.inbound_messages", "SCAN main.presentations", "SCAN main.questions"),
    *("Hash Join", "Hash Semi Join", "Hash Anti Join", "hashed SubPlan", "Seq Scan"),
)


@pytest.fixture
async def database(database: Database) -> Database:
    await filled(database, SIZE, NOW_MS)
    return database


def parts(connection: Connection, person: Person, wanted: HistoryQuery) -> None:
    places = history._places(connection, person.id, wanted.channel)
    list(history._history_written(connection, person.id, places, wanted))
    history._history_sent(connection, person, places, wanted)
    history._history_asked(connection, person.id, wanted)


def asked_lately(connection: Connection) -> None:
    history._lately_asked(connection)


CASES: dict[str, tuple[str, Callable[[Connection], Any]]] = {
    "page": ("ix_inbound_messages_conversation", partial(parts, person=BUSY, wanted=HistoryQuery(limit=6))),
    "butler": ("ix_inbound_messages_target", partial(parts, person=BUSY, wanted=HistoryQuery(butler="butler1"))),
    "channel": ("pk_presentations", partial(parts, person=BUSY, wanted=HistoryQuery(channel="telegram"))),
    "last of each": ("question_people", asked_lately),
}


@pytest.mark.requirement("talk:history")
async def test_nothing_is_read_whole_or_hashed(database: Database) -> None:
    for index, work in CASES.values():
        plan = await database.write(partial(planned, work=work))

        assert index in plan or "sqlite_autoindex" in plan, plan
        assert not [one for one in READ_WHOLE if one in plan], plan


@pytest.mark.requirement("talk:history")
async def test_whoever_is_written_to_often_is_found_among_the_newest(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same end as when all of it is looked at."""
    addresses = tuple(PersonAddress(channel="telegram", address=f"person{n}@example.org") for n in range(300))
    often, wanted = replace(BUSY, addresses=addresses), HistoryQuery(limit=6)

    def sent(connection: Connection) -> tuple[list[str], str | None]:
        part = history._history_sent(connection, often, [], wanted)
        return sorted((one.id for one in part.entries), reverse=True), part.floor

    soon = await database.read(sent)
    monkeypatch.setattr(history, "_FIRST_LOOK", history.LOOKED_AT)

    assert soon == await database.read(sent)
    assert soon[0] == [row_id(number, NOW_MS * 1000) for number in range(1, 7)] and soon[1] == soon[0][-1]
