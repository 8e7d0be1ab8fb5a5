"""Buttons as the Bot API takes them: opaque, short, and never the reason why a message is refused."""

from __future__ import annotations

import pytest

from postroom.channels.shared import linked, with_links
from postroom.channels.telegram.building import LONGEST_LABEL, MOST_BUTTONS, keyboard, reply_markup
from postroom.kernel.text.rich import is_boundary, utf16_length
from postroom.kernel.values.errors import ValidationError
from postroom.message.markup import Button, ButtonStyle, Markup


def one(label: str = "Yes", **given: str) -> Markup:
    return Markup(buttons=((Button(label=label, **(given or {"token": "t"})),),))  # type: ignore[arg-type]


@pytest.mark.requirement("house:telegram-buttons")
def test_rows_of_tokens_and_links() -> None:
    yes = Button(label="Ship", token="q1:abc", style=ButtonStyle.SUCCESS)
    no = Button(label="Don't", token="q1:def", style=ButtonStyle.DANGER)
    more = Button(label="Open", url="https://home.example/a/x")

    assert reply_markup(Markup(buttons=((yes, no), (more,)))) == {
        "inline_keyboard": [
            [
                {"text": "Ship", "callback_data": "q1:abc", "style": "success"},
                {"text": "Don't", "callback_data": "q1:def", "style": "danger"},
            ],
            [{"text": "Open", "url": "https://home.example/a/x"}],
        ]
    }


@pytest.mark.parametrize("token", ["", "x" * 65, "ü" * 33, "\ud800"], ids=["empty", "bytes", "more bytes", "surrogate"])
def test_a_token_telegram_would_refuse_is_refused_before_any_call(token: str) -> None:
    with pytest.raises(ValidationError, match="64 bytes"):
        keyboard(one(token=token))


def test_sixty_four_bytes_are_taken() -> None:
    assert keyboard(one(token="ü" * 32))["inline_keyboard"][0][0]["callback_data"] == "ü" * 32


@pytest.mark.parametrize("label", ["word " * 50, "👨‍👩‍👧" * 40, "é" * 100, "🇩🇪" * 60])
def test_a_long_label_is_cut_between_visible_characters(label: str) -> None:
    text = keyboard(one(label))["inline_keyboard"][0][0]["text"]

    assert utf16_length(text) <= LONGEST_LABEL
    assert text.endswith("…")
    assert is_boundary(label, len(text) - 1)


def test_a_label_is_one_line() -> None:
    assert keyboard(one("two\nlines\t here"))["inline_keyboard"][0][0]["text"] == "two lines here"


@pytest.mark.parametrize("label", ["", " \n ", "a\x00b"])
def test_a_button_without_a_text_is_refused(label: str) -> None:
    with pytest.raises(ValidationError, match="button's text"):
        keyboard(one(label))


def test_there_is_a_most_of_buttons() -> None:
    with pytest.raises(ValidationError, match=f"at most {MOST_BUTTONS}"):
        keyboard(Markup(buttons=((Button(label="x", token="t"),) * (MOST_BUTTONS + 1),)))


@pytest.mark.parametrize(
    "url", ["http://localhost:40200/a/x", "http://house/a", "ftp://x.example", "nonsense", "http://[::1"]
)
def test_a_link_telegram_would_refuse_stands_below_the_text(url: str) -> None:
    markup = one("Open", url=url)

    assert reply_markup(markup) is None
    assert with_links("Ship it?\n", linked(markup)) == f"Ship it?\n\nOpen: {url}"


@pytest.mark.parametrize("url", ["https://home.example/a/x", "http://127.0.0.1:40200/a", "http://[::1]:40200/a"])
def test_other_links_stand_in_a_button(url: str) -> None:
    markup = one("Open", url=url)

    assert reply_markup(markup) == {"inline_keyboard": [[{"text": "Open", "url": url}]]}
    assert with_links("Ship it?", linked(markup)) == "Ship it?"


def test_a_box_to_reply_in() -> None:
    markup = Markup(force_reply=True, placeholder="Why not?\n" + "x" * 100)

    box = reply_markup(markup, selective=True)

    assert box is not None
    assert (box["force_reply"], box["selective"]) == (True, True)
    assert box["input_field_placeholder"].startswith("Why not? x")
    assert utf16_length(box["input_field_placeholder"]) == 64
    assert reply_markup(Markup(force_reply=True)) == {"force_reply": True}
