from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from tests.support.markdown_texts import inked, markdown

from postroom.kernel.text.markdown import parse
from postroom.kernel.text.markdown_tokens import is_target
from postroom.kernel.text.rich import RichText, SpanStyle, TextSpan, folded_over, html_of, inserted, readable, runs

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


@pytest.mark.requirement("content:readable-elsewhere")
@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("**bold**", "bold"),
        ("[l](https://a.example)", "l (https://a.example)"),
        ("<https://a.example>", "https://a.example"),
        ("[a@b.example](mailto:a@b.example)", "a@b.example"),
        ("> a\n>\n> > b", "> a\n\n> > b"),
        ("> ```\n> a\n> b\n> ```", "> a\n> b"),
    ],
)
def test_it_reads_well_and_says_where_links_lead(source: str, text: str) -> None:
    assert readable(parse(source)) == text


@settings(deadline=None)  # a machine may be busy
@given(markdown)
def test_all_that_is_visible_and_every_target_is_there(source: str) -> None:
    rich = parse(source)
    shown = inked(readable(rich))

    assert all(span.detail in shown or span.detail.removeprefix("mailto:") in shown for span in rich.links)
    remaining = iter(shown)
    assert all(sign in remaining for sign in inked(rich.text))


def test_a_span_that_is_cut_is_there_in_both_pieces() -> None:
    rich = RichText("one two", (TextSpan(0, 7, SpanStyle.BOLD),))

    assert rich.piece(0, 3) == RichText("one", (TextSpan(0, 3, SpanStyle.BOLD),))
    assert rich.piece(4, 7) == RichText("two", (TextSpan(0, 3, SpanStyle.BOLD),))


def test_what_is_inserted_at_the_edge_of_a_span_is_not_part_of_it() -> None:
    rich = RichText("ab", (TextSpan(0, 1, SpanStyle.BOLD), TextSpan(1, 2, SpanStyle.ITALIC)))

    assert inserted(rich, [(0, "<"), (1, "--")]) == RichText(
        "<a--b", (TextSpan(1, 2, SpanStyle.BOLD), TextSpan(4, 5, SpanStyle.ITALIC))
    )


@settings(deadline=None)  # a machine may be busy
@given(markdown)
def test_every_way_of_going_through_it_sees_the_whole_text(source: str) -> None:
    rich = parse(source)

    assert "".join(text for text, _ in runs(rich)) == rich.text
    assert folded_over(rich, lambda text: text, lambda _, inside, __: inside) == rich.text
