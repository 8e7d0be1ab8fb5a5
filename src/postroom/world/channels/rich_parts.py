"""Rich text in the messages a provider takes: cut where plain text is cut, and a span that is cut goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from postroom.domain.readable_text import readable
from postroom.domain.rich_text import RichText
from postroom.world.channels.telegram_text import Length, marked, split, utf16_length

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
