"""What a person sees is exactly the text, whatever stands in it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.domain.delivery import REPEAT_MARK
from postroom.world.channels.discord.shown_text import TEXT_LIMIT, escaped, shown_beginning, shown_parts, shown_spread
from postroom.world.channels.telegram_text import utf16_length

_LINK = r"https?://[^\s<]+"
_TOKENS = re.compile(rf"(?P<link>{_LINK})|\\(?P<literal>[^0-9A-Za-z\s])|(?P<plain>.)", re.DOTALL)
_ACTIVE = re.compile(
    r"\*|_|~|\||`|<|\[|@|:[\w+~-]+:|\\(?=[^0-9A-Za-z\s])|(?:^|(?<=\n))[ \t]*(?:[>#+-]|[0-9]+\.)", re.MULTILINE
)
texts = st.text(alphabet=st.sampled_from("ab1 \n\\*_~|`<>[]()@#+-.:!é😀"), max_size=60)


def seen(content: str) -> str:
    """As Discord shows it: a backslash before a sign is not shown, but within a link it is."""
    return "".join(m["link"] or m["literal"] or m["plain"] for m in _TOKENS.finditer(content))


def active(content: str) -> str:
    """What is left for Discord to take for markup, with everything literal blanked out."""
    return "".join("\0" if m["link"] or m["literal"] else m["plain"] for m in _TOKENS.finditer(content))


@pytest.mark.requirement("house:discord-text")
@given(texts)
def test_exactly_the_text_is_seen_and_nothing_in_it_is_markup(text: str) -> None:
    assert seen(escaped(text)) == text
    assert not _ACTIVE.search(active(escaped(text)))


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
        ("https://a.example/x[y](https://evil.example)", r"https://a.example/x\[y](https://evil.example)"),
    ],
)
def test_marks_are_escaped_and_links_stay_whole(text: str, content: str) -> None:
    assert escaped(text) == content


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


@given(st.text(alphabet=st.sampled_from("ab*_ \n"), max_size=4000), st.integers(1, 3))
def test_an_edit_has_as_many_messages_as_there_are(text: str, messages: int) -> None:
    parts = shown_spread(text, messages)

    assert len(parts) == messages
    assert all(utf16_length(part) <= TEXT_LIMIT for part in parts)


def test_words_for_one_who_pressed_are_cut_to_one_message() -> None:
    assert shown_beginning("") == ""
    assert shown_beginning("a_b") == r"a\_b"
    assert utf16_length(shown_beginning("*" * 5000)) <= TEXT_LIMIT
