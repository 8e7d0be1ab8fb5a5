"""Inline keyboards: taken or refused in Telegram's words, and found again by what stands on a button."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from postroom.programs.sandbox.arguments import Arguments, bad_request

DATA_BYTES: Final = 64
MOST_BUTTONS: Final = 100
PLACEHOLDER_CHARACTERS: Final = 64
_STYLES: Final = frozenset({"", "default", "primary", "danger", "success"})


def read_markup(arguments: Arguments) -> str | None:
    """An empty keyboard is none."""
    markup = arguments.structure("reply_markup")
    if markup is None:
        return None
    if not isinstance(markup, dict):
        raise bad_request("can't parse reply keyboard markup JSON object")
    if "inline_keyboard" in markup:
        _check_keyboard(markup["inline_keyboard"])
        return json.dumps(markup) if any(markup["inline_keyboard"]) else None
    placeholder = markup.get("input_field_placeholder", "")
    if not isinstance(placeholder, str) or len(placeholder) > PLACEHOLDER_CHARACTERS:
        raise bad_request("reply keyboard placeholder is too long")
    return json.dumps(markup)


def is_editable(markup: str | None) -> bool:
    """A message that asks for a reply stays as it is."""
    return markup is None or "inline_keyboard" in json.loads(markup)


def keys(markup: object) -> Iterator[Mapping[str, Any]]:
    """Every button of a stored keyboard, row by row."""
    rows = markup.get("inline_keyboard") if isinstance(markup, Mapping) else None
    for row in rows or []:
        yield from row


def pressed_data(markup: str | None, wanted: str) -> list[str | None]:
    """What pressing the button says, by its data or by its label; None for one that opens a link."""
    every = list(keys(json.loads(markup))) if markup else []
    by_data = [key for key in every if key.get("callback_data") == wanted]
    found = by_data or [key for key in every if key["text"] == wanted]
    return [key.get("callback_data") for key in found]


def _check_keyboard(rows: object) -> None:
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise bad_request('field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays')
    if sum(len(row) for row in rows) > MOST_BUTTONS:
        raise bad_request("reply markup is too long")
    for row in rows:
        for key in row:
            _check_key(key)


def _check_key(key: object) -> None:
    if not isinstance(key, dict):
        raise _wrong_key("InlineKeyboardButton must be an Object")
    if not isinstance(key.get("text"), str):
        raise _wrong_key('Can\'t find field "text"')
    if not key["text"].strip():
        raise bad_request("text buttons are unallowed in the inline keyboard")
    if str(key.get("style") or "").lower() not in _STYLES:
        raise _wrong_key("invalid button style specified")
    _check_action(key.get("url"), key.get("callback_data"))


def _check_action(url: object, data: object) -> None:
    if isinstance(url, str) and url:
        if not _is_web_address(url):
            raise bad_request(f"inline keyboard button URL '{url}' is invalid: Wrong HTTP URL")
    elif not isinstance(data, str) or not data:
        raise _wrong_key("Text buttons are unallowed in the inline keyboard")
    elif len(data.encode("utf-8", "surrogatepass")) > DATA_BYTES:
        raise bad_request("BUTTON_DATA_INVALID")


def _is_web_address(url: str) -> bool:
    try:
        address = urlsplit(url)
        host = address.hostname or ""
    except ValueError:
        return False
    return address.scheme in ("http", "https", "tg") and (address.scheme == "tg" or "." in host or ":" in host)


def _wrong_key(words: str) -> Exception:
    return bad_request(f"can't parse inline keyboard button: {words}")
