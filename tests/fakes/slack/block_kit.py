"""Block Kit, as far as messages with buttons need it: what Slack refuses, and what a person sees."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tests.fakes.record import FaceButton
from tests.fakes.slack import rich_block
from tests.fakes.slack.workspace import SlackError

_MOST_BLOCKS: Final = 50
_MOST_ELEMENTS: Final = 25
_SECTION: Final = 3000
_ALL_TEXT: Final = 13_200
_LABEL, _VALUE, _URL, _ACTION_ID = 75, 2000, 3000, 255
_STYLES: Final = (None, "primary", "danger")

Block = Mapping[str, Any]


def checked(blocks: object) -> list[Block]:
    if blocks is None:
        return []
    if not isinstance(blocks, list) or len(blocks) > _MOST_BLOCKS or not all(map(_is_sound, blocks)):
        raise SlackError("invalid_blocks")
    if sum(len(json.dumps(one, ensure_ascii=False)) for one in blocks if one["type"] != "actions") > _ALL_TEXT:
        raise SlackError("msg_blocks_too_long")
    return blocks


def seen(text: str, blocks: Sequence[Block]) -> str:
    """Blocks are shown instead of the text, which is for notifications then."""
    return "\n".join(_texts(blocks)) or unescaped(text)


def buttons(blocks: Sequence[Block]) -> list[FaceButton]:
    return [_button(element) for block in blocks if block.get("type") == "actions" for element in block["elements"]]


def unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _texts(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        if block.get("type") == "section":
            yield unescaped(block["text"]["text"])
        elif block.get("type") == "rich_text":
            yield rich_block.words(block)


def _button(element: Block) -> FaceButton:
    label, url = unescaped(element["text"]["text"]), element.get("url")
    return FaceButton(label=label, url=url, data=None if url else element.get("value", element.get("action_id")))


def _is_sound(block: Block) -> bool:
    match block.get("type"):
        case "section":
            return _is_text(block.get("text"), _SECTION)
        case "rich_text":
            return rich_block.is_sound(block)
        case "actions":
            return _are_elements(block.get("elements"))
        case _:
            return False


def _are_elements(elements: object) -> bool:
    if not isinstance(elements, list) or not 1 <= len(elements) <= _MOST_ELEMENTS:
        return False
    if not all(isinstance(one, Mapping) and _is_button(one) for one in elements):
        return False
    named = [one["action_id"] for one in elements if "action_id" in one]
    return len(set(named)) == len(named)


def _is_button(element: Block) -> bool:
    text: Any = element.get("text")
    return (
        element.get("type") == "button"
        and _is_text(text, _LABEL)
        and text["type"] == "plain_text"
        and element.get("style") in _STYLES
        and all(_is_short(element.get(name), most) for name, most in _LIMITS)
    )


_LIMITS: Final = (("value", _VALUE), ("url", _URL), ("action_id", _ACTION_ID))


def _is_text(text: Any, most: int) -> bool:
    if not isinstance(text, Mapping) or text.get("type") not in ("plain_text", "mrkdwn"):
        return False
    return isinstance(text.get("text"), str) and 1 <= len(text["text"]) <= most


def _is_short(value: object, most: int) -> bool:
    return value is None or (isinstance(value, str) and 1 <= len(value) <= most)
