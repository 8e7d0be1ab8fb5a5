"""Text as Slack wants it written, in parts that Slack shows whole; and what a person typed, as they typed it."""

from __future__ import annotations

import re
from typing import Final

from postroom.world.channels.slack.emoji import character_of
from postroom.world.channels.telegram_text import cut, split, utf16_length

PART_LIMIT: Final = 3000  # of one text object, counted as it is written

_MARKED_UP = re.compile(r"<([^<>]*)>")
_EMOJI = re.compile(r":([a-z0-9_+'-]{1,60}):")
_ENTITIES: Final = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))  # the ampersand last: it begins the others


def escaped(text: str) -> str:
    """All that Slack reads as more than a character: without these no mention, link or date can be written."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def written_length(text: str) -> int:
    return utf16_length(escaped(text))


def fits(text: str) -> bool:
    return written_length(text) <= PART_LIMIT


def parts(text: str) -> list[str]:
    """In order, cut at paragraph, line or word; each fits even after escaping."""
    return split(text, PART_LIMIT, written_length)


def with_mark(pieces: list[str], mark: str) -> list[str]:
    """The parts before the last stay as they were cut, for some of them may have been sent."""
    last = f"{pieces[-1].rstrip()}\n\n{mark}"
    return [*pieces[:-1], last] if fits(last) else [*pieces, mark]


def shortened(text: str, limit: int) -> str:
    """Escaped, and at most so long."""
    tries = (escaped(cut(text, length)) for length in range(limit, 0, -1))
    return next(written for written in tries if utf16_length(written) <= limit)


def typed(text: str, bot: str | None = None) -> str:
    """
    What a person wrote, without what Slack made of it: links in brackets, entities, names of emoji.

    `bot` is our own user: an answer in a channel begins with its name, which is not part of the answer.
    """
    if bot is not None and text.lstrip().startswith(f"<@{bot}>"):
        text = text.lstrip().removeprefix(f"<@{bot}>").lstrip(" ,:")
    text = _EMOJI.sub(lambda found: character_of(found[1]) or found[0], _MARKED_UP.sub(_shown, text))
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    return text


def _shown(found: re.Match[str]) -> str:
    target, _, label = found[1].partition("|")
    sign, name = target[:1], label or target[1:]
    if sign == "#":
        return f"#{name}"
    if sign in ("@", "!"):
        return name if name.startswith("@") else f"@{name}"
    return label or target
