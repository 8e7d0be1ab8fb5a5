"""Markdown on a page: as it will look, and its links apart from it, so that none can be followed unseen."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from postroom.domain.html_text import html_of
from postroom.domain.markdown import parse
from postroom.domain.rich_text import SpanStyle
from postroom.work.approvals.links import ShownLink, links_in


def formatted(text: str) -> Markup:
    """Headings are only bold here: a page has its own."""
    rich = parse(text).without(lambda span: span.style is SpanStyle.LINK)
    return Markup(html_of(rich, headings=False))  # noqa: S704  every character of it is escaped there


def shown_links(text: str) -> Sequence[ShownLink]:
    return links_in(parse(text))
