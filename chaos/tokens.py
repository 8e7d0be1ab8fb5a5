"""Unique words inside messages, so that every copy of every part can be counted."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TOKEN = re.compile(r"#([a-z0-9-]+)/(\d+)#")
_FILLER = "A paragraph that is long enough to need a message of its own. "
PART_CHARACTERS = 3_000

Copies = dict[str, dict[int, int]]  # token -> part -> how often it arrived


def text_of(token: str, parts: int = 1, characters: int = PART_CHARACTERS) -> str:
    """Telegram takes 4,096 units in one message, so each paragraph of as many characters becomes a part."""
    if parts == 1:
        return f"#{token}/1# Hello."
    filler = _FILLER * (characters // len(_FILLER))
    return "\n\n".join(f"#{token}/{part}# {filler}" for part in range(1, parts + 1))


def token_in(text: str) -> str | None:
    found = _TOKEN.search(text)
    return found[1] if found else None


def tokens_in(text: str) -> list[str]:
    """Of several messages in one, such as a digest."""
    return list(dict.fromkeys(token for token, _ in _TOKEN.findall(text)))


def parts_in(text: str) -> int:
    """How many parts a whole message has."""
    return max((int(part) for _, part in _TOKEN.findall(text)), default=0)


def count(texts: Iterable[str]) -> Copies:
    copies: Copies = {}
    for text in texts:
        for token, part in _TOKEN.findall(text):
            of_token = copies.setdefault(token, {})
            of_token[int(part)] = of_token.get(int(part), 0) + 1
    return copies
