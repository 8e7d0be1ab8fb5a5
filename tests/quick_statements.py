"""Statements, put into SQL once per run: every test has a database of its own, and SQLAlchemy writes them all again."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import Any

from sqlalchemy.engine import Compiled, Dialect, Engine
from sqlalchemy.util import LRUCache

_MOST = 5000


class _Written:
    """By what is asked in which words: two engines of one kind, on servers of one version, are asked in the same."""

    def __init__(self) -> None:
        self._known: LRUCache[Hashable, Compiled] = LRUCache(_MOST)

    def get(self, key: tuple[Any, ...]) -> Compiled | None:
        return self._known.get(_shared(key))

    def __setitem__(self, key: tuple[Any, ...], compiled: Compiled) -> None:
        self._known[_shared(key)] = compiled


def _shared(key: tuple[Any, ...]) -> Hashable:
    dialect, *asked = key
    return (_words(dialect), *asked)


def _words(dialect: Dialect) -> Hashable:
    return (type(dialect), dialect.server_version_info, dialect.paramstyle)


@cache
def configure() -> None:
    written = _Written()
    Engine._compiled_cache = property(lambda _engine: written, lambda _engine, _own: None)
