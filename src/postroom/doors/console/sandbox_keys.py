"""What stands under a message on the sandbox's phone; whoever sent it decides what is in it, so nothing is certain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

LOOKS: Final = {"primary": "main", "success": "main", "danger": "danger"}
_WEB: Final = re.compile(r"https?://[^\s<>\"'\\]+", re.IGNORECASE)
_LINK: Final = re.compile(r"(https?://[^\s<>\"'\\]+[^\s<>\"'\\.,;:!?)\]])", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A button: pressing it says `data` to the bot, or opens `url`."""

    label: str
    data: str | None
    url: str | None
    look: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Toast:
    """What the bot answered to a press; None while it has not."""

    label: str
    answer: str | None
    is_alert: bool


def key_rows(markup: object) -> list[list[Key]]:
    rows = markup.get("inline_keyboard") if isinstance(markup, Mapping) else None
    found = [[key for one in row if (key := _key(one))] for row in rows or [] if isinstance(row, list)]
    return [row for row in found if row]


def asks_for_reply(markup: object) -> bool:
    return isinstance(markup, Mapping) and markup.get("force_reply") is True


def placeholder(markup: object) -> str:
    return str(markup.get("input_field_placeholder") or "") if isinstance(markup, Mapping) else ""


def toasts(presses: Sequence[Mapping[str, Any]], *markups: object) -> list[Toast]:
    """A press is named by what stood on the button, now or before an edit; oldest first."""
    labels = {key.data: key.label for markup in markups for row in key_rows(markup) for key in row}
    return [
        Toast(
            label=labels.get(one["data"], one["data"]),
            answer=(one["answer"] or "") if one["answered"] else None,
            is_alert=one["alert"],
        )
        for one in presses
    ]


def linked(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it is a web address."""
    for place, piece in enumerate(_LINK.split(text)):
        if piece:
            yield piece, place % 2 == 1


def web_only(url: object) -> str | None:
    """An address that may stand behind a link here; no scheme but the web's."""
    return url if isinstance(url, str) and _WEB.fullmatch(url) else None


def _key(one: object) -> Key | None:
    if not isinstance(one, Mapping):
        return None
    data, url = one.get("callback_data"), web_only(one.get("url"))
    if not isinstance(data, str) and url is None:
        return None
    look = LOOKS.get(str(one.get("style")), "")
    return Key(label=str(one.get("text", "")), data=None if url else data, url=url, look=look)
