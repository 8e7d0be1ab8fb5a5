"""Changes one value of a JSON text or one table of a TOML text, and leaves every other byte as it was."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from postroom.kernel.values.errors import UserError


class NotReadable(UserError):
    """What is wrong with the text, and where."""

    @classmethod
    def at(cls, text: str, place: int, wrong: str) -> NotReadable:
        return cls(f"line {text.count(chr(10), 0, place) + 1}: {wrong}")


# JSON, also with comments and commas at the end, and where everything stands in the text.

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
    first = _after_trivia(text, 0)
    if first == len(text):
        return Node(begin=first, start=first, end=first, value={})
    node = _value(text, first, first, 0)
    if (rest := _after_trivia(text, node.end)) < len(text):
        raise NotReadable.at(text, rest, "something follows the end of the document")
    return node


def _after_trivia(text: str, place: int) -> int:
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
    place = _after_trivia(text, start + 1)
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
    colon = _after_trivia(text, found.end())
    if not text.startswith(":", colon):
        raise NotReadable.at(text, colon, "a colon is missing")
    return str(_plain(text, found[0], place)), _after_trivia(text, colon + 1)


def _separated(text: str, end: int, close: str) -> int:
    place = _after_trivia(text, end)
    if text.startswith(",", place):
        return _after_trivia(text, place + 1)
    if not text.startswith(close, place):
        raise NotReadable.at(text, place, f"a comma or {close} is missing")
    return place


# Changing JSON.

_REST_OF_LINE: Final = re.compile(r"(?:[ \t]+|/\*[^\n]*?\*/)*(?://[^\n\r]*)?")
_INDENT: Final = re.compile(r"\n([ \t]+)[^\s]")
_SPACE: Final = " \t\r\n"

Path = tuple[str, ...]


def json_value(text: str, path: Path) -> Any:
    """The value there; None when there is none."""
    node = _node(scan(text), path)
    return None if node is None else node.value


def with_member(text: str, path: Path, value: Any) -> str:
    """The member of that path has this value; objects on the way are made."""
    root = _object(text, scan(text), ())
    if root.start == root.end:
        return _first_document(text, path, value)
    at, done = root, 0
    while done < len(path) - 1 and (inner := at.member(path[done])) is not None:
        at, done = _object(text, inner, path[: done + 1]), done + 1
    for name in reversed(path[done + 1 :]):
        value = {name: value}
    there = at.member(path[done])
    if there is not None:
        return _replaced(text, there, value)
    return _inserted(text, at, f"{json.dumps(path[done], ensure_ascii=False)}: ", value)


def _with_item(text: str, path: Path, value: Any) -> str:
    """One more item at the end of the array of that path."""
    there = _node(scan(text), path)
    if there is None:
        return with_member(text, path, [value])
    if not there.is_array:
        raise NotReadable(f"{'.'.join(path)} is not a list")
    return _inserted(text, there, "", value)


def without_member(text: str, path: Path) -> str:
    parent = _node(scan(text), path[:-1])
    child = parent.member(path[-1]) if parent else None
    return text if parent is None or child is None else _removed(text, parent, child)


def without_items(text: str, path: Path, goes: Callable[[Any], bool]) -> str:
    while True:
        array = _node(scan(text), path)
        gone = [one for one in array.children if goes(one.value)] if array and array.is_array else []
        if array is None or not gone:
            return text
        text = _removed(text, array, gone[-1])


def with_items_replaced(text: str, path: Path, ours: Callable[[Any], bool], value: Any) -> str:
    """The first of ours gets this value, the others go; without one of ours it is added at the end."""
    array = _node(scan(text), path)
    first = next((one for one in array.children if ours(one.value)), None) if array and array.is_array else None
    if first is None:
        return _with_item(text, path, value)
    text = _replaced(text, first, value)
    return without_items(text, path, lambda one: ours(one) and one != value)


def _node(root: Node, path: Path) -> Node | None:
    at: Node | None = root
    for name in path:
        at = at.member(name) if at else None
    return at


def _object(text: str, node: Node, path: Path) -> Node:
    if node.is_object:
        return node
    raise NotReadable.at(text, node.start, f"{'.'.join(path) or 'the document'} is not an object")


def _first_document(text: str, path: Path, value: Any) -> str:
    for name in reversed(path):
        value = {name: value}
    lead = text if not text or text.endswith("\n") or not text.strip("\ufeff \t") else text + "\n"
    return f"{lead}{json.dumps(value, indent=2, ensure_ascii=False)}\n"


def _replaced(text: str, node: Node, value: Any) -> str:
    if node.value == value:
        return text
    is_wide = "\n" in text[node.start : node.end] or not node.children
    written = _written(text, value, _line_indent(text, node.begin)) if is_wide else _compact(value)
    return text[: node.start] + written + text[node.end :]


def _inserted(text: str, parent: Node, name: str, value: Any) -> str:
    if parent.children and "\n" not in text[parent.start : parent.children[0].begin]:
        place = parent.children[-1].end
        return f"{text[:place]}, {name}{_compact(value)}{text[place:]}"
    if not parent.children:
        return _inserted_first(text, parent, name, value)
    last = parent.children[-1]
    indent = _line_indent(text, last.begin)
    written = f"{_newline(text)}{indent}{name}{_written(text, value, indent)}"
    comma = _after_trivia(text, last.end)
    if text.startswith(",", comma):
        place = _end_of_line(text, comma + 1)
        return text[:place] + written + text[place:]
    place = _end_of_line(text, last.end)
    return f"{text[: last.end]},{text[last.end : place]}{written}{text[place:]}"


def _inserted_first(text: str, parent: Node, name: str, value: Any) -> str:
    base = _line_indent(text, parent.begin)
    indent = base + _unit(text)
    inner = text[parent.start + 1 : parent.end - 1].rstrip(_SPACE)
    line = _newline(text)
    written = f"{inner}{line}{indent}{name}{_written(text, value, indent)}{line}{base}"
    return text[: parent.start + 1] + written + text[parent.end - 1 :]


def _removed(text: str, parent: Node, child: Node) -> str:
    start, end = child.begin, child.end
    while text[start - 1] in _SPACE:
        start -= 1
    comma = _after_trivia(text, end)
    if text.startswith(",", comma):
        return _closed(text[:start] + text[end:comma] + text[comma + 1 :], parent.start)
    place = parent.children.index(child)
    if place:  # the comma before it has nothing to separate any more
        before = _after_trivia(text, parent.children[place - 1].end)
        return text[:before] + text[before + 1 : start] + text[end:]
    return _closed(text[:start] + text[end:], parent.start)


def _closed(text: str, start: int) -> str:
    """An object or list with nothing in it any more is written without space."""
    end = start + 1
    while text[end] in _SPACE:
        end += 1
    return text[: start + 1] + text[end:] if text[end] in "}]" else text


def _end_of_line(text: str, place: int) -> int:
    rest = _REST_OF_LINE.match(text, place)
    end = rest.end() if rest else place
    return end if text.startswith(("\n", "\r\n"), end) else place


def _written(text: str, value: Any, indent: str) -> str:
    lines = json.dumps(value, indent=_unit(text), ensure_ascii=False).split("\n")
    return f"{_newline(text)}{indent}".join(lines)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _line_indent(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    seen = _INDENT.search(text)
    return seen[1] if seen else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


# Changing TOML.

_OPENS: Final = re.compile(r"^\ufeff?([ \t]*\[[^\r\n]*)", re.MULTILINE)


def read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise NotReadable(str(error)) from None


def toml_value(text: str, path: Path) -> Any:
    at: Any = read(text)
    for name in path:
        at = at.get(name) if isinstance(at, dict) else None
    return at


def with_table(text: str, path: Path, values: Mapping[str, Any]) -> str:
    """The table of that path has exactly these values; a new one stands at the end."""
    read(text)
    span = _span(text, path)
    table = _table(text, path, values)
    if span is None:
        changed = text + _gap(text) + table
    else:
        tail = text[: span[1]][len(text[: span[1]].rstrip()) :]  # the space before the next table is not ours
        changed = text[: span[0]] + table.rstrip("\r\n") + tail + text[span[1] :]
    _check(text, changed, path, values)
    return changed


def without_table(text: str, path: Path) -> str:
    read(text)
    span = _span(text, path)
    if span is None:
        return text
    before, after = text[: span[0]], text[span[1] :]
    line = _newline(text)
    if before.endswith(line * 2) or (before == line and not after):
        before = before.removesuffix(line)
    _check(text, before + after, path, None)
    return before + after


def _check(before: str, after: str, path: Path, values: Mapping[str, Any] | None) -> None:
    """Nothing but our table may differ: what is written in a way we do not know is left alone."""
    try:
        is_right = toml_value(after, path) == (None if values is None else dict(values))
        is_right = is_right and _without(read(before), path) == _without(read(after), path)
    except NotReadable:
        is_right = False
    if not is_right:
        raise NotReadable(f"{'.'.join(path)} stands there in a way that cannot be changed safely")


def _without(document: dict[str, Any], path: Path) -> dict[str, Any]:
    """Without our table, and without a parent that only it made."""
    inner = document.get(path[0])
    if len(path) == 1 or not isinstance(inner, dict):
        return {name: one for name, one in document.items() if name != path[0]}
    rest = _without(inner, path[1:])
    return {name: rest if name == path[0] else one for name, one in document.items() if name != path[0] or rest}


def _table(text: str, path: Path, values: Mapping[str, Any]) -> str:
    lines = [f"[{'.'.join(path)}]", *(f"{name} = {_toml(value)}" for name, value in values.items()), ""]
    return _newline(text).join(lines)


def _toml(value: Any) -> str:
    """Texts, numbers and lists of them are written in TOML as in JSON; DEL is the one exception."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _gap(text: str) -> str:
    line = _newline(text)
    if not text.strip("\ufeff"):
        return ""
    return line if text.endswith("\n") else line * 2


def _span(text: str, path: Path) -> tuple[int, int] | None:
    """From its header to the next one that is not below it."""
    headers = list(_headers(text))
    ours = [place for place, (_, known) in enumerate(headers) if known[: len(path)] == path]
    if not ours:
        return None
    if ours != list(range(ours[0], ours[-1] + 1)):
        raise NotReadable(f"{'.'.join(path)} stands in several places")
    end = headers[ours[-1] + 1][0] if ours[-1] + 1 < len(headers) else len(text)
    return headers[ours[0]][0], _before_comments(text, end)


def _before_comments(text: str, end: int) -> int:
    """Comments right above the next table belong to it, and so does the space above them."""
    lines = text[:end].splitlines(keepends=True)
    taken = 0
    while lines and (lines[-1].lstrip().startswith("#") or (taken and not lines[-1].strip())):
        taken += len(lines.pop())
    return end - taken if taken and lines else end


def _headers(text: str) -> Iterator[tuple[int, Path]]:
    """Where a line begins a table, and which: what stands before it is whole, so it lies in no text and no list."""
    begin = 0
    for found in _OPENS.finditer(text):
        with suppress(NotReadable):
            read(text[begin : found.start(1)])
            begin = found.start(1)
            yield begin, _path(found[1])


def _path(header: str) -> Path:
    at: Any = read(header)
    path: list[str] = []
    while isinstance(at, dict) and at:
        name, at = next(iter(at.items()))
        path.append(name)
        at = at[0] if isinstance(at, list) else at
    return tuple(path)
