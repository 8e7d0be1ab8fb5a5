"""What is run on the driver is found, written and refused as the library itself would do it, on either database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError
from tests.opened_database import KINDS, opened_database

from postroom.kernel.database.engine import inbound_offsets, insert_for
from postroom.kernel.database.prepared import Prepared

OFFSETS = inbound_offsets.c
ADD = Prepared(insert(inbound_offsets))
ADD_NEW = Prepared(
    lambda connection: insert_for(connection, inbound_offsets).on_conflict_do_nothing(index_elements=["source"])
)
MOVE = Prepared(update(inbound_offsets).where(OFFSETS.source == bindparam("its_source")))
THESE = Prepared(
    select(inbound_offsets)
    .where(OFFSETS.source.in_(bindparam("sources", expanding=True)))
    .order_by(OFFSETS.source.desc())
)


@pytest.mark.parametrize("kind", KINDS)
async def test_what_was_written_is_found_by_lists_of_any_length(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with opened_database(kind, tmp_path, request) as database:

        def work(connection: Connection) -> list[Any]:
            ADD.run_each(connection, [{"source": name, "position": place} for place, name in enumerate("abc")])
            ADD.run_each(connection, [])
            ADD_NEW.run_each(connection, [{"source": "a", "position": 7}])
            assert MOVE.run(connection, {"position": 5, "its_source": "b"}).rowcount == 1
            assert MOVE.run(connection, {"position": 5, "its_source": "d"}).rowcount == 0
            for names in ([], ["a"], ["a", "b"], ["c", "b", "a"]):
                asked = select(inbound_offsets).where(OFFSETS.source.in_(names)).order_by(OFFSETS.source.desc())
                assert list(THESE.run(connection, {"sources": names})) == [
                    tuple(row) for row in connection.execute(asked)
                ]
            return THESE.run(connection, {"sources": ["a", "b"]})

        [first, second] = await database.write(work)
        assert (first.source, first.position, second.source, second.position) == ("b", 5, "a", 0)
        assert first._mapping == {"source": "b", "position": 5}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_key_that_is_taken_is_refused_as_by_the_library_and_says_nothing_of_the_row(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with opened_database(kind, tmp_path, request) as database:
        await database.write(lambda connection: ADD.run(connection, {"source": "a", "position": 1}))
        with pytest.raises(IntegrityError) as refused:
            await database.write(lambda connection: ADD.run(connection, {"source": "a", "position": 424242}))
        assert "424242" not in str(refused.value)
        found = await database.read(lambda connection: THESE.run(connection, {"sources": ["a"]}))
        assert [tuple(row) for row in found] == [("a", 1)]
