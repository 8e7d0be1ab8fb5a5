"""What Discord demands of a message before it takes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tests.fakes.discord.refusal import DiscordRefusal
from tests.fakes.record import KEPT_FILES

LONGEST_TEXT: Final = 2000
LONGEST_NONCE: Final = 25
_LINK: Final = 5


def check_message(body: Mapping[str, Any]) -> None:
    check_changes(body)
    if len(str(body.get("nonce") or "")) > LONGEST_NONCE:
        raise DiscordRefusal(50035)
    has_more = body.get("components") or body.get(KEPT_FILES)
    if not (body.get("content") or "").strip() and not has_more:
        raise DiscordRefusal(50006)


def check_changes(body: Mapping[str, Any]) -> None:
    if len(body.get("content") or "") > LONGEST_TEXT:
        raise DiscordRefusal(50035)
    rows = body.get("components") or []
    keys = list(every_button(body))
    named = [key["custom_id"] for key in keys if key["style"] != _LINK]
    if len(rows) > 5 or not all(1 <= len(row["components"]) <= 5 for row in rows):
        raise DiscordRefusal(50035)
    if not all(map(_is_button, keys)) or len(set(named)) < len(named):
        raise DiscordRefusal(50035)


def every_button(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for row in body.get("components") or []:
        yield from row["components"]


def _is_button(key: Mapping[str, Any]) -> bool:
    said, most = (key["url"], 512) if key["style"] == _LINK else (key["custom_id"], 100)
    return key["type"] == 2 and 1 <= len(key["label"]) <= 80 and 1 <= len(said) <= most
