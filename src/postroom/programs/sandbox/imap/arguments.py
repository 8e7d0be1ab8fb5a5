"""The arguments of an IMAP command: words, quoted strings, lists and sets of numbers."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r'"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<paren>[()])|(?P<atom>[^\s()"]+)')


class BadCommand(Exception):
    """What the client is answered with BAD."""


def words(text: str) -> list[str]:
    """Quoted strings without their quotes; parentheses as words of their own."""
    found, at = [], 0
    for one in _WORD.finditer(text):
        if text[at : one.start()].strip():
            raise BadCommand("malformed arguments")
        at = one.end()
        quoted = one["quoted"]
        found.append(one[0] if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
    return found


def numbers(text: str, highest: int) -> list[range]:
    """`1,3:5,8:*`, as ranges."""
    ranges = []
    for part in text.split(","):
        ends = [highest if end == "*" else int(end) for end in part.split(":") if end == "*" or end.isdecimal()]
        if len(ends) != part.count(":") + 1 or len(ends) > 2:
            raise BadCommand("malformed set of numbers")
        ranges.append(range(min(ends), max(ends) + 1))
    return ranges


def is_in(number: int, ranges: list[range]) -> bool:
    return any(number in one for one in ranges)
