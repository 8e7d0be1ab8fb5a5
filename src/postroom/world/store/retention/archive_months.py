"""The archive's months on PostgreSQL: a partition is made when the first row needs it, and dropped whole."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import Connection, text

from postroom.domain.time import to_datetime, to_us

_NAME: Final = re.compile(r"delivery_archive_(\d{4})_(\d{2})", re.ASCII)
_PARTITIONS: Final = text(
    "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
    "WHERE i.inhparent = 'messenger.delivery_archive'::regclass"
)
_NOT_FOR_LONG: Final = "SET LOCAL lock_timeout = '1s'"  # a backup may read for hours: then the next run makes it

Month = tuple[int, int]


def month_of(moment_us: int) -> Month:
    moment = to_datetime(moment_us)
    return moment.year, moment.month


def span_of(month: Month) -> tuple[int, int]:
    """From its first microsecond to the next month's."""
    year, number = month
    following = (year + 1, 1) if number == 12 else (year, number + 1)
    return to_us(datetime(year, number, 1, tzinfo=UTC)), to_us(datetime(*following, 1, tzinfo=UTC))


def make_months(connection: Connection, moments_us: Iterable[int]) -> None:
    """Looks first: making one waits for whoever is reading the archive, and everybody else waits behind it."""
    if connection.dialect.name != "postgresql":
        return
    for month in sorted({month_of(moment) for moment in moments_us} - months(connection)):
        connection.exec_driver_sql(_NOT_FOR_LONG)
        first, last = span_of(month)
        connection.exec_driver_sql(
            f"CREATE TABLE IF NOT EXISTS messenger.{name_of(month)} "
            f"PARTITION OF messenger.delivery_archive FOR VALUES FROM ({first}) TO ({last})"
        )


def months(connection: Connection) -> set[Month]:
    found = (_NAME.fullmatch(name) for name in connection.execute(_PARTITIONS).scalars())
    return {(int(match[1]), int(match[2])) for match in found if match}


def drop_months(connection: Connection, before_us: int) -> bool:
    """Those that end before the moment; False where there are no partitions to drop."""
    if connection.dialect.name != "postgresql":
        return False
    for month in sorted(month for month in months(connection) if span_of(month)[1] <= before_us):
        connection.exec_driver_sql(_NOT_FOR_LONG)
        connection.exec_driver_sql(f"DROP TABLE messenger.{name_of(month)}")
    return True


def name_of(month: Month) -> str:
    return f"delivery_archive_{month[0]:04d}_{month[1]:02d}"
