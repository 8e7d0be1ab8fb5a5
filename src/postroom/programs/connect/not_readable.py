"""A file that is not what it should be is left alone."""

from __future__ import annotations

from postroom.domain.errors import UserError


class NotReadable(UserError):
    """What is wrong with the text, and where."""

    @classmethod
    def at(cls, text: str, place: int, wrong: str) -> NotReadable:
        return cls(f"line {text.count(chr(10), 0, place) + 1}: {wrong}")
