"""A text of either format, for where nothing can be styled."""

from __future__ import annotations

from postroom.domain.delivery import Format


def plain_words(text: str, format: Format) -> str:
    """Plain text to the letter; Markdown as text that reads well and says where its links lead."""
    if format is Format.PLAIN or not text:
        return text
    from postroom.domain.markdown import parse  # costs a plain household nothing
    from postroom.domain.readable_text import readable

    return readable(parse(text))
