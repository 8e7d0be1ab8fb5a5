"""Rich text where nothing can be styled: it reads well as it is, and says where its links lead."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from postroom.domain.rich_text import RichText, SpanStyle, TextSpan, inserted


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
