from __future__ import annotations

from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.markdown_texts import inked, markdown

from postroom.kernel.text.markdown import parse
from postroom.kernel.text.markdown_tokens import is_target
from postroom.kernel.text.rich import (
    TEXT_LIMIT,
    RichText,
    SpanStyle,
    TextSpan,
    cut,
    fitting,
    folded_over,
    html_of,
    inserted,
    is_boundary,
    is_single,
    marked,
    readable,
    runs,
    split,
    utf16_length,
    with_mark,
)

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


FAMILY = "👨‍👩‍👧"
WALES = "🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f"


@pytest.mark.parametrize(
    "text",
    ["a", "é", "e\u0301", "👍🏽", FAMILY, "🇫🇷", "❤️", WALES, "\u1112\u1161\u11ab", "\r\n"],
    ids=["ascii", "composed", "combining", "skin tone", "zwj", "flag", "selector", "tags", "jamo", "crlf"],
)
def test_what_people_see_as_one_character_is_one(text: str) -> None:
    assert is_single(text)


@pytest.mark.parametrize("text", ["", "ab", "👍👍", "🇫🇷🇩🇪", FAMILY + "!"])
def test_two_characters_are_not_one(text: str) -> None:
    assert not is_single(text)


def test_flags_are_cut_between_pairs_only() -> None:
    flags = "🇫🇷🇩🇪🇮🇹"

    assert [index for index in range(7) if is_boundary(flags, index)] == [0, 2, 4, 6]


def test_what_never_fits_says_its_links_in_words() -> None:
    rich = RichText("a b", (TextSpan(0, 1, SpanStyle.LINK, "https://a.example"),))

    assert list(fitting(rich, 100, lambda part: not part.spans)) == [RichText("a (https://a.example) b")]


def test_the_mark_is_no_part_of_a_span() -> None:
    part = RichText("ab", (TextSpan(0, 2, SpanStyle.BOLD),))

    assert with_mark([part], "(m)", lambda _: True) == [RichText("ab\n\n(m)", part.spans)]
    assert with_mark([part], "(m)", lambda _: False) == [part, RichText("(m)")]


PIECES = [
    "word ",
    "a",
    ".",
    "漢",
    "\n",
    "\r\n",
    "\n\n",
    "\r\n\r\n",
    " ",
    "\u00a0",
    "\t",
    "😀",
    "👨‍👩‍👧",
    "🇫🇷",
    "e\u0301",
    "\u200d",
    "\u0301",
]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=80).map("".join)


def cuts(text: str, parts: list[str]) -> list[tuple[int, int]]:
    """Where each part ends and the next begins; fails when anything but white space lies between."""
    found, position = [], 0
    for part in parts:
        start = position
        while not text.startswith(part, start):
            assert text[start].isspace()
            start += 1
        found.append((position, start))
        position = start + len(part)
    assert not text[position:].strip()
    return found[1:]


@pytest.mark.parametrize("text", ["a" * 4096, "😀" * 2048, "  kept as it is \n", "<b>*x*</b> [a](tg://user?id=1)"])
def test_what_fits_is_left_alone(text: str) -> None:
    assert split(text) == [text]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param("one\n\ntwo\nthree four", ["one", "two", "three four"], id="paragraph, then line"),
        pytest.param("one\r\n\r\ntwo\r\nthree", ["one", "two\r\nthree"], id="paragraph in CRLF"),
        pytest.param("one\n \t\ntwo three", ["one", "two three"], id="blank line of spaces"),
        pytest.param("one two\nthree four", ["one two", "three four"], id="line"),
        pytest.param("one two three", ["one two", "three"], id="word"),
        pytest.param("abcdefghijklm", ["abcdefghij", "klm"], id="one huge word"),
        pytest.param("abcdefghij\n\nklm", ["abcdefghij", "klm"], id="break right at the limit"),
        pytest.param("ab" + " " * 30 + "cd", ["ab", "cd"], id="wide gap"),
        pytest.param(" " * 30 + "cd", ["cd"], id="leading gap"),
        pytest.param("cd" + "\n" * 30, ["cd"], id="trailing gap"),
        pytest.param("aaaaaaaa👨‍👩‍👧b", ["aaaaaaaa", "👨‍👩‍👧b"], id="family stays together"),
        pytest.param("\n\n \n👨‍👩‍👧", ["👨‍👩‍👧"], id="family stays together behind a gap"),
        pytest.param("aaaaaaaaae\u0301b", ["aaaaaaaaa", "e\u0301b"], id="accent stays with its letter"),
        pytest.param("aaaaaaaaa😀", ["aaaaaaaaa", "😀"], id="surrogate pair"),
        pytest.param("a" + "\u0301" * 14, ["a" + "\u0301" * 9, "\u0301" * 5], id="unavoidable"),
    ],
)
def test_a_long_text_is_cut_where_it_hurts_least(text: str, parts: list[str]) -> None:
    assert split(text, 10) == parts


@settings(max_examples=400, deadline=None)
@given(texts, st.integers(min_value=2, max_value=40))
@example("\u0301" * 30, 2)
@example("😀" * 30, 2)
@example(" \u0301" * 30, 3)
def test_nothing_but_white_space_at_a_cut_is_lost(text: str, limit: int) -> None:
    parts = split(text, limit)
    cuts(text, parts)

    assert all(utf16_length(part) <= limit for part in parts)
    assert len(parts) == 1 or all(part.strip() for part in parts)


@settings(max_examples=400, deadline=None)
@given(texts)
def test_no_visible_character_is_torn_when_it_fits(text: str) -> None:
    limit = max((_longest_character(text), 20))

    assert all(is_boundary(text, end) and is_boundary(text, start) for end, start in cuts(text, split(text, limit)))


def test_a_megabyte_is_cut_into_few_parts() -> None:
    text = ("word " * 200 + "\n\n") * 1000

    assert len(split(text)) <= 2 * (len(text) // TEXT_LIMIT + 1)


def _longest_character(text: str) -> int:
    edges = [index for index in range(len(text) + 1) if is_boundary(text, index)]
    return max((utf16_length(text[a:b]) for a, b in pairwise(edges)), default=0)


@settings(max_examples=400, deadline=None)
@given(texts.filter(str.strip), st.integers(min_value=20, max_value=60))
def test_a_mark_leaves_every_part_before_it_as_it_was(text: str, limit: int) -> None:
    parts = split(text, limit)

    with_mark = marked(parts, "(again)", limit)

    assert with_mark[: len(parts) - 1] == parts[:-1]
    assert with_mark[-1] == f"{parts[-1].rstrip()}\n\n(again)" or with_mark == [*parts, "(again)"]
    assert all(utf16_length(part) <= limit for part in with_mark)


@given(text=st.text(max_size=40), limit=st.integers(2, 20))
def test_what_is_cut_is_short_enough_and_says_that_something_is_missing(text: str, limit: int) -> None:
    short = cut(text, limit)

    assert utf16_length(short) <= limit
    assert short == text or short.endswith("…")
