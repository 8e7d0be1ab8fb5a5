"""What a person sees is exactly the text, whatever stands in it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.world.channels.discord.as_shown import markup, seen

from postroom.domain.delivery import REPEAT_MARK
from postroom.world.channels.discord.shown_text import TEXT_LIMIT, escaped, shown_beginning, shown_parts
from postroom.world.channels.telegram_text import utf16_length

links = st.text(alphabet=st.sampled_from("ab<[]()|\\*_`.:@ \ufeff"), max_size=12).map("https://a".__add__)
texts = st.text(alphabet=st.sampled_from("ab1 \n\\*_~|`<>[]()@#+-.:!é😀"), max_size=60)


@pytest.mark.requirement("house:discord-text")
@given(texts)
def test_exactly_the_text_is_seen_and_nothing_in_it_is_markup(text: str) -> None:
    assert seen(escaped(text)) == text
    assert markup(escaped(text)) == []


@pytest.mark.requirement("house:discord-text")
@given(st.lists(links, max_size=4).map("".join))
def test_links_of_any_kind_are_seen_as_they_are_but_for_a_space_at_their_end(text: str) -> None:
    assert "".join(seen(escaped(text)).split()) == "".join(text.split())
    assert markup(escaped(text)) == []


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("*a* _b_ ~~c~~ ||d|| `e`", r"\*a\* \_b\_ \~\~c\~\~ \|\|d\|\| \`e\`"),
        ("@everyone <@1> <@&2> <#3> <t:0>", r"\@everyone \<\@1> \<\@&2> \<#3> \<t:0>"),
        ("[bank](https://evil.example)", r"\[bank](https://evil.example)"),
        (
            "# big\n> quote\n- point\n  + more\n-# small\n1. one",
            "\\# big\n\\> quote\n\\- point\n  \\+ more\n\\-# small\n1\\. one",
        ),
        ("a - b > c # d 1. e", "a - b > c # d 1. e"),
        (":wave: at 12:30", r"\:wave: at 12:30"),
        ("C:\\dir\\_x", r"C:\\dir\\\_x"),
        ("see https://a.example/some_long_path*x and a_b", r"see https://a.example/some_long_path*x and a\_b"),
        ("https://a.example/x[y](https://evil.example)", "https://a.example/x[y](https://evil.example)"),
        ("https://a.example/|our\\*page and ||a||", "https://a.example/|our\\*page and \\|\\|a\\|\\|"),
        ("https://a.example<t:0> https://a.example.<#3>", r"https://a.example \<t:0> https://a.example. \<#3>"),
        ("https://a.example\ufeff*b*", "https://a.example\ufeff\\*b\\*"),
    ],
)
def test_marks_are_escaped_and_links_stay_whole(text: str, content: str) -> None:
    assert escaped(text) == content
    assert markup(content) == []


@given(st.text(alphabet=st.sampled_from("ab*_ \n\\😀"), min_size=1, max_size=60), st.integers(1, 200))
def test_parts_stay_within_the_limit_and_lose_nothing_visible(piece: str, times: int) -> None:
    text = piece * times
    parts = shown_parts(text)

    assert all(0 < utf16_length(part) <= TEXT_LIMIT for part in parts)
    assert re.sub(r"\s", "", "".join(map(seen, parts))) == re.sub(r"\s", "", text)


def test_a_text_of_marks_alone_still_fits() -> None:
    parts = shown_parts("*" * 2000)

    assert all(utf16_length(part) <= TEXT_LIMIT for part in parts)
    assert "".join(map(seen, parts)) == "*" * 2000


def test_a_repeated_text_says_so() -> None:
    assert shown_parts("Tea", repeated=True) == [f"Tea\n\n{REPEAT_MARK}"]


def test_words_for_one_who_pressed_are_cut_to_one_message() -> None:
    assert shown_beginning("") == ""
    assert shown_beginning("a_b") == r"a\_b"
    assert utf16_length(shown_beginning("*" * 5000)) <= TEXT_LIMIT
