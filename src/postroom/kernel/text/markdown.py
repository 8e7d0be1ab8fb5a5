"""
Markdown, read once into text and spans.

What is seen is complete and always the same: HTML, references and entities are text, a link to anything but the web, a
mailbox or a telephone is text, an image is a link, a table is shown as it was written, numbers of a list stay what they
are, and what is nested too deep or would take too long to read is text as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from postroom.kernel.text.rich import RichText, SpanStyle, TextSpan, indented, joined, styled

if TYPE_CHECKING:
    from markdown_it.token import Token

_RULE: Final = "———"
_LANGUAGE: Final = re.compile(r"[\w+#.-]{1,32}", re.ASCII)
_INLINE: Final = {"strong": SpanStyle.BOLD, "em": SpanStyle.ITALIC, "s": SpanStyle.STRIKE, "link": SpanStyle.LINK}
_BREAKS: Final = frozenset({"softbreak", "hardbreak"})


@lru_cache(maxsize=8)
def parse(source: str) -> RichText:
    from postroom.kernel.text.markdown_tokens import tokens_of  # and the library, 1 MB that plain words do without

    tokens = tokens_of(source)
    if tokens is None:
        return RichText(source)
    rich = _Blocks(tokens, source.splitlines()).all()
    return rich if rich.text.strip() else RichText(source)


class _Blocks:
    """Reads one block after the other; a block within a block is read by the same."""

    def __init__(self, tokens: Sequence[Token], lines: Sequence[str]) -> None:
        self._tokens = tokens
        self._lines = lines
        self._next = 0

    def all(self) -> RichText:
        return _blocks(self._until(""))

    def _until(self, closing: str) -> list[tuple[RichText, bool]]:
        """The blocks before that token, each with whether it stands close to the one before it."""
        found: list[tuple[RichText, bool]] = []
        while self._next < len(self._tokens):
            token = self._tokens[self._next]
            self._next += 1
            if token.type == closing:
                break
            close = token.hidden or (token.type.endswith("_list_open") and token.level > 0)
            found.append((self._block(token), close))
        return [(rich, close) for rich, close in found if rich.text]

    def _block(self, token: Token) -> RichText:
        match token.type:
            case "inline":
                return inline(token.children or [])
            case "paragraph_open":
                return _blocks(self._until("paragraph_close"))
            case "heading_open":
                return styled(_blocks(self._until("heading_close")), SpanStyle.HEADING, token.tag.removeprefix("h"))
            case "blockquote_open":
                return styled(_blocks(self._until("blockquote_close")), SpanStyle.QUOTE)
            case "bullet_list_open" | "ordered_list_open":
                return self._list(token.type.replace("open", "close"))
            case "fence" | "code_block":
                return _code(token)
            case "table":
                return self._table(token)
            case "hr":
                return RichText(_RULE)
            case _:
                raise ValueError(f"Markdown has a block {token.type} that is not known")

    def _list(self, closing: str) -> RichText:
        items: list[tuple[Token, RichText, bool]] = []
        while (token := self._tokens[self._next]).type != closing:
            self._next += 1
            blocks = self._until("list_item_close")
            items.append((token, _blocks(blocks), all(close for _, close in blocks)))
        self._next += 1
        signs = _signs([token for token, _, _ in items])
        shown = [
            indented(rich, f"{sign} ", " " * (len(sign) + 1)) if rich.text else RichText(sign)
            for sign, (_, rich, _) in zip(signs, items, strict=True)
        ]
        return joined(shown, "\n" if all(close for _, _, close in items) else "\n\n")

    def _table(self, token: Token) -> RichText:
        """As it was written: read as cells, those without a heading would be left out."""
        first, last = token.map or (0, 0)
        lines = [line.strip() for line in self._lines[first:last]]
        return styled(RichText("\n".join(lines).strip()), SpanStyle.PRE)


def _blocks(blocks: Sequence[tuple[RichText, bool]]) -> RichText:
    gaps = [RichText("\n" if close else "\n\n") for _, close in blocks]
    return joined([part for gap, (rich, _) in zip(gaps, blocks, strict=True) for part in (gap, rich)][1:], "")


def _signs(items: Sequence[Token]) -> list[str]:
    """Numbers as they were written; where all are the same, they are counted, which is what was meant."""
    if not items or not items[0].info:
        return ["•"] * len(items)
    numbers = [int(item.info) for item in items]
    if len(set(numbers)) == 1:
        numbers = [numbers[0] + place for place in range(len(items))]
    return [f"{number}{item.markup}" for number, item in zip(numbers, items, strict=True)]


def _code(token: Token) -> RichText:
    content, language = token.content.rstrip("\n"), token.info.strip()
    if language and not _LANGUAGE.fullmatch(language):
        content, language = f"{language}\n{content}", ""
    return styled(RichText(content), SpanStyle.PRE, language)


def inline(tokens: Sequence[Token]) -> RichText:
    """Without recursion: stars may be nested as deep as the text is long."""
    writer = _Writer()
    for token in tokens:
        kind, _, act = token.type.rpartition("_")
        if act == "open":
            writer.open(_INLINE[kind], str(token.attrs.get("href", "")))
        elif act == "close":
            writer.close(_INLINE[kind])
        elif token.type in _BREAKS:
            writer.write("\n")
        elif token.type == "code_inline":
            writer.style(token.content, SpanStyle.CODE)
        elif token.type == "image":
            writer.style(inline(token.children or []).text, SpanStyle.LINK, str(token.attrs.get("src", "")))
        else:
            writer.write(token.content)
    return writer.done()


class _Writer:
    def __init__(self) -> None:
        self._texts: list[str] = []
        self._length = 0
        self._inked = 0  # where the last visible character ends
        self._spans: list[TextSpan] = []
        self._open: list[tuple[SpanStyle, int, str]] = []

    def write(self, text: str) -> None:
        self._texts.append(text)
        if text.strip():
            self._inked = self._length + len(text.rstrip())
        self._length += len(text)

    def open(self, style: SpanStyle, detail: str = "") -> None:
        self._open.append((style, self._length, detail))

    def close(self, style: SpanStyle) -> None:
        _, start, detail = self._open.pop()
        if style is SpanStyle.LINK and self._inked <= start:
            self.write(detail)
        if all(style is not outer for outer, _, _ in self._open):  # bold in bold is bold
            self._spans.append(TextSpan(start, self._length, style, detail))

    def style(self, text: str, style: SpanStyle, detail: str = "") -> None:
        self.open(style, detail)
        self.write(text)
        self.close(style)

    def done(self) -> RichText:
        text = "".join(self._texts)
        trimmed = [one for span in self._spans if (one := _trimmed(text, span)) is not None]
        trimmed.reverse()  # the outer of two with the same ends was closed last
        return RichText(text, tuple(sorted(trimmed, key=lambda span: (span.start, -span.end))))


def _trimmed(text: str, span: TextSpan) -> TextSpan | None:
    inner = text[span.start : span.end]
    start = span.start + len(inner) - len(inner.lstrip())
    end = span.start + len(inner.rstrip())
    return TextSpan(start, end, span.style, span.detail) if start < end else None
