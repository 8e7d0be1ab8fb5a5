"""What Discord demands of a message before it takes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from tests.fakes.discord.refusal import DiscordRefusal
from tests.fakes.record import KEPT_FILES

LONGEST_TEXT: Final = 2000
LONGEST_NONCE: Final = 25
_LINK: Final = 5
_BAD: Final = ("BASE_TYPE_BAD_TYPE", "This field has the wrong type.")


def check_message(body: Mapping[str, Any]) -> None:
    check_changes(body)
    nonce = body.get("nonce")
    if nonce is not None and (isinstance(nonce, bool) or not isinstance(nonce, int | str)):
        raise DiscordRefusal(50035, field="nonce", problem=_BAD)
    if len(str(nonce or "")) > LONGEST_NONCE:
        raise _too_long("nonce", LONGEST_NONCE)
    has_more = body.get("components") or body.get(KEPT_FILES)
    if not (body.get("content") or "").strip() and not has_more:
        raise DiscordRefusal(50006)


def check_changes(body: Mapping[str, Any]) -> None:
    content = body.get("content")
    if content is not None and not isinstance(content, str):
        raise DiscordRefusal(50035, field="content", problem=_BAD)
    if len(content or "") > LONGEST_TEXT:
        raise _too_long("content", LONGEST_TEXT)
    _check_components(body.get("components"))


def every_button(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for row in body.get("components") or []:
        yield from row["components"]


def _check_components(rows: object) -> None:
    if rows is None:
        return
    if not isinstance(rows, list) or len(rows) > 5:
        raise DiscordRefusal(50035, field="components", problem=("BASE_TYPE_BAD_LENGTH", "Must be between 0 and 5."))
    named: set[str] = set()
    for place, row in enumerate(rows):
        keys = row.get("components") if isinstance(row, Mapping) and row.get("type") == 1 else None
        if not isinstance(keys, list) or not 1 <= len(keys) <= 5:
            problem = ("BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
            raise DiscordRefusal(50035, field=f"components.{place}.components", problem=problem)
        for number, key in enumerate(keys):
            _check_button(key, f"components.{place}.components.{number}", named)


def _check_button(key: object, field: str, named: set[str]) -> None:
    if not isinstance(key, Mapping) or key.get("type") != 2 or key.get("style") not in (1, 2, 3, 4, _LINK):
        raise DiscordRefusal(50035, field=f"{field}.type", problem=_BAD)
    label = key.get("label")
    if not isinstance(label, str) or not 1 <= len(label) <= 80:
        raise _too_long(f"{field}.label", 80)
    if key["style"] == _LINK:
        _check_link(key.get("url"), f"{field}.url")
        return
    said = key.get("custom_id")
    if not isinstance(said, str) or not 1 <= len(said) <= 100:
        raise _too_long(f"{field}.custom_id", 100)
    if said in named:
        problem = ("COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated")
        raise DiscordRefusal(50035, field=f"{field}.custom_id", problem=problem)
    named.add(said)


def _check_link(url: object, field: str) -> None:
    if not isinstance(url, str) or len(url) > 512:
        raise _too_long(field, 512)
    if urlsplit(url).scheme not in ("http", "https", "discord") or not urlsplit(url).netloc:
        raise DiscordRefusal(50035, field=field, problem=("URL_TYPE_INVALID_URL", "Not a well formed URL."))


def _too_long(field: str, most: int) -> DiscordRefusal:
    return DiscordRefusal(
        50035, field=field, problem=("BASE_TYPE_MAX_LENGTH", f"Must be between 1 and {most} in length.")
    )
