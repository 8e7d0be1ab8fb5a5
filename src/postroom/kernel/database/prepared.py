"""Statements of busy paths: made by SQLAlchemy once, and from then on run by the driver."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Executable
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ClauseElement

_NOTHING: Final[Mapping[str, Any]] = {}


class Rows(list[Any]):
    """All that a statement returned; each row has its columns as attributes, as the library's own have."""

    rowcount: int = -1

    def first(self) -> Any | None:
        return self[0] if self else None

    def scalar(self) -> Any | None:
        return self[0][0] if self else None

    def scalars(self) -> list[Any]:
        return [row[0] for row in self]


class _Text(NamedTuple):
    """As one database takes it, for so many values in each list; `fixed` are the values that always are the same."""

    sql: str
    names: tuple[str, ...]
    fixed: Mapping[str, Any]
    lists: Mapping[str, Sequence[str]]

    def values(self, given: Mapping[str, Any]) -> list[Any]:
        every = {**self.fixed, **given}
        for name, each in self.lists.items():
            every.update(zip(each, given[name], strict=True))
        return [every[name] for name in self.names]


class Prepared:
    """
    A constant of its module: what the library does to say it anew each time costs ten times what SQLite takes for it.

    Its parameters are of types that the driver takes as they are: text, numbers, truth. What it returns are texts and
    numbers as the driver has them, so that on SQLite truth is a number; `rows.read` makes of them what they mean.
    """

    def __init__(self, statement: Executable | Callable[[Connection], Executable]) -> None:
        """A function of the connection where each database has its own."""
        self._statement = statement
        self._texts: dict[tuple[Any, ...], _Text] = {}
        self._shapes: dict[tuple[str, ...], Callable[[Iterable[Any]], Any]] = {}

    def run(self, connection: Connection, given: Mapping[str, Any] = _NOTHING) -> Rows:
        text, cursor = self._text(connection, given), connection.connection.cursor()
        try:
            cursor.execute(text.sql, text.values(given))
            found = Rows()
            found.rowcount = cursor.rowcount
            if cursor.description:
                shape = self._shape(tuple([column[0] for column in cursor.description]))
                found += map(shape, cursor.fetchall())
        except _failures(connection) as error:
            raise _translated(connection, text.sql, error) from error
        finally:
            cursor.close()
        return found

    def run_each(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Once for every row, all of which give the same columns; for what returns nothing."""
        if not rows:
            return
        text, cursor = self._text(connection, rows[0]), connection.connection.cursor()
        try:
            cursor.executemany(text.sql, [text.values(row) for row in rows])
        except _failures(connection) as error:
            raise _translated(connection, text.sql, error) from error
        finally:
            cursor.close()

    def _text(self, connection: Connection, given: Mapping[str, Any]) -> _Text:
        lengths = [len(value) for value in given.values() if type(value) is list]
        key = (connection.dialect.name, *given, *lengths)
        text = self._texts.get(key)
        if text is None:
            text = self._texts[key] = self._made(connection, given)
        return text

    def _made(self, connection: Connection, given: Mapping[str, Any]) -> _Text:
        statement = self._statement if isinstance(self._statement, Executable) else self._statement(connection)
        assert isinstance(statement, ClauseElement)  # noqa: S101  # narrows the type
        places = connection.get_execution_options().get("schema_translate_map")
        compiled = statement.compile(
            dialect=connection.dialect,
            column_keys=list(given),
            schema_translate_map=places,
            render_schema_translate=places is not None,
        )
        assert isinstance(compiled, SQLCompiler)  # noqa: S101  # narrows the type
        said = compiled.construct_expanded_state(dict(given), escape_names=False)
        if said.processors:
            raise TypeError("a prepared statement takes text, numbers and truth")
        lists = {name: said.parameter_expansion[name] for name in given if name in said.parameter_expansion}
        varying = {*given, *(one for each in lists.values() for one in each)}
        fixed = {name: value for name, value in said.parameters.items() if name not in varying}
        return _Text(said.statement, tuple(said.positiontup or ()), fixed, lists)

    def _shape(self, names: tuple[str, ...]) -> Callable[[Iterable[Any]], Any]:
        shape = self._shapes.get(names)
        if shape is None:
            row: Any = namedtuple("row", names, rename=True)  # type: ignore[misc]  # as the columns are called
            row._mapping = property(row._asdict)  # type: ignore[attr-defined]
            shape = self._shapes[names] = row._make
        return shape


def _failures(connection: Connection) -> type[Exception]:
    failure: type[Exception] = connection.dialect.loaded_dbapi.Error
    return failure


def _translated(connection: Connection, sql: str, error: Exception) -> BaseException:
    """As the library itself would raise it."""
    return DBAPIError.instance(
        sql, None, error, _failures(connection), hide_parameters=True, dialect=connection.dialect
    )
