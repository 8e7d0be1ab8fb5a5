"""Cut a long text into messages a provider takes, at paragraph, line or word; measured as Telegram does by default."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from postroom.world.channels.graphemes import attaches, is_boundary

TEXT_LIMIT = 4096  # counted in UTF-16 units, as Telegram counts

_PARAGRAPH = re.compile(r"\r?\n[^\S\n]*\n")
_LINE = re.compile(r"\r?\n")
_WORD = re.compile(r"\s")
MISSING = "…"
_LONGEST_BREAK = 4  # a CRLF pair twice; a break may start at the limit and reach past it


Length = Callable[[str], int]  # of a text, which is the sum over its characters


def utf16_length(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


def split(text: str, limit: int = TEXT_LIMIT, length: Length = utf16_length) -> list[str]:
    """The parts in order; only white space at a cut is left out, so a blank text may have no part."""
    if length(text) <= limit:
        return [text] if text else []
    return list(_parts(text, limit, length))


def marked(parts: list[str], mark: str, limit: int = TEXT_LIMIT, length: Length = utf16_length) -> list[str]:
    """
    At the end of the last part, or in one more part when there is no room.

    The parts before it stay as they were cut: some of them may have been sent, and none may be left out.
    """
    last = f"{parts[-1].rstrip()}\n\n{mark}"
    return [*parts[:-1], last] if length(last) <= limit else [*parts, mark]


def _parts(text: str, limit: int, length: Length) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = _reach(text, start, limit, length)
        if end == len(text):
            yield text[start:]
            return
        cut = _cut(text, start, end)
        if head := text[start:cut].rstrip():
            yield head
        start = _skip_space(text, cut)


def _reach(text: str, start: int, limit: int, length: Length) -> int:
    """The furthest end of a part that begins at `start`."""
    end, room = start, limit
    while end < len(text):
        room -= length(text[end])
        if room < 0:
            break
        end += 1
    return end


def _cut(text: str, start: int, end: int) -> int:
    ink = _skip_space(text, start)
    for wanted in (_PARAGRAPH, _LINE, _WORD):
        if found := _last_break(wanted, text, ink + 1, end):
            return found
    if ink >= end:
        return end
    return next((index for index in range(end, ink, -1) if is_boundary(text, index)), end)


def _last_break(wanted: re.Pattern[str], text: str, start: int, end: int) -> int | None:
    last = None
    for match in wanted.finditer(text, start, min(len(text), end + _LONGEST_BREAK)):
        if match.start() > end:
            break
        if _is_space(text, match.start()):
            last = match.start()
    return last


def _skip_space(text: str, index: int) -> int:
    while index < len(text) and _is_space(text, index):
        index += 1
    return index


def _is_space(text: str, index: int) -> bool:
    """A space that carries an accent is a visible character, not a gap; a line end carries nothing."""
    if text[index] in "\r\n":
        return True
    return text[index].isspace() and not (index + 1 < len(text) and attaches(text[index + 1]))


def cut(text: str, limit: int, length: Length = utf16_length) -> str:
    """At most so many units, ending between two visible characters with a sign that something is missing."""
    if length(text) <= limit:
        return text
    end = _reach(text, 0, limit - length(MISSING), length)
    while not is_boundary(text, end):
        end -= 1
    return text[:end].rstrip() + MISSING
