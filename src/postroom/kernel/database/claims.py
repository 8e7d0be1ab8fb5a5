"""
Lease and fence: how any number of workers share the rows of a table, and each is worked on by one of them.

Who takes a row has it until its lease ends, under a fence higher than all before. When the lease has ended, the next
one who looks takes it up; whatever the first one still writes is refused, because the fence has moved on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    Connection,
    Integer,
    Row,
    Table,
    and_,
    bindparam,
    delete,
    select,
    tuple_,
    update,
)

from postroom.kernel.database.engine import Repeated
from postroom.kernel.database.prepared import Prepared
from postroom.kernel.database.rows import Columns

_EVER_US: Final = 2**62
_NOW: Final[BindParameter[int]] = bindparam("at_now")  # no column is called like one of these
_MOST: Final[BindParameter[int]] = bindparam("at_most", type_=Integer)
_KEYS: Final[BindParameter[Any]] = bindparam("these_keys", expanding=True)


class Claims:
    """
    The claims on one table, which is a constant of its slice.

    `waiting`: the rows with which there is something to do. `lease`: until when one is somebody's; a row that nobody
    has may have its own moment there, before which it is not due. `due`: from when on it may be taken, where that is
    not simply the lease. Without a lease, what was taken waits no more, and its slice knows when its owner is lost.
    """

    def __init__(
        self,
        table: Table,
        waiting: ColumnElement[bool],
        *,
        fence: Column[int],
        lease: Column[Any] | None = None,
        due: ColumnElement[int] | None = None,
        order: ColumnElement[Any] | None = None,
    ) -> None:
        due = lease if due is None else due
        self._key = tuple(table.primary_key.columns)
        self._table, self._fence, self._lease, self._waiting = table, fence, lease, waiting
        self._free = waiting if due is None else and_(waiting, due <= _NOW)
        self._order = due if order is None else order
        keys: ColumnElement[Any] = self._key[0] if len(self._key) == 1 else tuple_(*self._key)
        self._found = (
            select(*self._key).where(self._free).order_by(self._order).limit(_MOST).with_for_update(skip_locked=True)
        )
        self._find = Prepared(self._found)
        # Asked again in the change: a rival may have taken rows of the same key between the two.
        self._taken = update(table).where(keys.in_(_KEYS), self._free).values({fence: fence + 1}).returning(table)
        self._take = Prepared(self._taken)
        self._change = update(table)
        self._held = self._change.where(
            *(column == bindparam(f"this_{place}") for place, column in enumerate(self._key)),
            fence == bindparam("this_fence"),
        )
        self._write_held = Prepared(self._held)
        first = select(due).where(waiting, due.is_not(None)).order_by(due).limit(1) if due is not None else None
        self._first = None if first is None else Prepared(first)

    async def may_be_due(self, repeated: Repeated, now_us: int) -> bool:
        """
        Asked every second, and mostly there is nothing: it costs a file at rest no transaction that writes. A server
        would be asked twice; there `take` itself writes nothing where nothing is due.
        """
        if self._first is None or not repeated.is_spared:
            return True
        first = self._first
        first_us = await repeated.read(self, lambda connection: first.run(connection).scalar())
        return first_us is not None and first_us <= now_us

    def take(
        self,
        connection: Connection,
        *also: ColumnElement[bool],
        limit: int,
        now_us: int,
        lease_until_us: int | None = None,
        values: Columns | None = None,
    ) -> list[Row[Any]]:
        """Those that come first and are nobody's, as they are from now on; rivals at the same moment get others."""
        wanted = {"at_now": now_us, "at_most": limit}
        waiting: Iterable[Any] = (
            connection.execute(self._found.where(*also), wanted) if also else self._find.run(connection, wanted)
        )
        keys = list(dict.fromkeys(map(self._named, waiting)))
        if not keys:
            return []
        lease = {self._lease.name: lease_until_us} if self._lease is not None else {}
        these = {"these_keys": keys, "at_now": now_us}
        if values or len(self._key) > 1:
            taken = self._taken.values({**lease, **(values or {})})
            rows: Sequence[Any] = connection.execute(taken, these).all()
        else:
            rows = self._take.run(connection, {**lease, **these})
        places = {key: place for place, key in enumerate(keys)}
        return sorted(rows, key=lambda row: places[self._named(row)])

    def write(
        self, connection: Connection, key: Any, fence: int, values: Columns, *expected: ColumnElement[bool]
    ) -> bool:
        """For whoever has it: settle it, give it back, or renew its lease. False when the fence has moved on."""
        named = key if len(self._key) > 1 else (key,)
        mine = {f"this_{place}": one for place, one in enumerate(named)}
        given = {**values, **mine, "this_fence": fence}
        if expected:
            return connection.execute(self._held.where(*expected), given).rowcount > 0
        return self._write_held.run(connection, given).rowcount > 0

    def remove(self, connection: Connection, key: Any, fence: int) -> bool:
        """For whoever has it, where nothing is kept of what is over; False when the fence has moved on."""
        return connection.execute(delete(self._table).where(*self._mine(key, fence))).rowcount > 0

    def let_go(
        self, connection: Connection, *also: ColumnElement[bool], now_us: int, before_us: int = _EVER_US
    ) -> None:
        """Claims that last until then at most belong to a process that is no more: they are due at once."""
        assert self._lease is not None  # noqa: S101  # narrows the type
        theirs = (self._waiting, self._fence > 0, self._lease > now_us, self._lease <= before_us, *also)
        connection.execute(self._change.where(*theirs).values({self._lease: now_us}))

    # What the statements of a hot path say of it, which talk to the driver in their own SQL.

    def taking(self, lease_until: str) -> str:
        """In the SET list of the statement that takes."""
        assert self._lease is not None  # noqa: S101  # narrows the type
        return f"{self._fence.name} = {self._fence.name} + 1, {self._lease.name} = {lease_until}"

    def held(self, row: str, key: str, fence: str) -> str:
        """In the condition of a statement that writes for whoever has the row under this fence."""
        [named] = self._key
        return f"{row}.{named.name} = {key} AND {row}.{self._fence.name} = {fence}"

    def _mine(self, key: Any, fence: int) -> tuple[ColumnElement[bool], ...]:
        named = zip(self._key, key if len(self._key) > 1 else (key,), strict=True)
        return (*(column == value for column, value in named), self._fence == fence)

    def _named(self, row: Row[Any]) -> Any:
        values = tuple(getattr(row, column.name) for column in self._key)
        return values[0] if len(values) == 1 else values
