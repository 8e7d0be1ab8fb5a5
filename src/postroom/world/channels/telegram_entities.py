"""Markdown for Telegram: the text, and entities that say how parts of it look; never `parse_mode`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, Final

from postroom.domain.delivery import REPEAT_MARK, Message
from postroom.domain.markdown import parse
from postroom.domain.readable_text import readable, spelled
from postroom.domain.rich_text import RichText, SpanStyle, TextSpan
from postroom.world.channels.rich_parts import fitting, with_mark
from postroom.world.channels.telegram_keyboard import with_links
from postroom.world.channels.telegram_text import TEXT_LIMIT, split

MOST_ENTITIES: Final = 100  # Telegram silently leaves out the others
_MOST_MORE: Final = 5  # messages for the sake of looks: a chat takes one in a second, and others wait for theirs
NO_PREVIEW: Final[dict[str, Any]] = {"link_preview_options": {"is_disabled": True}}
_TYPES: Final = {
    SpanStyle.BOLD: "bold",
    SpanStyle.HEADING: "bold",
    SpanStyle.ITALIC: "italic",
    SpanStyle.STRIKE: "strikethrough",
    SpanStyle.CODE: "code",
    SpanStyle.PRE: "pre",
    SpanStyle.LINK: "text_link",
    SpanStyle.QUOTE: "blockquote",
}
_RANK: Final = {style: place for place, style in enumerate((SpanStyle.LINK, SpanStyle.PRE, SpanStyle.CODE))}
_CODE: Final = frozenset({SpanStyle.CODE, SpanStyle.PRE})


def rich_of(message: Message) -> RichText:
    """Telegram opens only the web from a text; where a mailbox or a telephone is meant, it is shown."""
    rich = spelled(parse(message.text), lambda link: not link.detail.lower().startswith("http"))
    return rich.followed_by(with_links(rich.text, message.markup))


def bodies(message: Message, limit: int = TEXT_LIMIT) -> list[dict[str, Any]]:
    parts = _parts(rich_of(message), limit)
    return [body(part) for part in (with_mark(parts, REPEAT_MARK, limit) if message.repeated else parts)]


def _parts(rich: RichText, limit: int) -> list[RichText]:
    """Looks that would take many more messages are left out, and links that would are text."""
    most = len(split(rich.text, limit)) + _MOST_MORE
    for counted in (_lawful, _links):
        parts = list(fitting(rich, limit, partial(_fits, counted)))
        if len(parts) <= most:
            return parts
    return [RichText(text) for text in split(readable(rich), limit)]


def _fits(counted: Callable[[RichText], Sequence[TextSpan]], part: RichText) -> bool:
    return len(counted(part)) <= MOST_ENTITIES


def _links(part: RichText) -> Sequence[TextSpan]:
    return part.links


def body(part: RichText) -> dict[str, Any]:
    found = entities(part)
    return {"text": part.text, **NO_PREVIEW} | ({"entities": found} if found else {})


def entities(part: RichText) -> list[dict[str, Any]]:
    """What matters most when there are too many: where links lead, then code, then the looks."""
    spans = _lawful(part)
    kept = frozenset(sorted(spans, key=lambda span: _RANK.get(span.style, len(_RANK)))[:MOST_ENTITIES])
    units = [0, *accumulate(2 if character > "\uffff" else 1 for character in part.text)]
    return [_entity(span, units) for span in spans if span in kept]


def _lawful(part: RichText) -> list[TextSpan]:
    """Code has nothing in it and stands in nothing but a quote; a quote has no quote in it; a link wins over code."""
    done: list[TextSpan] = []
    around: list[TextSpan] = []  # few, however many spans there are
    for span in part.spans:
        done += [outer for outer in around if outer.end <= span.start]
        around = [outer for outer in around if outer.end > span.start]
        styles = {outer.style for outer in around}
        if (span.style is SpanStyle.QUOTE and SpanStyle.QUOTE in styles) or styles & _CODE:
            continue
        if span.style in _CODE and SpanStyle.LINK in styles:
            continue
        if span.style in _CODE:
            around = [piece for outer in around for piece in _around(outer, span)]
        around.append(span)
    return sorted(done + around, key=lambda span: (span.start, -span.end))


def _around(outer: TextSpan, code: TextSpan) -> list[TextSpan]:
    if outer.style is SpanStyle.QUOTE:
        return [outer]
    before = TextSpan(outer.start, code.start, outer.style, outer.detail)
    after = TextSpan(code.end, outer.end, outer.style, outer.detail)
    return [piece for piece in (before, after) if piece.start < piece.end]


def _entity(span: TextSpan, units: Sequence[int]) -> dict[str, Any]:
    entity: dict[str, Any] = {"type": _TYPES[span.style], "offset": units[span.start]}
    entity["length"] = units[span.end] - units[span.start]
    if span.style is SpanStyle.LINK:
        entity["url"] = span.detail
    if span.style is SpanStyle.PRE and span.detail:
        entity["language"] = span.detail
    return entity
