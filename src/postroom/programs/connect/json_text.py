"""Change one value of a JSON text and leave every other byte as it was: order, comments, whitespace."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from postroom.programs.connect.json_scan import Node, after_trivia, scan
from postroom.programs.connect.not_readable import NotReadable

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


def with_item(text: str, path: Path, value: Any) -> str:
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
        return with_item(text, path, value)
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
    comma = after_trivia(text, last.end)
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
    comma = after_trivia(text, end)
    if text.startswith(",", comma):
        return _closed(text[:start] + text[end:comma] + text[comma + 1 :], parent.start)
    place = parent.children.index(child)
    if place:  # the comma before it has nothing to separate any more
        before = after_trivia(text, parent.children[place - 1].end)
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
