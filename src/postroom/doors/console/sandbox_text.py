"""How a message looks on the sandbox's phone: in pieces of one look each, made from what a bot sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from urllib.parse import urlsplit

from postroom.doors.console.sandbox_keys import web_only

_TELEGRAM: Final = {
    "bold": "strong",
    "italic": "em",
    "strikethrough": "s",
    "code": "code",
    "pre": "code",
    "blockquote": "q",
    "text_link": "",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedText:
    """`tags` are of our own few; `host` is shown where a link ends."""

    text: str
    tags: tuple[str, ...] = ()
    url: str | None = None
    host: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    start: int
    end: int
    tag: str
    url: str | None


def telegram_looks(text: str, entities: object) -> Sequence[LookedText]:
    """What does not fit the text is left out: it looks plain then, as on a phone that does not know it."""
    units = _utf16_places(text)
    listed = entities if isinstance(entities, list) else []
    spans = [span for one in listed if (span := _span(one, units)) is not None]
    edges = sorted({0, len(text), *(edge for span in spans for edge in (span.start, span.end))})
    return [_looked(text, start, end, spans) for start, end in pairwise(edges)]


def _looked(text: str, start: int, end: int, spans: Sequence[_Span]) -> LookedText:
    around = [span for span in spans if span.start <= start and end <= span.end]
    link = next((span for span in around if span.url), None)
    tags = tuple(dict.fromkeys(span.tag for span in around if span.tag))
    host = _host(link.url) if link and link.end == end else ""
    return LookedText(text=text[start:end], tags=tags, url=link.url if link else None, host=host)


def _span(entity: object, units: Mapping[int, int]) -> _Span | None:
    if not isinstance(entity, Mapping) or entity.get("type") not in _TELEGRAM:
        return None
    offset, length = entity.get("offset"), entity.get("length")
    if type(offset) is not int or type(length) is not int:
        return None
    start, end = units.get(offset), units.get(offset + length)
    if start is None or end is None or start >= end:
        return None
    return _Span(start=start, end=end, tag=_TELEGRAM[entity["type"]], url=web_only(entity.get("url")))


def _utf16_places(text: str) -> dict[int, int]:
    """Where each character begins, by the units Telegram counts."""
    places, unit = {0: 0}, 0
    for number, character in enumerate(text, 1):
        unit += 2 if character > "\uffff" else 1
        places[unit] = number
    return places


def _host(url: str | None) -> str:
    try:
        return urlsplit(url or "").hostname or ""
    except ValueError:
        return ""
