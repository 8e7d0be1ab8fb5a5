from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.world.channels.provider_words import LONGEST, provider_words


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Bad Request: chat not found", "Bad Request: chat not found"),
        ("token s3cret! twice s3cret!", "token *** twice ***"),
        ("line\r\nInjected: yes\x1b[31m", "line Injected: yes [31m"),
        ("you wrote the whole letter", ""),
        ("you wrote its second line", ""),
        (None, ""),
        ({"no": "text"}, ""),
    ],
)
def test_words_are_safe_to_repeat(said: object, words: str) -> None:
    assert provider_words(said, secrets=["s3cret!", ""], private=["the whole letter\nits second line"]) == words


@given(st.text())
def test_words_are_one_short_printable_line(said: str) -> None:
    words = provider_words(said)

    assert len(words) <= LONGEST
    assert words.isprintable()
