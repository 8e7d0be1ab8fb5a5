from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from tests.domain.markdown_texts import inked, markdown

from postroom.domain.html_text import html_of
from postroom.domain.markdown import parse
from postroom.domain.markdown_tokens import is_target

TAGS = {"strong", "em", "s", "code", "pre", "a", "blockquote", "br", *(f"h{level}" for level in range(1, 7))}


class Reader(HTMLParser):
    """What another program makes of it."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        assert [name for name, _ in attrs] == (["href", "rel"] if tag == "a" else [])
        assert all(is_target(value or "") for name, value in attrs if name == "href")
        self.open += [tag] if tag != "br" else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader


@pytest.mark.requirement("content:nothing-lost", "content:no-injection")
@settings(deadline=None)  # a machine may be busy
@given(markdown)
def test_only_our_tags_and_all_of_the_text(source: str) -> None:
    reader = read(html_of(parse(source)))

    assert inked(reader.text) == inked(parse(source).text)
    assert not reader.open


def test_blocks_have_their_own_line_ends_and_lists_keep_their_indent() -> None:
    assert html_of(parse("# T\n\na\nb\n\n> q")) == "<h1>T</h1>\na<br>\nb\n<blockquote>q</blockquote>"
    assert html_of(parse("- a\n  - b")) == "• a<br>\n&nbsp; • b"
    assert html_of(parse("# T"), headings=False) == "<strong>T</strong>"
