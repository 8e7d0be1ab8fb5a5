"""Keyboards of any origin become keys that can be shown, and texts of any origin keep their links harmless."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.doors.console.sandbox_keys import Key, Toast, asks_for_reply, key_rows, linked, placeholder, toasts

YES = {"text": "Yes", "callback_data": "y"}


def rows(*keys: object) -> list[list[tuple[str, str | None, str | None]]]:
    found = key_rows({"inline_keyboard": [list(keys)]})
    return [[(key.label, key.data, key.url) for key in row] for row in found]


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        pytest.param(YES, ("Yes", "y", None), id="a button"),
        pytest.param({"text": "Site", "url": "https://e.org/x"}, ("Site", None, "https://e.org/x"), id="a link"),
        pytest.param(
            {"text": "Both", "url": "https://e.org", "callback_data": "y"}, ("Both", None, "https://e.org"), id="both"
        ),
    ],
)
def test_a_key_says_something_or_opens_something(key: object, shown: tuple[str, str | None, str | None]) -> None:
    assert rows(key) == [[shown]]


@pytest.mark.parametrize(
    "markup",
    [
        {"inline_keyboard": ["x", [1, None], []]},
        {"inline_keyboard": [[{"text": "Run", "url": "javascript:alert(1)"}]]},
        {"inline_keyboard": [[{"text": "Odd", "url": 'https://e.org/"onclick=x'}]]},
        {"inline_keyboard": [[{"text": "Nothing"}]]},
        {"keyboard": []},
        [],
        None,
    ],
    ids=["nonsense", "script", "quote", "no action", "another keyboard", "no object", "none"],
)
def test_anything_else_is_not_shown(markup: object) -> None:
    assert key_rows(markup) == []


def test_rows_stay_rows_and_styles_are_looks() -> None:
    found = key_rows({"inline_keyboard": [[{**YES, "style": "success"}], [{**YES, "style": "danger"}, YES]]})

    assert [[key.look for key in row] for row in found] == [["main"], ["danger", ""]]
    assert found[1][1] == Key(label="Yes", data="y", url=None, look="")


def test_a_press_is_named_by_its_button_even_when_that_was_edited_away() -> None:
    def press(data: str, **more: Any) -> dict[str, Any]:
        return {"data": data, "answer": None, "answered": False, "alert": False} | more

    before = {"inline_keyboard": [[YES]]}
    found = toasts([press("y", answer="Got it", answered=True, alert=True), press("z")], before, None)

    assert found == [
        Toast(label="Yes", answer="Got it", is_alert=True),
        Toast(label="z", answer=None, is_alert=False),
    ]


def test_a_box_to_reply_in_is_known() -> None:
    assert asks_for_reply({"force_reply": True}) and not asks_for_reply({"inline_keyboard": []})
    assert placeholder({"force_reply": True, "input_field_placeholder": "Why?"}) == "Why?"
    assert not asks_for_reply(None) and placeholder(None) == ""


@pytest.mark.parametrize(
    ("text", "links"),
    [
        (
            "Ship it: https://e.org/a/x?y=1.\nOr http://127.0.0.1:40200/a).",
            ["https://e.org/a/x?y=1", "http://127.0.0.1:40200/a"],
        ),
        ("javascript:alert(1) //e.org mailto:a@e.org", []),
        ('https://e.org/"><script>', ["https://e.org/"]),
        ("", []),
    ],
    ids=["two", "none", "hostile", "empty"],
)
def test_links_are_web_addresses_and_nothing_of_the_text_is_lost(text: str, links: list[str]) -> None:
    pieces = list(linked(text))

    assert "".join(piece for piece, _ in pieces) == text
    assert [piece for piece, is_link in pieces if is_link] == links
