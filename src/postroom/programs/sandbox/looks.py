"""How a message looks on the sandbox's phone: in pieces of one look each, made from what a bot sent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from urllib.parse import urlsplit

_TELEGRAM: Final = {
    "bold": "strong",
    "italic": "em",
    "strikethrough": "s",
    "code": "code",
    "pre": "code",
    "blockquote": "q",
    "text_link": "",
}
_WEB: Final = re.compile(r"https?://[^\s<>\"'\\]+", re.IGNORECASE)
_LINK: Final = re.compile(r"(https?://[^\s<>\"'\\]+[^\s<>\"'\\.,;:!?)\]])", re.IGNORECASE)


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


def looks(text: str, entities: str | None) -> Sequence[LookedText]:
    """By entities in JSON; what does not fit the text looks plain, as on a phone that does not know it."""
    units = _utf16_places(text)
    found = json.loads(entities or "[]")
    listed = found if isinstance(found, list) else []
    spans = [span for one in listed if (span := _span(one, units)) is not None]
    edges = sorted({0, len(text), *(edge for span in spans for edge in (span.start, span.end))})
    return [_looked(text, start, end, spans) for start, end in pairwise(edges)]


def linked(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it is a web address."""
    for place, piece in enumerate(_LINK.split(text)):
        if piece:
            yield piece, place % 2 == 1


def web_only(url: object) -> str | None:
    """An address that may stand behind a link here; no scheme but the web's."""
    return url if isinstance(url, str) and _WEB.fullmatch(url) else None


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
