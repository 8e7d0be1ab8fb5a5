"""Text that every store can keep, made of text that some cannot."""

from __future__ import annotations

from typing import Final

from postroom.domain.fields import text_problem

REPLACEMENT: Final = "\ufffd"


def storable(text: str) -> str:
    """
    A NUL and half a surrogate pair become U+FFFD; two halves that belong together become their character.

    For what a model said, which cannot be refused any more. An argument that comes
    through a door is refused with its field instead (`fields.text_problem`).
    """
    if text_problem(text) is None:
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\x00", REPLACEMENT)
