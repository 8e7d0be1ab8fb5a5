"""Rich text as HTML: our own few tags, everything else escaped, nothing fetched from anywhere."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from html import escape
from itertools import accumulate, pairwise
from typing import Final

_MANY_SPACES: Final = re.compile(r"(?<=\n) | (?= )")
_MARK: Final = "\x00"  # in no text of ours: a block ends the line by itself
_BLOCK_GAPS: Final = re.compile(rf"(?:<br>\n){{0,2}}{_MARK}(?:<br>\n){{0,2}}")


def html_of(rich: RichText, *, headings: bool = True) -> str:
    """The empty line before and after a block is the block's own."""
    if not headings:
        rich = RichText(rich.text, tuple(map(_without_heading, rich.spans)))
    return _BLOCK_GAPS.sub("\n", folded_over(rich, _text, _tag)).strip("\n")


def _without_heading(span: TextSpan) -> TextSpan:
    return replace(span, style=SpanStyle.BOLD) if span.style is SpanStyle.HEADING else span


def _text(text: str) -> str:
    return _MANY_SPACES.sub("&nbsp;", escape(text)).replace("\n", "<br>\n")


def _tag(span: TextSpan, inside: str, bare: str) -> str:
    match span.style:
        case SpanStyle.BOLD:
            return f"<strong>{inside}</strong>"
        case SpanStyle.ITALIC:
            return f"<em>{inside}</em>"
        case SpanStyle.STRIKE:
            return f"<s>{inside}</s>"
        case SpanStyle.CODE:
            return f"<code>{inside}</code>"
        case SpanStyle.PRE:
            return f"{_MARK}<pre>{escape(bare)}</pre>{_MARK}"
        case SpanStyle.LINK:
            return f'<a href="{escape(span.detail)}" rel="noopener noreferrer nofollow">{inside}</a>'
        case SpanStyle.HEADING:
            return f"{_MARK}<h{span.detail}>{inside}</h{span.detail}>{_MARK}"
        case SpanStyle.QUOTE:
            return f"{_MARK}<blockquote>{inside}</blockquote>{_MARK}"


# Rich text where nothing can be styled: it reads well as it is, and says where its links lead.


def readable(rich: RichText) -> str:
    """Every visible character, targets of links in brackets, and quotes with a sign before each line."""
    return _quoted(spelled(rich, lambda _: True)).text


def spelled(rich: RichText, wanted: Callable[[TextSpan], bool]) -> RichText:
    """The target beside the words that hide it, in place of a link."""
    told = [span for span in rich.links if wanted(span)]
    inserts = [(span.end, f" ({span.detail})") for span in told if not says_target(rich.under(span), span.detail)]
    return inserted(rich.without(frozenset(told).__contains__), inserts)


def says_target(label: str, target: str) -> bool:
    return label.strip() in (target, target.removeprefix("mailto:"), target.removeprefix("tel:"))


def _quoted(rich: RichText) -> RichText:
    """A quote in a quote has two signs. Code has them too: without them it would be in nobody's mouth."""
    quotes = (span for span in rich.spans if span.style is SpanStyle.QUOTE)
    return inserted(rich, sorted((place, "> ") for quote in quotes for place in _lines(rich.text, quote)))


def _lines(text: str, span: TextSpan) -> Iterator[int]:
    """Where the lines that are not empty begin."""
    place = span.start
    while place < span.end:
        if text[place] != "\n":
            yield place
        found = text.find("\n", place, span.end)
        place = found + 1 if found >= 0 else span.end


# Text with spans: what a person sees, and how parts of it are to look; every renderer starts from here.


class SpanStyle(StrEnum):
    BOLD = "bold"
    ITALIC = "italic"
    STRIKE = "strike"
    CODE = "code"
    PRE = "pre"
    LINK = "link"
    HEADING = "heading"
    QUOTE = "quote"


@dataclass(frozen=True, slots=True)
class TextSpan:
    """`detail` is the target of a link, the language of a block of code or the level of a heading."""

    start: int
    end: int
    style: SpanStyle
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RichText:
    """Spans stand in the order they open, the outer before the inner; two of them are nested or apart."""

    text: str
    spans: tuple[TextSpan, ...] = ()

    @property
    def links(self) -> tuple[TextSpan, ...]:
        return tuple(span for span in self.spans if span.style is SpanStyle.LINK)

    def under(self, span: TextSpan) -> str:
        return self.text[span.start : span.end]

    def piece(self, start: int, end: int) -> RichText:
        """A span that is cut in two is there in both."""
        kept = (
            replace(span, start=max(span.start, start) - start, end=min(span.end, end) - start)
            for span in self.spans
            if span.start < end and span.end > start
        )
        return RichText(self.text[start:end], tuple(kept))

    def without(self, unwanted: Callable[[TextSpan], bool]) -> RichText:
        return RichText(self.text, tuple(span for span in self.spans if not unwanted(span)))

    def followed_by(self, longer: str) -> RichText:
        """The same with more text at its end; `longer` is the whole of it."""
        return RichText(longer, self.spans)


def styled(rich: RichText, style: SpanStyle, detail: str = "") -> RichText:
    """The whole of it, but for white space at the ends."""
    start = len(rich.text) - len(rich.text.lstrip())
    end = len(rich.text.rstrip())
    return RichText(rich.text, (TextSpan(start, end, style, detail), *rich.spans)) if start < end else rich


def joined(parts: Iterable[RichText], between: str) -> RichText:
    texts: list[str] = []
    spans: list[TextSpan] = []
    place = 0
    for part in parts:
        place += len(between) if texts else 0
        spans += [replace(span, start=span.start + place, end=span.end + place) for span in part.spans]
        texts.append(part.text)
        place += len(part.text)
    return RichText(between.join(texts), tuple(spans))


def inserted(rich: RichText, inserts: Sequence[tuple[int, str]]) -> RichText:
    """With texts at places, which come in order; none of them becomes part of a span that begins or ends there."""
    places = [place for place, _ in inserts]
    grown = [0, *accumulate(len(text) for _, text in inserts)]
    texts: list[str] = []
    last = 0
    for place, text in inserts:
        texts += [rich.text[last:place], text]
        last = place
    moved = (
        replace(
            span,
            start=span.start + grown[bisect_right(places, span.start)],
            end=span.end + grown[bisect_left(places, span.end)],
        )
        for span in rich.spans
    )
    return RichText("".join([*texts, rich.text[last:]]), tuple(moved))


def indented(rich: RichText, first: str, rest: str) -> RichText:
    """`first` before the first line and `rest` before the others, but not before those of code: it is copied."""
    code = [span for span in rich.spans if span.style is SpanStyle.PRE]
    starts = [span.start for span in code]

    def is_code(place: int) -> bool:
        number = bisect_left(starts, place)
        return number > 0 and place < code[number - 1].end

    lines = (place + 1 for place, character in enumerate(rich.text) if character == "\n")
    wanted = [(place, rest) for place in lines if rich.text[place : place + 1] != "\n" and not is_code(place)]
    return inserted(rich, [(0, first), *wanted])


def folded_over(rich: RichText, leaf: Callable[[str], str], wrap: Callable[[TextSpan, str, str], str]) -> str:
    """Markup from the inside out; `wrap` gets the span, what is rendered of its inside, and the bare text of it."""

    def fold(start: int, end: int, spans: Sequence[TextSpan]) -> Iterator[str]:
        place, index = start, 0
        while index < len(spans):
            span, inner = spans[index], index + 1
            while inner < len(spans) and spans[inner].start < span.end:
                inner += 1
            inside = "".join(fold(span.start, span.end, spans[index + 1 : inner]))
            yield leaf(rich.text[place : span.start]) + wrap(span, inside, rich.under(span))
            place, index = span.end, inner
        yield leaf(rich.text[place:end])

    return "".join(fold(0, len(rich.text), rich.spans))


def runs(rich: RichText) -> Iterator[tuple[str, tuple[TextSpan, ...]]]:
    """The text in pieces of one look, each with the spans it is in."""
    edges = sorted({0, len(rich.text), *(edge for span in rich.spans for edge in (span.start, span.end))})
    opened: list[TextSpan] = []
    waiting = list(reversed(rich.spans))
    for start, end in pairwise(edges):
        opened = [span for span in opened if span.end > start]
        while waiting and waiting[-1].start <= start:
            opened.append(waiting.pop())
        yield rich.text[start:end], tuple(opened)
