"""The names behind the addresses of one page, in one query."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from sqlalchemy import Row, Select, and_, literal, null, select, union_all

from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.held_address import HeldAddress
from postroom.world.store.engine.database import Database
from postroom.world.store.tables.people import people, person_addresses

_MOST_ASKED: Final = 1000  # of each kind; a page has fewer
_MOST_HOLDERS: Final = 5000
_at = person_addresses.c


class StoredHeldAddresses:
    def __init__(self, database: Database, book: str = HOUSEHOLD_OWNER) -> None:
        self._database = database
        self._book = book

    async def held(self, folded: Collection[str], ids: Collection[str]) -> Sequence[HeldAddress]:
        """Those at these folded addresses on any channel, and those with these ids."""
        asked = union_all(self._holders(sorted(folded)[:_MOST_ASKED]), self._people(sorted(ids)[:_MOST_ASKED]))
        return await self._database.read(lambda connection: [_held(row) for row in connection.execute(asked)])

    def _holders(self, folded: Sequence[str]) -> Select[Any]:
        proved = _at.verified_at.is_not(None).label("is_verified")
        found = select(people.c.id, people.c.name, _at.channel, _at.folded, proved)
        found = found.join(person_addresses, _at.person_id == people.c.id)
        return select(
            found.where(_at.owner_agent == self._book, _at.folded.in_(folded)).limit(_MOST_HOLDERS).subquery()
        )

    def _people(self, ids: Sequence[str]) -> Select[Any]:
        nowhere = (null().label("channel"), null().label("folded"), literal(False).label("is_verified"))
        mine = and_(people.c.owner_agent == self._book, people.c.id.in_(ids))
        return select(people.c.id, people.c.name, *nowhere).where(mine)


def _held(row: Row[Any]) -> HeldAddress:
    return HeldAddress(
        person_id=row.id,
        name=row.name or row.id,
        channel=row.channel,
        folded=row.folded,
        is_verified=bool(row.is_verified),
    )
