"""Markdown for Discord: written anew from the spans in its own markup, and everything between them escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from postroom.domain.delivery import REPEAT_MARK
from postroom.domain.markdown import parse
from postroom.domain.readable_text import says_target, spelled
from postroom.domain.rich_text import RichText, SpanStyle, TextSpan, folded_over
from postroom.world.channels.discord.shown_text import TEXT_LIMIT, escaped
from postroom.world.channels.rich_parts import fitting
from postroom.world.channels.telegram_text import marked, utf16_length

_BLOCKS: Final = frozenset({SpanStyle.HEADING, SpanStyle.QUOTE})
_DEEPEST_HEADING: Final = 3
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9+#-]*")


def rich_of(text: str) -> RichText:
    """Discord masks only links to the web, so other targets stand beside their words."""
    return spelled(parse(text), lambda link: not link.detail.lower().startswith("http"))


def rich_shown_parts(rich: RichText, *, repeated: bool = False) -> list[str]:
    parts = [written(part) for part in fitting(rich, TEXT_LIMIT, _fits)]
    return marked(parts, REPEAT_MARK, TEXT_LIMIT) if repeated else parts


def written(part: RichText) -> str:
    return folded_over(RichText(part.text, tuple(_shown(part))), escaped, _mark)


def _fits(part: RichText) -> bool:
    return utf16_length(written(part)) <= TEXT_LIMIT


def _shown(part: RichText) -> Iterator[TextSpan]:
    """What Discord could not read as it was meant is left out: its text stays."""
    around: list[TextSpan] = []
    for span in part.spans:
        around = [outer for outer in around if outer.end > span.start]
        if (one := _fitted(part, span, {outer.style for outer in around})) is not None:
            around.append(one)
            yield one


def _fitted(part: RichText, span: TextSpan, around: set[SpanStyle]) -> TextSpan | None:
    begins_line = part.text[span.start - 1 : span.start] in ("", "\n")
    match span.style:
        case SpanStyle.QUOTE:
            return span if begins_line and not around else None
        case SpanStyle.HEADING:
            is_line = begins_line and "\n" not in part.under(span) and int(span.detail) <= _DEEPEST_HEADING
            return span if is_line else replace(span, style=SpanStyle.BOLD)
        case SpanStyle.ITALIC:
            return None if part.text[span.end : span.end + 1].isalnum() else span
        case SpanStyle.CODE | SpanStyle.PRE:
            fence = "`" if span.style is SpanStyle.CODE else "```"
            return None if fence in part.under(span) or around - _BLOCKS else span
        case SpanStyle.BOLD:
            return None if SpanStyle.BOLD in around else span
        case _:
            return span


def _mark(span: TextSpan, inside: str, bare: str) -> str:
    match span.style:
        case SpanStyle.BOLD:
            return f"**{inside}**"
        case SpanStyle.ITALIC:
            return f"_{inside}_"
        case SpanStyle.STRIKE:
            return f"~~{inside}~~"
        case SpanStyle.CODE:
            return f"`{bare}`"
        case SpanStyle.PRE:
            return f"```{span.detail if _LANGUAGE.fullmatch(span.detail) else ''}\n{bare}\n```"
        case SpanStyle.LINK:
            return _link(span.detail, inside, bare)
        case SpanStyle.HEADING:
            return f"{'#' * int(span.detail)} {inside}"
        case SpanStyle.QUOTE:
            return "> " + inside.replace("\n", "\n> ")


def _link(target: str, inside: str, bare: str) -> str:
    """The host is shown with every link. Words that are an address themselves are not masked, Discord would not."""
    if says_target(bare, target):
        return f"<{target}>"
    if "://" in bare or "\n" in bare:
        return f"{inside} (<{target}>)"
    label = inside.replace("]", "\\]")
    return f"[{label}](<{target}>) ({escaped(urlsplit(target).hostname or '')})"
