"""The one MetaData, and bringing a database to the newest schema: Alembic only where there is something to bring."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Index, MetaData, Table, TextClause, event, inspect, text

from postroom.kernel.values.errors import UserError

if TYPE_CHECKING:
    from alembic.config import Config


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


# An index over some rows of a table, with the same condition on every database.


def partial_index(name: str, *columns: str, where: TextClause, unique: bool = False) -> Index:
    return Index(name, *columns, unique=unique, sqlite_where=where, info={_FOR_POSTGRES: {"postgresql_where": where}})


# What PostgreSQL alone is told of a table or an index: said to the library when PostgreSQL makes it, and not before.
#
# To name one of its options loads all that the library knows of PostgreSQL, which is 2 MB of a household on SQLite.

_FOR_POSTGRES: Final = "for_postgres"  # the key, in the `info` of a table or an index


@event.listens_for(metadata, "before_create")
def _say(target: MetaData, connection: Connection, **_: Any) -> None:
    if connection.dialect.name == "postgresql":
        made = target.tables.values()
        everything: list[Table | Index] = [*made, *(index for table in made for index in table.indexes)]
        for one in everything:
            one.dialect_kwargs.update(one.info.get(_FOR_POSTGRES, {}))


# Migrations. They are run by one process at a time.

Shown = Callable[[int, int], None]

_LOCK = 0x706F7374726F6F6D  # any constant will do; every process must use the same one


class NewerDatabase(UserError):
    """A later version of the program has worked on it, and this one must not."""

    def __init__(self, current: str) -> None:
        super().__init__(
            f"The database is {about_newer(current)}: install the newer Postroom again, or restore a backup "
            "that is older."
        )


class UnreleasedDatabase(UserError):
    """It was made before the first release, whose migrations begin with all tables at once."""

    def __init__(self, current: str) -> None:
        super().__init__(
            f"The database is {about_unreleased(current)}: begin with an empty one (another --home or database_url)."
        )


def about_newer(current: str) -> str:
    return f"at revision {current}, which is newer than this program (it knows {newest()})"


def about_unreleased(current: str) -> str:
    return f"at revision {current}, from before the first release, which this program does not bring further"


def _config() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(files("postroom.kernel.database").joinpath("migrations")))
    config.set_main_option("path_separator", "os")
    return config


def upgrade(connection: Connection, show: Shown | None = None) -> tuple[str | None, str | None]:
    """Returns the revision before and after; counts when the caller commits. `show` hears of each step."""
    if connection.dialect.name == "postgresql":  # several processes may start at once; one of them migrates
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})  # held until the commit
    before = known_revision(connection)
    if before == newest():
        return before, before
    from alembic import command

    config = _config()
    config.attributes["connection"] = connection
    if show is not None:
        config.attributes["applied"] = _counting(show, _steps_after(before))
    command.upgrade(config, "head")
    return before, revision(connection)


def revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("postroom_version"):
        return None
    return connection.execute(text("SELECT version_num FROM postroom_version")).scalar()


def known_revision(connection: Connection) -> str | None:
    """Raises NewerDatabase or UnreleasedDatabase when there is one that this program does not know."""
    current = revision(connection)
    if is_newer(current):
        raise NewerDatabase(str(current))
    if is_unreleased(current):
        raise UnreleasedDatabase(str(current))
    return current


def is_newer(current: str | None) -> bool:
    return current is not None and current > newest()


def is_unreleased(current: str | None) -> bool:
    return current is not None and current < _revisions()[-1]


def _steps_after(before: str | None) -> int:
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory.from_config(_config())
    return len(list(scripts.iterate_revisions("head", before or "base")))


def _counting(show: Shown, total: int) -> Callable[..., None]:
    done = itertools.count(1)

    def applied(**_about: Any) -> None:
        show(next(done), total)

    return applied


def newest() -> str:
    return _revisions()[0]


@cache
def _revisions() -> tuple[str, ...]:
    """Newest first. They come with the program: each is a file that is named after it, as m0109_baseline.py is."""
    scripts = files("postroom.kernel.database").joinpath("migrations", "versions").iterdir()
    return tuple(sorted((one.name[1:5] for one in scripts if one.name[1:5].isdecimal()), reverse=True))


# Plain SQL for migrations that reads the same on SQLite and PostgreSQL.


def on_postgres() -> bool:
    from alembic import op  # only a migration runs here

    return op.get_bind().dialect.name == "postgresql"


def run(statements: Iterable[str]) -> None:
    """`{messenger}`, `{switchboard}` and `{shared}` stand for the schema, which SQLite has not."""
    from alembic import op

    names = ("messenger", "switchboard", "shared")
    prefixes = {name: f"{name}." if on_postgres() else "" for name in names}
    for statement in statements:
        op.get_bind().exec_driver_sql(statement.format(**prefixes))
