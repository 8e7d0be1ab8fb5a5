"""Uploads on disk: handed in, found again, and taken by one delivery."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Index,
    Table,
    Text,
    UniqueConstraint,
    and_,
    exists,
    func,
    insert,
    not_,
    or_,
    select,
    update,
)

from postroom.delivery.store.tables import delivery_requests
from postroom.kernel.database.engine import Database, write_twice
from postroom.kernel.database.rows import read, values
from postroom.kernel.database.schema import SHARED, metadata
from postroom.kernel.values.errors import Code, OverloadRejected, Refused
from postroom.message.attachment import CLAIM_US, Upload

# `used_by` is the idempotency key of the delivery it went with; `key` is the caller's own, for the upload itself.
uploads = Table(
    "uploads",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("key", Text),
    Column("used_by", Text),
    Column("used_at", BigInteger),
    UniqueConstraint("owner", "key", name="uq_uploads_owner_key"),
    Index("ix_uploads_owner_created_at", "owner", "created_at"),
    Index("ix_uploads_sha256", "sha256"),
    Index("ix_uploads_expires_at", "expires_at"),
    schema=SHARED,
)

_AGAIN_SECONDS: Final = 3600.0
_table = uploads.c


class StoredUploads:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, new: Sequence[Upload], *, most_bytes: int, since_us: int) -> Sequence[Upload]:
        def work(connection: Connection) -> list[Upload]:
            known = [_known(connection, one) for one in new]
            fresh = [one for one, found in zip(new, known, strict=True) if found is None]
            if fresh:
                _check_day(connection, fresh, most_bytes, since_us)
                connection.execute(insert(uploads), [_row(one) for one in fresh])
            return [found or one for one, found in zip(new, known, strict=True)]

        return await write_twice(self._database, work)

    async def find(self, ids: Sequence[str]) -> Sequence[Upload]:
        asked = select(uploads).where(_table.id.in_(ids))
        return await self._database.read(lambda connection: [_upload(row) for row in connection.execute(asked)])

    async def claim(self, ids: Sequence[str], owner: str, used_by: str, now_us: int) -> bool:
        def work(connection: Connection) -> bool:
            free = or_(
                _table.used_by == used_by,
                and_(_table.used_by.is_(None), _table.expires_at > now_us),
                and_(_table.used_at <= now_us - CLAIM_US, not_(has_delivery())),
            )
            mine = select(_table.id).where(_table.id.in_(ids), _table.owner == owner, free).with_for_update()
            if set(connection.execute(mine).scalars()) != set(ids):
                return False
            taken = update(uploads).where(_table.id.in_(ids)).values(used_by=used_by, used_at=now_us)
            connection.execute(taken)
            return True

        return await self._database.write(work)


def has_delivery() -> ColumnElement[bool]:
    """Whether the delivery that took the upload was really written, and is still there."""
    return exists().where(delivery_requests.c.idempotency_key == _table.used_by)


def kept_among(connection: Connection, hashes: Sequence[str]) -> set[str]:
    """Which of these some upload still needs; that of a delivery stays as long as the delivery."""
    return set(connection.execute(select(_table.sha256).where(_table.sha256.in_(hashes)).distinct()).scalars())


def waiting_files(connection: Connection) -> list[tuple[str, str]]:
    """Each delivery that is still to be sent, with its files."""
    requests = delivery_requests.c
    asked = select(requests.id, requests.attachments)
    open_ones = asked.where(requests.attachments.is_not(None), requests.terminal_at.is_(None))
    return [(row.id, row.attachments) for row in connection.execute(open_ones)]


def _known(connection: Connection, one: Upload) -> Upload | None:
    """What was handed in under the caller's own key before."""
    if one.key is None:
        return None
    row = connection.execute(select(uploads).where(_table.owner == one.owner, _table.key == one.key)).first()
    if row is None:
        return None
    if (row.sha256, row.name, row.media_type) != (one.sha256, one.name, one.media_type):
        raise Refused(Code.KEY_REUSED, "this idempotency key was used for another file")
    return _upload(row)


def _check_day(connection: Connection, new: Sequence[Upload], most_bytes: int, since_us: int) -> None:
    owner = new[0].owner
    asked = select(func.coalesce(func.sum(_table.size), 0)).where(_table.owner == owner, _table.created_at >= since_us)
    if connection.execute(asked).scalar_one() + sum(one.size for one in new) > most_bytes:
        told = f"{owner} has handed in {most_bytes:,} bytes of files within a day, which is the limit"
        raise OverloadRejected(told, limit_type="uploads", retry_after_seconds=_AGAIN_SECONDS)


def _row(one: Upload) -> dict[str, Any]:
    return values(one, without=("used_by", "used_at_us"))


def _upload(row: Any) -> Upload:
    return read(Upload, row)
