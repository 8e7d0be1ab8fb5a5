"""Markdown for Slack: `rich_text` blocks, in which a text is only ever text and nothing links but what we link."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final
from urllib.parse import urlsplit

from postroom.domain.delivery import REPEAT_MARK
from postroom.domain.markdown import parse
from postroom.domain.readable_text import readable, says_target, spelled
from postroom.domain.rich_text import RichText, SpanStyle, TextSpan, runs
from postroom.world.channels.rich_parts import fitting
from postroom.world.channels.slack.text import PART_LIMIT, escaped, written_length

LONGEST_BLOCK: Final = 12_000  # as JSON; Slack refuses the blocks of a message somewhere above 13,000
_STYLES: Final = {
    SpanStyle.BOLD: "bold",
    SpanStyle.HEADING: "bold",
    SpanStyle.ITALIC: "italic",
    SpanStyle.STRIKE: "strike",
    SpanStyle.CODE: "code",
}

Content = dict[str, Any]


def rich_of(text: str) -> RichText:
    """Only the web is linked; other targets stand beside their words."""
    return spelled(parse(text), lambda link: not link.detail.lower().startswith("http"))


def rich_parts(rich: RichText, *, repeated: bool = False) -> list[RichText]:
    parts = list(fitting(rich, PART_LIMIT, _fits, written_length))
    return _with_mark(parts) if repeated else parts


def content(part: RichText) -> Content:
    """The block is what people see; `text` is for notifications and screen readers, and says as much."""
    return {"text": escaped(readable(part)), "blocks": [rich_block(part)]}


def rich_block(part: RichText) -> Content:
    """Without the looks where there are too many of them: where links lead, code and quotes matter more."""
    whole = _block(part)
    return whole if _size(whole) <= LONGEST_BLOCK else _block(part.without(lambda span: span.style in _STYLES))


def _with_mark(parts: Sequence[RichText]) -> list[RichText]:
    """The parts before the last stay as they were cut, for some of them may have been sent."""
    words = parts[-1].text.rstrip()
    last = RichText(words, parts[-1].spans).followed_by(f"{words}\n\n{REPEAT_MARK}")
    return [*parts[:-1], last] if _fits(last) else [*parts, RichText(REPEAT_MARK)]


def _fits(part: RichText) -> bool:
    return written_length(readable(part)) <= PART_LIMIT and _size(rich_block(part)) <= LONGEST_BLOCK


def _size(block: Content) -> int:
    return len(json.dumps(block, ensure_ascii=False))


def _block(part: RichText) -> Content:
    return {"type": "rich_text", "elements": [_element(kind, piece) for kind, piece in _pieces(part)]}


@dataclass(frozen=True, slots=True)
class _Kind:
    """The code and the quote that a piece stands in."""

    code: TextSpan | None = None
    quote: TextSpan | None = None


def _pieces(part: RichText) -> Iterator[tuple[_Kind, RichText]]:
    """What Slack shows as one block each; the line ends around it are the block's own."""
    place = 0
    for kind, grouped in groupby(runs(part), lambda run: _kind(run[1])):
        end = place + sum(len(text) for text, _ in grouped)
        text = part.text[place:end]
        piece = part.piece(place + len(text) - len(text.lstrip("\n")), place + len(text.rstrip("\n")))
        place = end
        if piece.text.strip():
            yield kind, piece


def _kind(spans: Sequence[TextSpan]) -> _Kind:
    code = next((span for span in spans if span.style is SpanStyle.PRE), None)
    return _Kind(code=code, quote=next((span for span in spans if span.style is SpanStyle.QUOTE), None))


def _element(kind: _Kind, piece: RichText) -> Content:
    """No code stands in a quote here, but it has the line of a quote beside it."""
    if kind.code is not None:
        line = {"border": 1} if kind.quote else {}
        return {"type": "rich_text_preformatted", **line, "elements": [{"type": "text", "text": piece.text}]}
    name = "rich_text_quote" if kind.quote else "rich_text_section"
    return {"type": name, "elements": list(_inline(piece))}


def _inline(piece: RichText) -> Iterator[Content]:
    place = 0
    for text, spans in runs(piece):
        place += len(text)
        looks = {_STYLES[span.style]: True for span in spans if span.style in _STYLES}
        style = {"style": looks} if looks else {}
        link = next((span for span in spans if span.style is SpanStyle.LINK), None)
        if link is None:
            yield {"type": "text", "text": text, **style}
            continue
        yield {"type": "link", "url": link.detail, "text": text, **style}
        if link.end == place and (host := _unsaid_host(piece.under(link), link.detail)):
            yield {"type": "text", "text": f" ({host})"}


def _unsaid_host(label: str, target: str) -> str:
    """Shown with every link whose words do not say it already."""
    host = urlsplit(target).hostname or ""
    return "" if says_target(label, target) or label.strip() == host else host
