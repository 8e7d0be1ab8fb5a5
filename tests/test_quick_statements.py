"""Statements that are put into SQL once for all databases of a run are still asked of each with its own values."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, column, create_engine, select, table, text

T = table("t", column("a"))


def _engine(path: Path, *values: int) -> Engine:
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE t (a INTEGER)"))
        connection.execute(T.insert(), [{"a": value} for value in values])
    return engine


def _above(connection: Connection, least: int) -> list[int]:
    return list(connection.execute(select(T.c.a).where(T.c.a > least).order_by(T.c.a)).scalars())


def test_each_database_answers_with_its_own_rows_and_each_question_with_its_own_values(tmp_path: Path) -> None:
    one, other = _engine(tmp_path / "one.db", 1, 2), _engine(tmp_path / "other.db", 3, 4)
    with one.connect() as first, other.connect() as second:
        assert [_above(first, 1), _above(second, 3), _above(first, 0)] == [[2], [4], [1, 2]]
    assert one._compiled_cache is other._compiled_cache
