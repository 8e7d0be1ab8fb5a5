"""Read JSON, also with comments and commas at the end, and remember where everything stands in the text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from postroom.programs.connect.not_readable import NotReadable

_TRIVIA: Final = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.S)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_DEEPEST: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A value from `start` to `end`; `begin` is where its member begins, the name included."""

    begin: int
    start: int
    end: int
    value: Any
    children: tuple[Node, ...] = field(default=(), repr=False)
    names: tuple[str, ...] = ()  # of an object, beside its children

    @property
    def is_object(self) -> bool:
        return isinstance(self.value, dict)

    @property
    def is_array(self) -> bool:
        return isinstance(self.value, list)

    def member(self, name: str) -> Node | None:
        """The last of that name: the others do not count for a reader either."""
        found = [child for known, child in zip(self.names, self.children, strict=False) if known == name]
        return found[-1] if self.is_object and found else None


def scan(text: str) -> Node:
    """Raises NotReadable. A text without a value is an empty object."""
    first = after_trivia(text, 0)
    if first == len(text):
        return Node(begin=first, start=first, end=first, value={})
    node = _value(text, first, first, 0)
    if (rest := after_trivia(text, node.end)) < len(text):
        raise NotReadable.at(text, rest, "something follows the end of the document")
    return node


def after_trivia(text: str, place: int) -> int:
    found = _TRIVIA.match(text, place)
    return found.end() if found else place


def _value(text: str, begin: int, start: int, depth: int) -> Node:
    if depth > _DEEPEST:
        raise NotReadable.at(text, start, "too many values inside each other")
    if text.startswith(("{", "["), start):
        return _container(text, begin, start, depth)
    found = _STRING.match(text, start) or _SCALAR.match(text, start)
    if found is None:
        raise NotReadable.at(text, start, "this is not JSON")
    return Node(begin=begin, start=start, end=found.end(), value=_plain(text, found[0], start))


def _plain(text: str, written: str, start: int) -> Any:
    try:
        return json.loads(written)
    except ValueError:
        raise NotReadable.at(text, start, "this is not JSON") from None


def _container(text: str, begin: int, start: int, depth: int) -> Node:
    is_object = text[start] == "{"
    close = "}" if is_object else "]"
    names: list[str] = []
    children: list[Node] = []
    place = after_trivia(text, start + 1)
    while not text.startswith(close, place):
        first = place
        if is_object:
            name, place = _name(text, place)
            names.append(name)
        children.append(_value(text, first, place, depth + 1))
        place = _separated(text, children[-1].end, close)
    values = [child.value for child in children]
    value: Any = dict(zip(names, values, strict=True)) if is_object else values
    return Node(begin=begin, start=start, end=place + 1, value=value, children=tuple(children), names=tuple(names))


def _name(text: str, place: int) -> tuple[str, int]:
    found = _STRING.match(text, place)
    if found is None:
        raise NotReadable.at(text, min(place, len(text)), "a name in quotation marks is missing")
    colon = after_trivia(text, found.end())
    if not text.startswith(":", colon):
        raise NotReadable.at(text, colon, "a colon is missing")
    return str(_plain(text, found[0], place)), after_trivia(text, colon + 1)


def _separated(text: str, end: int, close: str) -> int:
    place = after_trivia(text, end)
    if text.startswith(",", place):
        return after_trivia(text, place + 1)
    if not text.startswith(close, place):
        raise NotReadable.at(text, place, f"a comma or {close} is missing")
    return place
