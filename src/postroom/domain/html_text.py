"""Rich text as HTML: our own few tags, everything else escaped, nothing fetched from anywhere."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape
from typing import Final

from postroom.domain.rich_text import RichText, SpanStyle, TextSpan, folded_over

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
