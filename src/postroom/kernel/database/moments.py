"""The one table of what is due by itself: slices write in their own transactions when, the timekeeper finds what is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    Index,
    Integer,
    Table,
    Text,
    and_,
    bindparam,
    delete,
    insert,
    select,
    true,
)

from postroom.kernel.database.claims import Claims
from postroom.kernel.database.engine import Database, Repeated, insert_for
from postroom.kernel.database.prepared import Prepared
from postroom.kernel.database.rows import read
from postroom.kernel.database.schema import SHARED, metadata, one_of
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.kernel.values.moments import DueMoment, Reason

moments = Table(
    "moments",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("reason", Text, primary_key=True),
    Column("due_at", BigInteger, nullable=False),
    Column("look_at", BigInteger, nullable=False),  # when it is due, its lease ends, or it was put off until
    Column("fence", Integer, nullable=False),
    Column("tries", Integer, nullable=False),
    CheckConstraint(one_of("reason", Reason), name="reason"),
    Index("ix_moments_look_at", "look_at"),
    schema=SHARED,
)
_c = moments.c
_KEY: Final = ("kind", "id", "reason")
_ADD: Final = Prepared(insert(moments))
_CLAIMS: Final = Claims(moments, true(), fence=_c.fence, lease=_c.look_at)
_OTHERS: Final = Prepared(
    delete(moments).where(
        _c.kind == bindparam("its_kind"),
        _c.id == bindparam("its_id"),
        _c.reason.not_in(bindparam("due", expanding=True)),
    )
)
_NEXT_END: Final = Prepared(
    select(_c.look_at)
    .where(_c.look_at > bindparam("after"), _c.reason.in_(bindparam("ends", expanding=True)))
    .order_by(_c.look_at)
    .limit(1)
)
Moments = Mapping[Reason, int]  # when each is due


# ---- in the transaction of a slice ----


def add_moments(connection: Connection, kind: str, new: Iterable[tuple[str, Moments]]) -> None:
    """Of what was not there before."""
    _ADD.run_each(connection, [row for id, due in new for row in _rows(kind, id, due)])


def put_moments(connection: Connection, kind: str, id: str, due: Moments) -> None:
    """These and no others; whoever is at one of them has lost it."""
    _OTHERS.run(connection, {"its_kind": kind, "its_id": id, "due": [str(one) for one in due]})
    for reason, due_us in due.items():
        put_moment(connection, kind, id, reason, due_us)


def put_moment(connection: Connection, kind: str, id: str, reason: Reason, due_us: int) -> None:
    row = insert_for(connection, moments).values(_rows(kind, id, {reason: due_us}))
    anew = {"due_at": due_us, "look_at": due_us, "fence": _c.fence + 1, "tries": 0}
    connection.execute(row.on_conflict_do_update(index_elements=_KEY, set_=anew))


def moments_of(connection: Connection, kind: str, id: str) -> dict[Reason, int]:
    asked = select(_c.reason, _c.due_at).where(_c.kind == kind, _c.id == id)
    return {Reason(row.reason): row.due_at for row in connection.execute(asked)}


def _rows(kind: str, id: str, due: Moments) -> list[dict[str, Any]]:
    return [
        {"kind": kind, "id": id, "reason": str(reason), "due_at": at, "look_at": at, "fence": 0, "tries": 0}
        for reason, at in due.items()
    ]


# ---- for the timekeeper ----


class StoredMoments:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._repeated = Repeated(database)

    async def first(self, kinds: Collection[str]) -> int | None:
        """When there is something to do about any of these: most looks find only that."""
        asked = select(_c.look_at).where(_c.kind.in_(kinds)).order_by(_c.look_at).limit(1)
        return await self._repeated.read(tuple(kinds), lambda connection: connection.execute(asked).scalar())

    async def next_end(self, after_us: int) -> int | None:
        """When somebody will wait no longer for an answer, the first time after that."""
        ends = [str(one) for one in Reason if one.is_for_want_of_an_answer]
        asked = {"after": after_us, "ends": ends}
        return await self._database.read(lambda connection: _NEXT_END.run(connection, asked).scalar())

    async def take(
        self, kinds: Collection[str], now_us: int, *, lease_until_us: int, limit: int
    ) -> Sequence[DueMoment]:
        def work(connection: Connection) -> list[DueMoment]:
            rows = _CLAIMS.take(
                connection, _c.kind.in_(kinds), limit=limit, now_us=now_us, lease_until_us=lease_until_us
            )
            return [read(DueMoment, row, due_us=row.due_at) for row in rows]

        return await self._database.write(work)

    async def renew(self, held: Iterable[DueMoment], lease_until_us: int) -> None:
        def work(connection: Connection) -> None:
            for one in held:
                _CLAIMS.write(connection, one.key, one.fence, {"look_at": lease_until_us})

        await self._database.write(work)

    async def later(self, moment: DueMoment, at_us: int, *, tries: int = 0) -> None:
        """Put off; nothing happens when its slice has written another moment meanwhile."""
        change = {"look_at": at_us, "tries": tries}
        await self._database.write(lambda connection: _CLAIMS.write(connection, moment.key, moment.fence, change))

    async def done(self, moment: DueMoment) -> bool:
        """False when it is another's by now."""
        return await self._database.write(lambda connection: _CLAIMS.remove(connection, moment.key, moment.fence))

    async def let_go(self, kind: str, now_us: int) -> None:
        """At start: one process owns a file, so what an earlier one had in hand is due; else a lease alone tells."""
        if isinstance(self._database, SqliteDatabase):
            theirs = and_(_c.kind == kind, _c.due_at <= now_us)
            await self._database.write(lambda connection: _CLAIMS.let_go(connection, theirs, now_us=now_us))

    async def overdue(self, kind: str, since_us: int, limit: int) -> Sequence[str]:
        """Whose moments nobody has taken up since then."""
        asked = select(_c.id).where(_c.kind == kind, _c.look_at <= since_us).order_by(_c.look_at).limit(limit)
        return await self._database.read(lambda connection: connection.execute(asked).scalars().all())
