from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.markdown_texts import inked, markdown

from postroom.kernel.text.markdown import parse
from postroom.kernel.text.markdown_tokens import LONGEST_TARGET
from postroom.kernel.text.rich import RichText, SpanStyle
from postroom.questions.rules.words import as_markdown


def styles(source: str) -> list[tuple[str, str, str]]:
    rich = parse(source)
    return [(str(span.style), rich.under(span), span.detail) for span in rich.spans]


TABLE = "| a | b |\n|---|---|\n| 1 | 2 | 3 |"
HIDDEN = "<https://a.example/%E2%80%AE>"


@pytest.mark.requirement("content:parsed-once")
@pytest.mark.parametrize(
    ("source", "text", "spans"),
    [
        (
            "**b** *i* ~~s~~ `c`",
            "b i s c",
            [("bold", "b", ""), ("italic", "i", ""), ("strike", "s", ""), ("code", "c", "")],
        ),
        ("# Title\nText", "Title\n\nText", [("heading", "Title", "1")]),
        ("[l](https://a.example/x_y_)", "l", [("link", "l", "https://a.example/x_y_")]),
        ("![alt](https://a.example/i.png)", "alt", [("link", "alt", "https://a.example/i.png")]),
        ("[](https://a.example)", "https://a.example", [("link", "https://a.example", "https://a.example")]),
        ("```py\na\n  b\n```", "a\n  b", [("pre", "a\n  b", "py")]),
        ("> a\n> b", "a\nb", [("quote", "a\nb", "")]),
        ("- a\n- b\n  - c", "• a\n• b\n  • c", []),
        ("1. a\n1. b", "1. a\n2. b", []),
        ("3. a\n7. b", "3. a\n7. b", []),
        ("***", "———", []),
        ("****a****", "a", [("bold", "a", "")]),
        (TABLE, TABLE, [("pre", TABLE, "")]),  # as it was written, even where it has too many cells
        ("```py title=x\na\n```", "py title=x\na", [("pre", "py title=x\na", "")]),  # what stands beside the language
        (HIDDEN, HIDDEN.strip("<>"), [("link", HIDDEN.strip("<>"), HIDDEN.strip("<>"))]),  # it stays spelled out
    ],
)
def test_markup_becomes_spans_and_is_seen_no_more(source: str, text: str, spans: list[tuple[str, str, str]]) -> None:
    assert parse(source).text == text
    assert styles(source) == spans


@pytest.mark.requirement("content:no-injection")
@pytest.mark.parametrize(
    "source",
    [
        "[x](javascript:alert(1))",
        "[x](data:text/html,hi)",
        "[x](tg://resolve?domain=x)",
        "[x](/relative)",
        "[x](file:///etc/passwd)",
        f"[x](https://a.example/{'a' * LONGEST_TARGET})",
        "<script>alert(1)</script>",
        "<!-- hidden -->",
        "&#x202e;abc &amp; &zwnj;",
        "[x]: https://a.example",
        "[x][y] and [y]",
    ],
)
def test_what_is_not_allowed_is_text_as_it_was_written(source: str) -> None:
    assert parse(source) == RichText(source)


@pytest.mark.parametrize(
    "source", [">" * 90 + " deep", "- " * 90 + "deep", "[" * 3000, "#", "*" * 3000 + "a" + "*" * 3000]
)
def test_nothing_is_lost_in_what_is_nested_too_deep(source: str) -> None:
    assert parse(source).text.strip("*")
    if "deep" in source:
        assert "deep" in parse(source).text


@pytest.mark.requirement("content:nothing-lost")
@given(st.text(alphabet="ab1 \n*_<>#-+|\\&é😀", max_size=80))
def test_no_letter_is_ever_lost(source: str) -> None:
    letters = [sign for sign in source if (sign.isalnum() and not sign.isdigit()) or sign == "😀"]
    assert [sign for sign in parse(source).text if sign in letters] == letters


@settings(deadline=None)  # a machine may be busy
@given(markdown)
def test_spans_are_ordered_nested_and_never_blank_and_the_same_every_time(source: str) -> None:
    rich = parse(source)
    parse.cache_clear()
    assert parse(source) == rich
    opened: list[int] = []
    place = 0
    for span in rich.spans:
        assert place <= span.start < span.end <= len(rich.text)
        place = span.start
        opened = [end for end in opened if end > span.start]
        assert all(span.end <= end for end in opened)
        opened.append(span.end)
        assert rich.under(span).strip() == rich.under(span) or span.style is SpanStyle.PRE


@pytest.mark.requirement("content:no-injection")
@settings(deadline=None)
@given(st.one_of(markdown, st.text(alphabet="ab1 \n\t*_~`[]()<>#-+.!|\\\\:@&=é😀/", max_size=80)))
def test_escaped_words_are_read_as_the_same_words_without_any_look(text: str) -> None:
    rich = parse(as_markdown(text))

    assert inked(rich.text) == inked(text)
    assert rich.spans == ()
