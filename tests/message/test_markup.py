"""Buttons keep their shape on the way into the store and back, and keep to themselves what they are worth."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.message.markup import (
    Button,
    ButtonStyle,
    Markup,
    markup_object,
    markup_of_text,
    markup_text,
    read_markup,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
BUTTONS = st.one_of(
    st.builds(Button, label=TEXT, token=TEXT, style=st.sampled_from([None, *ButtonStyle])),
    st.builds(Button, label=TEXT, url=TEXT),
)
KEYBOARDS = st.builds(
    Markup,
    buttons=st.lists(st.lists(BUTTONS, min_size=1, max_size=3).map(tuple), max_size=3).map(tuple),
    reply_to=st.none() | TEXT,
)
QUESTIONS = st.builds(Markup, force_reply=st.just(True), placeholder=st.none() | TEXT)


@given(markup=KEYBOARDS | QUESTIONS)
def test_what_is_stored_is_read_back_as_it_was(markup: Markup) -> None:
    assert markup_of_text(markup_text(markup)) == markup
    assert read_markup(markup_object(markup)) == markup


def test_neither_token_nor_link_is_shown() -> None:
    markup = Markup(buttons=((Button(label="Yes", token="canary-1"), Button(label="Open", url="https://x/canary-2")),))

    assert "canary" not in repr(markup)
    assert markup.labels == (("Yes", "Open"),)


@pytest.mark.parametrize("given", [{}, {"token": "t", "url": "https://x"}], ids=["neither", "both"])
def test_a_button_does_exactly_one_thing(given: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="either a token or a url"):
        Button(label="Yes", **given)  # type: ignore[arg-type]


def test_a_message_has_buttons_or_asks_for_a_reply() -> None:
    with pytest.raises(ValueError, match="not both"):
        Markup(buttons=((Button(label="Yes", token="t"),),), force_reply=True)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        {"keys": []},
        {"buttons": {}},
        {"buttons": [{}]},
        {"buttons": [[{"token": "t"}]]},
        {"buttons": [[{"label": 1, "token": "t"}]]},
        {"buttons": [[{"label": "Yes"}]]},
        {"buttons": [[{"label": "Yes", "token": "t", "style": "pink"}]]},
        {"placeholder": 5},
    ],
)
def test_anything_else_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError):
        read_markup(wrong)
