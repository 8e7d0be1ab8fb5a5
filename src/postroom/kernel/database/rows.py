"""Between rows and dataclasses whose fields are called like the columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, is_dataclass
from datetime import time
from enum import Enum
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from postroom.kernel.values.fields import strict_json

Record = TypeVar("Record")
Columns = dict[str, Any]
"""What is written to a row, by column."""
UNREADABLE: Final = (TypeError, ValueError, LookupError, OverflowError, RecursionError)
"""What reading a row may raise whose values were changed from outside, or by a broken disk."""


class _Column(NamedTuple):
    field: str
    name: str
    read: Callable[[Any], Any] | None
    is_json: bool


def read(kind: type[Record], row: Any, **otherwise: Any) -> Record:
    """
    The record that a row holds; `otherwise` are the fields that are not simply their column.

    A moment's column has no unit: `read_at_us` is in `read_at`. Enums are kept by value; records inside the record,
    and several of anything, as JSON.
    """
    values = row if isinstance(row, Mapping) else row._mapping
    for field, name, convert, _ in _columns(kind):  # type: ignore[arg-type]  # mypy takes no class for hashable
        if field not in otherwise:
            value = values[name]
            otherwise[field] = value if convert is None or value is None else convert(value)
    return kind(**otherwise)


def check_legible(row: Any) -> None:
    """Raises ValueError when a text in it is none: bytes that no text has come as surrogates."""
    for value in row:
        if isinstance(value, str) and not value.isascii():
            value.encode()


def values(record: Any, without: Collection[str] = (), **otherwise: Any) -> Columns:
    """What a row is written with: `without` names fields, `otherwise` columns that are not simply their field."""
    columns = _columns(type(record))  # type: ignore[arg-type]
    wanted = [one for one in columns if one.field not in without and one.name not in otherwise]
    return {one.name: _written(getattr(record, one.field), is_json=one.is_json) for one in wanted} | otherwise


def _written(value: Any, *, is_json: bool) -> Any:
    if is_json:
        return None if value is None else to_json(value)
    return _plain(value)


def to_json(value: Any) -> str:
    """Of a record what is not its default, so a field that comes later reads old rows; what has no order is sorted."""
    return strict_json(_plain(value))


def _plain(value: Any) -> Any:
    if value is None or type(value) in (str, int, bool, float):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, time):
        return value.isoformat()
    if isinstance(value, Mapping):
        pairs = [(_plain(name), _plain(one)) for name, one in value.items()]
        return dict(pairs) if all(isinstance(name, str) for name, _ in pairs) else pairs
    if isinstance(value, tuple | list | frozenset):
        return [_plain(one) for one in (sorted(value) if isinstance(value, frozenset) else value)]
    if is_dataclass(value) and not isinstance(value, type):
        every = ((one, getattr(value, one.name)) for one in fields(value))
        return {
            one.name: _plain(given)
            for one, given in every
            if type(given) is not type(one.default) or given != one.default
        }
    return value


def of_json(kind: type[Record], text: str) -> Record:
    """The same back; what was not written yet when it was kept has its default."""
    make = _making(kind)  # type: ignore[arg-type]
    stored = json.loads(text)
    return stored if make is None else make(stored)  # type: ignore[no-any-return]


@cache
def _columns(kind: type[Any]) -> tuple[_Column, ...]:
    hints = get_type_hints(kind)
    return tuple(_column(one.name, _without_none(hints[one.name])) for one in fields(kind))


def _column(field: str, hint: Any) -> _Column:
    is_json, make = get_origin(hint) in (tuple, frozenset, Mapping) or is_dataclass(hint), _making(hint)
    if is_json and make is not None:
        kept = make
        make = lambda text: kept(json.loads(text))  # noqa: E731  # closes over what was found above
    elif is_json:
        make = json.loads
    elif hint is bool:
        make = bool
    return _Column(field, field.removesuffix("_us"), make, is_json)


@cache
def _making(hint: Any) -> Callable[[Any], Any] | None:
    """How a value of that type is made of what JSON says; None where it is that already."""
    kind = _without_none(hint)
    if isinstance(kind, type):
        if is_dataclass(kind):
            parts = {name: make for name, one in get_type_hints(kind).items() if (make := _making(one)) is not None}
            return lambda stored: kind(**{name: _made(parts.get(name), one) for name, one in stored.items()})
        if issubclass(kind, time):
            return kind.fromisoformat
        return kind if issubclass(kind, Enum) else None
    many, inner = get_origin(kind), get_args(kind)
    if many is frozenset or (many is tuple and inner[-1] is Ellipsis):
        each = _making(inner[0])
        return lambda stored: many(_made(each, one) for one in stored)
    if many is tuple:
        makes = [_making(one) for one in inner]
        return lambda stored: tuple(_made(make, one) for make, one in zip(makes, stored, strict=True))
    if many is not Mapping:
        return None
    name, value = map(_making, inner)
    if inner[0] is not str:
        return lambda stored: {_made(name, key): _made(value, one) for key, one in stored or ()}
    return None if value is None else lambda stored: {key: _made(value, one) for key, one in stored.items()}


def _made(make: Callable[[Any], Any] | None, stored: Any) -> Any:
    return stored if make is None or stored is None else make(stored)


def _without_none(hint: Any) -> Any:
    kinds = [one for one in get_args(hint) if one is not type(None)]
    return kinds[0] if type(None) in get_args(hint) and len(kinds) == 1 else hint
