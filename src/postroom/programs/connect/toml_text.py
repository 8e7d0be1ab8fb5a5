"""Change one table of a TOML text and leave every other byte as it was."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from postroom.programs.connect.not_readable import NotReadable

_QUOTES: Final = ('"""', "'''", '"', "'")

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Header:
    start: int
    path: Path


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
    table = _written(text, path, values)
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


def _written(text: str, path: Path, values: Mapping[str, Any]) -> str:
    lines = [f"[{'.'.join(path)}]", *(f"{name} = {_value(value)}" for name, value in values.items()), ""]
    return _newline(text).join(lines)


def _value(value: Any) -> str:
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
    ours = [place for place, one in enumerate(headers) if one.path[: len(path)] == path]
    if not ours:
        return None
    if ours != list(range(ours[0], ours[-1] + 1)):
        raise NotReadable(f"{'.'.join(path)} stands in several places")
    end = headers[ours[-1] + 1].start if ours[-1] + 1 < len(headers) else len(text)
    return headers[ours[0]].start, _before_comments(text, end)


def _before_comments(text: str, end: int) -> int:
    """Comments right above the next table belong to it, and so does the space above them."""
    lines = text[:end].splitlines(keepends=True)
    taken = 0
    while lines and (lines[-1].lstrip().startswith("#") or (taken and not lines[-1].strip())):
        taken += len(lines.pop())
    return end - taken if taken and lines else end


def _headers(text: str) -> Iterator[_Header]:
    """Lines that begin a table; brackets in texts, lists and comments are none."""
    place, depth, is_fresh = 0, 0, True
    while place < len(text):
        letter = text[place]
        if letter == "#":
            place = _line_end(text, place)
            continue
        if quote := next((one for one in _QUOTES if text.startswith(one, place)), None):
            place, is_fresh = _after_text(text, place, quote), False
            continue
        if letter == "[" and is_fresh and depth == 0:
            end = _line_end(text, place)
            yield _Header(place, _path(text[place:end]))
            place, is_fresh = end, True
            continue
        depth += (letter in "[{") - (letter in "]}")
        is_fresh = letter == "\n" or (is_fresh and letter in " \t\r\ufeff")
        place += 1


def _after_text(text: str, place: int, quote: str) -> int:
    at = place + len(quote)
    while at < len(text) and not text.startswith(quote, at):
        at += 2 if text[at] == "\\" and quote[0] == '"' else 1
    at += len(quote)
    while len(quote) == 3 and text.startswith(quote[0], at):  # quotation marks may stand before the last three
        at += 1
    return at


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _path(header: str) -> Path:
    at: Any = tomllib.loads(header.strip())
    path: list[str] = []
    while isinstance(at, dict) and at:
        name, at = next(iter(at.items()))
        path.append(name)
        at = at[0] if isinstance(at, list) else at
    return tuple(path)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
