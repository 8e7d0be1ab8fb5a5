"""What an edit changes, word by word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from postroom.console.difference import Part, difference

TEXTS = st.text(alphabet=st.sampled_from("ab \n"), max_size=40)


def test_a_word_is_exchanged() -> None:
    assert difference("Come at nine, please", "Come at ten, please") == [
        Part("same", "Come at "),
        Part("gone", "nine,"),
        Part("new", "ten,"),
        Part("same", " please"),
    ]


@given(TEXTS, TEXTS)
def test_both_texts_can_be_read_from_it(before: str, after: str) -> None:
    parts = difference(before, after)

    assert "".join(part.text for part in parts if part.kind != "new") == before
    assert "".join(part.text for part in parts if part.kind != "gone") == after


@given(TEXTS)
def test_the_same_is_the_same(text: str) -> None:
    assert {part.kind for part in difference(text, text)} <= {"same"}
