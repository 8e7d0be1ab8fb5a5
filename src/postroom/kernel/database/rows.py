"""Between rows and dataclasses whose fields are called like the columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from enum import Enum
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar, get_args, get_type_hints

Record = TypeVar("Record")
UNREADABLE: Final = (TypeError, ValueError, LookupError, OverflowError, RecursionError)
"""What reading a row may raise whose values were changed from outside, or by a broken disk."""


class _Column(NamedTuple):
    field: str
    name: str
    read: Callable[[Any], Any] | None


def read(kind: type[Record], row: Any, **otherwise: Any) -> Record:
    """
    The record that a row holds; `otherwise` are the fields that are not simply their column.

    A moment's column has no unit: `read_at_us` is in `read_at`. Enums are kept by value.
    """
    values = row if isinstance(row, Mapping) else row._mapping
    for field, name, convert in _columns(kind):  # type: ignore[arg-type]  # mypy takes no class for hashable
        if field not in otherwise:
            value = values[name]
            otherwise[field] = value if convert is None or value is None else convert(value)
    return kind(**otherwise)


def check_legible(row: Any) -> None:
    """Raises ValueError when a text in it is none: bytes that no text has come as surrogates."""
    for value in row:
        if isinstance(value, str) and not value.isascii():
            value.encode()


def values(record: Any, without: Collection[str] = (), **otherwise: Any) -> dict[str, Any]:
    """What a row is written with: `without` names fields, `otherwise` columns that are not simply their field."""
    columns = _columns(type(record))  # type: ignore[arg-type]
    plain = {one.name: getattr(record, one.field) for one in columns if one.field not in without}
    return {name: one.value if isinstance(one, Enum) else one for name, one in plain.items()} | otherwise


@cache
def _columns(kind: type[Any]) -> tuple[_Column, ...]:
    hints = get_type_hints(kind)
    return tuple(_Column(one.name, one.name.removesuffix("_us"), _reading(hints[one.name])) for one in fields(kind))


def _reading(hint: Any) -> Callable[[Any], Any] | None:
    kinds = [one for one in get_args(hint) or (hint,) if one is not type(None)]
    converts = len(kinds) == 1 and isinstance(kinds[0], type) and issubclass(kinds[0], Enum | bool)
    return kinds[0] if converts else None
