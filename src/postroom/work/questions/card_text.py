"""What a card says, and in which format: our own words and the asker's, none of which can change the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from postroom.domain.delivery import Format
from postroom.domain.notify import MAX_MARKDOWN_CHARACTERS
from postroom.domain.plain_words import plain_words


@dataclass(frozen=True, slots=True)
class CardText:
    text: str
    format: Format = Format.PLAIN

    @property
    def plain(self) -> str:
        return plain_words(self.text, self.format)


def composed(*parts: CardText) -> CardText:
    """
    One below the other, with an empty line between.

    Markdown stays Markdown only where each part looks as it would by itself: code that is not closed, or a list that
    another one follows, would reach into what stands below. Then all of it is text that reads well.
    """
    said = [part for part in parts if part.text]
    if all(part.format is Format.PLAIN for part in said):
        return CardText("\n\n".join(part.text for part in said))
    return _as_markdown(said) or CardText("\n\n".join(part.plain for part in said))


def _as_markdown(parts: Sequence[CardText]) -> CardText | None:
    from postroom.domain.markdown import parse  # costs a plain household nothing
    from postroom.domain.markdown_escape import as_markdown
    from postroom.domain.rich_text import joined

    sources = [part.text if part.format is Format.MARKDOWN else as_markdown(part.text) for part in parts]
    whole = "\n\n".join(sources)
    if len(whole) > MAX_MARKDOWN_CHARACTERS or parse(whole) != joined(map(parse, sources), "\n\n"):
        return None
    return CardText(whole, Format.MARKDOWN)
