"""The one MetaData, its naming rules, and the schemas it spans on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlalchemy import MetaData

MESSENGER: Final = "messenger"
SWITCHBOARD: Final = "switchboard"
SHARED: Final = "shared"
SCHEMAS: Final = (MESSENGER, SWITCHBOARD, SHARED)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def one_of(column: str, values: Iterable[str]) -> str:
    return f"{column} IN ({', '.join(repr(str(value)) for value in values)})"
