"""What an edit changes, word by word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.approvals.page import DifferencePiece, difference

TEXTS = st.text(alphabet=st.sampled_from("ab \n"), max_size=40)


def test_a_word_is_exchanged() -> None:
    assert difference("Come at nine, please", "Come at ten, please") == [
        DifferencePiece("same", "Come at "),
        DifferencePiece("gone", "nine,"),
        DifferencePiece("new", "ten,"),
        DifferencePiece("same", " please"),
    ]


@given(TEXTS, TEXTS)
def test_both_texts_can_be_read_from_it(before: str, after: str) -> None:
    parts = difference(before, after)

    assert "".join(part.text for part in parts if part.kind != "new") == before
    assert "".join(part.text for part in parts if part.kind != "gone") == after


@given(TEXTS)
def test_the_same_is_the_same(text: str) -> None:
    assert {part.kind for part in difference(text, text)} <= {"same"}


# Word for word, these would keep the whole household waiting for half an hour.
@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("a " * 50_000, "b " + "a " * 49_999, id="a word at the beginning"),
        pytest.param("a " * 50_000, "b " + "a " * 49_998 + "b", id="at both ends"),
        pytest.param("a b " * 25_000, "b a " * 25_000, id="everything moved"),
    ],
)
def test_a_long_text_of_one_word_is_compared_at_once(before: str, after: str) -> None:
    parts = difference(before, after)

    assert "".join(part.text for part in parts if part.kind != "new") == before
    assert "".join(part.text for part in parts if part.kind != "gone") == after


def test_a_small_change_of_a_long_text_stays_small() -> None:
    words = [f"word{number}" for number in range(20_000)]
    changed = [*words[:10_000], "another", *words[10_001:]]

    parts = difference(" ".join(words), " ".join(changed))

    assert [(part.kind, part.text) for part in parts if part.kind != "same"] == [
        ("gone", "word10000"),
        ("new", "another"),
    ]
