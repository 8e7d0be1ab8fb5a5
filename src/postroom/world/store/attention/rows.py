"""Rows of attention, read and written; columns are named here alone."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row

from postroom.domain.notice_rows import DigestRow, LogRow, NoticeRow, PersonRow, SendRow
from postroom.world.store.engine.rows import read, values


def person_of(row: Row[Any]) -> PersonRow:
    return read(PersonRow, row, next_us=row.next_at)


def person_values(one: PersonRow) -> dict[str, Any]:
    return {"person": one.person, "policy": one.policy, "rest": one.rest, "seq": one.seq, "next_at": one.next_us}


def notice_of(row: Row[Any]) -> NoticeRow:
    return read(NoticeRow, row, created_us=row.created_at, path=())


def notice_values(one: NoticeRow) -> dict[str, Any]:
    return values(one, without=("created_us", "path"), created_at=one.created_us)


def send_of(row: Row[Any]) -> SendRow:
    return read(SendRow, row, lease_us=row.lease_until)


def send_values(one: SendRow) -> dict[str, Any]:
    return values(one, without=("lease_us",), lease_until=one.lease_us)


def digest_of(row: Row[Any]) -> DigestRow:
    return DigestRow(id=row.id, person=row.person, digest=row.digest)


def log_of(row: Row[Any]) -> LogRow:
    return read(LogRow, row)


def log_values(one: LogRow) -> dict[str, Any]:
    return values(one)
