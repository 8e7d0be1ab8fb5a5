"""Where a text may be cut without tearing apart what a person sees as one character."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from postroom.kernel.text.rich import RichText, readable

_ZERO_WIDTH_NON_JOINER = "\u200c"
_ZERO_WIDTH_JOINER = "\u200d"
_ATTACHING_RANGES = (
    (0x1160, 0x11FF),  # Hangul vowels and finals
    (0xD7B0, 0xD7FB),
    (0xFF9E, 0xFF9F),  # half-width voicing marks
    (0x1F3FB, 0x1F3FF),  # skin tones
    (0xE0020, 0xE007F),  # tags that spell out subdivision flags
)


def _attaches(character: str) -> bool:
    """Whether the character belongs to the one before it."""
    if character in (_ZERO_WIDTH_JOINER, _ZERO_WIDTH_NON_JOINER):
        return True
    if unicodedata.category(character).startswith("M"):
        return True
    return any(first <= ord(character) <= last for first, last in _ATTACHING_RANGES)


def is_boundary(text: str, index: int) -> bool:
    if index <= 0 or index >= len(text):
        return True
    before, after = text[index - 1], text[index]
    if before in "\r\n":
        return (before, after) != ("\r", "\n")
    if _attaches(after) or (before == _ZERO_WIDTH_JOINER and not after.isspace()):
        return False
    return not (_is_flag_half(before) and _is_flag_half(after) and _flag_halves_before(text, index) % 2)


def is_single(text: str) -> bool:
    """Whether the text is exactly one visible character."""
    return bool(text) and not any(is_boundary(text, index) for index in range(1, len(text)))


def is_emoji(text: str) -> bool:
    """One symbol; which of them may be reactions is the provider's to say, but letters and controls never are."""
    return is_single(text) and text[0].isprintable() and not text[0].isascii() and not text[0].isalnum()


def _is_flag_half(character: str) -> bool:
    return 0x1F1E6 <= ord(character) <= 0x1F1FF


def _flag_halves_before(text: str, index: int) -> int:
    start = index
    while start and _is_flag_half(text[start - 1]):
        start -= 1
    return index - start


# Cut a long text into messages a provider takes, at paragraph, line or word; measured as Telegram does by default.


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
    return text[index].isspace() and not (index + 1 < len(text) and _attaches(text[index + 1]))


def cut(text: str, limit: int, length: Length = utf16_length) -> str:
    """At most so many units, ending between two visible characters with a sign that something is missing."""
    if length(text) <= limit:
        return text
    end = _reach(text, 0, limit - length(MISSING), length)
    while not is_boundary(text, end):
        end -= 1
    return text[:end].rstrip() + MISSING


# Rich text in the messages a provider takes: cut where plain text is cut, and a span that is cut goes on.


_LEAST_ROOM: Final = 64

Fits = Callable[[RichText], bool]


def pieces(rich: RichText, texts: Sequence[str]) -> list[RichText]:
    """The same parts with their spans; between two parts there was only white space."""
    found: list[RichText] = []
    place = 0
    for text in texts:
        start = rich.text.index(text, place)
        place = start + len(text)
        found.append(rich.piece(start, place))
    return found


def fitting(rich: RichText, limit: int, fits: Fits, length: Length = utf16_length) -> Iterator[RichText]:
    """
    In parts of at most so many units that fit as they are written; one that does not is cut into smaller ones.

    Where even a few words do not fit, they are too full of links, which then stand beside them as text.
    """
    for part in pieces(rich, split(rich.text, limit, length)):
        if fits(part):
            yield part
        elif limit // 2 >= _LEAST_ROOM:
            yield from fitting(part, limit // 2, fits, length)
        else:
            yield from map(RichText, split(readable(part), limit, length))


def with_mark(parts: Sequence[RichText], mark: str, limit: int) -> list[RichText]:
    """As `marked` does with plain parts: the ones before the last stay as they were cut."""
    texts = marked([part.text for part in parts], mark, limit)
    last = RichText(parts[-1].text.rstrip(), parts[-1].spans)
    if len(texts) == len(parts):
        return [*parts[:-1], last.followed_by(texts[-1])]
    return [*parts, RichText(mark)]
