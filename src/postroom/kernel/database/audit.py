"""What people did: written once, in the transaction of the act, and never changed by another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from sqlalchemy import BigInteger, CheckConstraint, Column, Connection, Index, Table, Text, select, tuple_

from postroom.kernel.audit import AuditEntry, AuditKind, AuditQuery, NewAudit
from postroom.kernel.database.engine import Database, insert_for
from postroom.kernel.database.prepared import Prepared
from postroom.kernel.database.rows import read, values
from postroom.kernel.database.schema import SHARED, metadata, one_of

_LONGEST_DETAIL: Final = 200

audit_entries = Table(
    "audit_entries",
    metadata,
    Column("id", Text, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("act", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("door", Text, nullable=False),
    CheckConstraint(one_of("kind", AuditKind), name="kind"),
    Index("ix_audit_entries_at_id", "at", "id"),
    Index("ix_audit_entries_actor", "actor", "at", "id"),
    Index("ix_audit_entries_kind", "kind", "at", "id"),
    schema=SHARED,
)


class StoredAudit:
    def __init__(self, database: Database, mint: Callable[[int], str]) -> None:
        self._database = database
        self._mint = mint

    async def add(self, new: NewAudit, now_us: int) -> None:
        await self._database.write(lambda connection: add_entry(connection, self._mint(now_us), new, now_us))

    async def page(self, query: AuditQuery) -> Sequence[AuditEntry]:
        """The newest first."""

        def work(connection: Connection) -> list[AuditEntry]:
            found = [entry for one in _of_each(query) for entry in _entries(connection, one)]
            return sorted(found, key=lambda one: (one.at_us, one.id), reverse=True)[: query.limit]

        return await self._database.read(work)


def _of_each(query: AuditQuery) -> list[AuditQuery]:
    """The indexes are in order within one actor only."""
    return [replace(query, actors=(one,)) for one in query.actors] or [query]


def add_entry(connection: Connection, entry_id: str, new: NewAudit, now_us: int) -> None:
    """In the transaction of the act itself; under the id of a record of its own it stands there once."""
    short = {name: getattr(new, name)[:_LONGEST_DETAIL] for name in ("act", "subject", "detail")}
    row = values(new, **short, id=entry_id, at=now_us)
    _ADD.run(connection, row)


_ADD: Final = Prepared(
    lambda connection: insert_for(connection, audit_entries).on_conflict_do_nothing(index_elements=["id"])
)


def _entries(connection: Connection, query: AuditQuery) -> list[AuditEntry]:
    table = audit_entries.c
    asked = select(audit_entries).order_by(table.at.desc(), table.id.desc()).limit(query.limit)
    if query.actors:
        asked = asked.where(table.actor.in_(query.actors))
    if query.kind is not None:
        asked = asked.where(table.kind == str(query.kind))
    if query.before is not None:
        asked = asked.where(tuple_(table.at, table.id) < query.before)
    return [read(AuditEntry, row) for row in connection.execute(asked)]
