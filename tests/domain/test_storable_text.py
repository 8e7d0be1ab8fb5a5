from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.domain.fields import text_problem
from postroom.domain.storable_text import storable

anything = st.text(st.characters() | st.sampled_from("\x00\ud83d\ude00\udfff"))


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        pytest.param("Grüße 😀", "Grüße 😀", id="fine as it is"),
        pytest.param("a\x00b", "a\ufffdb", id="NUL"),
        pytest.param("a\ud800b", "a\ufffdb", id="half a pair"),
        pytest.param("\udfff", "\ufffd", id="the other half"),
        pytest.param("\ud83d\ude00", "😀", id="two halves that belong together"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_what_cannot_be_kept_is_replaced(said: str, kept: str) -> None:
    assert storable(said) == kept


@given(anything)
def test_the_outcome_can_always_be_kept_and_is_never_longer(said: str) -> None:
    kept = storable(said)

    assert text_problem(kept) is None
    assert len(kept) <= len(said)
    assert storable(kept) == kept
