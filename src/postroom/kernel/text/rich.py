"""Rich text as HTML: our own few tags, everything else escaped, nothing fetched from anywhere."""

from __future__ import annotations

import re
import unicodedata
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


# Where a text may be cut without tearing apart what a person sees as one character.

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


# Cut a long text into messages a provider takes, at paragraph, line or word; measured in UTF-16 units by default.

TEXT_LIMIT = 4096

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
    alone = ink if ink > start else end  # without the space before it, the next character may fit whole
    return next((index for index in range(end, ink, -1) if is_boundary(text, index)), alone)


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


def with_mark(parts: Sequence[RichText], mark: str, fits: Fits) -> list[RichText]:
    """As `marked` does with plain parts: the ones before the last stay as they were cut."""
    words = parts[-1].text.rstrip()
    last = RichText(words, parts[-1].spans).followed_by(f"{words}\n\n{mark}")
    return [*parts[:-1], last] if fits(last) else [*parts, RichText(mark)]
