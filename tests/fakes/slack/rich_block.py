"""Slack's `rich_text` block, as its reference describes it: what is refused, and what a person reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_PARTS: Final = frozenset({"rich_text_section", "rich_text_quote", "rich_text_preformatted"})
_LOOKS: Final = frozenset({"bold", "italic", "strike", "code"})

Part = Mapping[str, Any]


def is_sound(block: Part) -> bool:
    """Lists are not known here: Postroom writes none."""
    return _is_list(block.get("elements")) and all(map(_is_part, block["elements"]))


def words(block: Part) -> str:
    """Nothing in it is escaped, so nothing is to be unescaped; each part begins a line."""
    return "\n".join("".join(_texts(part)) for part in block["elements"])


def _texts(part: Part) -> Iterator[str]:
    for element in part["elements"]:
        yield element.get("text") or element["url"]


def _is_part(part: object) -> bool:
    if not isinstance(part, Mapping) or part.get("type") not in _PARTS or not _is_list(part.get("elements")):
        return False
    may_have_looks = part["type"] != "rich_text_preformatted"
    return all(_is_element(one, may_have_looks) for one in part["elements"])


def _is_element(element: object, may_have_looks: bool) -> bool:
    """People, channels and `broadcast` would be elements of their own; none of ours may be one."""
    if not isinstance(element, Mapping) or not _are_looks(element.get("style", {}), may_have_looks):
        return False
    match element.get("type"):
        case "text":
            return _is_text(element.get("text"))
        case "link":
            return _is_text(element.get("url")) and _is_text(element.get("text", "-"))
        case _:
            return False


def _are_looks(style: object, may_have_looks: bool) -> bool:
    if not isinstance(style, Mapping) or (style and not may_have_looks):
        return False
    return style.keys() <= _LOOKS and all(isinstance(one, bool) for one in style.values())


def _is_list(value: object) -> bool:
    return isinstance(value, list) and bool(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)
