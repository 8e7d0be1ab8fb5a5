"""
What PostgreSQL alone is told of a table or an index: said to the library when PostgreSQL makes it, and not before.

To name one of its options loads all that the library knows of PostgreSQL, which is 2 MB of a household on SQLite.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, Index, MetaData, Table, event

from postroom.world.store.tables.metadata import metadata

FOR_POSTGRES: Final = "for_postgres"  # the key, in the `info` of a table or an index


@event.listens_for(metadata, "before_create")
def _say(target: MetaData, connection: Connection, **_: Any) -> None:
    if connection.dialect.name == "postgresql":
        made = target.tables.values()
        everything: list[Table | Index] = [*made, *(index for table in made for index in table.indexes)]
        for one in everything:
            one.dialect_kwargs.update(one.info.get(FOR_POSTGRES, {}))
