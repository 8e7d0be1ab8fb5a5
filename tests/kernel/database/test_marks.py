"""How far a stream was read is known after a restart."""

from __future__ import annotations

from postroom.kernel.database.engine import Database
from postroom.kernel.database.marks import Marks


async def test_the_place_in_a_stream_is_kept(database: Database) -> None:
    assert await Marks(database).offset("telegram") is None
    for position in (5, 9):
        await Marks(database).save_offset("telegram", position)
    assert await Marks(database).offset("telegram") == 9
