"""Values of the engine as JSON and back, by their own types: one codec for facts, decisions, state and messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime, time
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from postroom.work.attention import facts
from postroom.work.attention.decisions import Decision

Value = TypeVar("Value")
Read = Callable[[Any], Any]
EVENTS: Final[Mapping[str, type[Any]]] = {
    kind.__name__: kind for kind in (*get_args(facts.Fact), Decision)
}  # by the name under which they are in the log
_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


def encoded(value: Any) -> str:
    """What has its default is left out, so a field that is added later reads old rows; one that is gone is skipped."""
    return _write(_plain(value))


def decoded(kind: type[Value], text: str) -> Value:
    value: Value = _reader(kind)(json.loads(text))  # type: ignore[arg-type]  # types can be hashed
    return value


def decoded_event(kind: str, text: str) -> facts.Fact | Decision:
    event: facts.Fact | Decision = decoded(EVENTS[kind], text)
    return event


def _plain(value: Any) -> Any:
    if value is None or type(value) in (str, int, bool, float):
        return value
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, time | datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return [[_plain(name), _plain(one)] for name, one in value.items()]
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if is_dataclass(value):
        every = ((one, getattr(value, one.name)) for one in fields(value))
        return {one.name: _plain(given) for one, given in every if not _is_default(one, given)}
    return str(value) if isinstance(value, str) else value


def _is_default(one: Field[Any], given: Any) -> bool:
    return one.default is not MISSING and type(one.default) is type(given) and bool(one.default == given)


@cache
def _reader(kind: Any) -> Read:
    origin, inner = get_origin(kind), get_args(kind)
    if hasattr(kind, "__supertype__"):
        return _reader(kind.__supertype__)
    if origin in (Union, UnionType):
        return _optional(_reader(next(one for one in inner if one is not NoneType)))
    if origin is tuple:
        return _tuple(inner)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(_reader(inner[0]), _reader(inner[1]))
    if is_dataclass(kind):
        return _record(kind)
    if isinstance(kind, type) and issubclass(kind, time | datetime):
        return kind.fromisoformat
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind
    return _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _optional(read: Read) -> Read:
    return lambda value: None if value is None else read(value)


def _tuple(inner: tuple[Any, ...]) -> Read:
    if len(inner) == 2 and inner[1] is Ellipsis:
        each = _reader(inner[0])
        return lambda value: tuple(each(one) for one in value)
    every = [_reader(one) for one in inner]
    return lambda value: tuple(read(one) for read, one in zip(every, value, strict=True))


def _mapping(name: Read, one: Read) -> Read:
    return lambda value: {name(key): one(item) for key, item in value}


def _record(kind: Any) -> Read:
    hints = get_type_hints(kind)
    readers = {one.name: _reader(hints[one.name]) for one in fields(kind)}
    return lambda value: kind(**{name: readers[name](one) for name, one in value.items() if name in readers})
