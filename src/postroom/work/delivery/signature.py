"""The name of the butler that speaks, before its words, where a household wants that."""

from __future__ import annotations

import re
from typing import Final

from postroom.domain.capabilities import Style
from postroom.domain.delivery import Format, Intent
from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.notify import MAX_MESSAGE_CHARACTERS
from postroom.domain.outgoing import Outgoing

_NO_BUTLERS: Final = frozenset(
    {"approvals", "attention", "attention.mutes", "inbox", "intents", "questions"}
)  # their texts say themselves who speaks

_PUNCTUATION: Final = re.compile(r"([!-/:-@\[-`{-~])")
_ESCAPED: Final = r"\\\1"


def signed(outgoing: Outgoing, style: Style) -> str:
    """A chat shows no sender but the bot; a letter has a header for it."""
    unsigned = not outgoing.message or outgoing.intent is Intent.REACT or style == "letter"
    if unsigned or outgoing.origin_butler in _NO_BUTLERS:
        return outgoing.message
    text = _under(outgoing.origin_butler, outgoing)
    if len(text) > MAX_MESSAGE_CHARACTERS:
        limit = f"must have at most {MAX_MESSAGE_CHARACTERS} characters with the butler's name before it"
        raise ValidationError.of([FieldError("delivery.message", limit, "too_long")])
    return text


def _under(name: str, outgoing: Outgoing) -> str:
    """In Markdown a paragraph of its own, in which the name is nothing but text: what follows cannot change it."""
    if outgoing.format is Format.PLAIN:
        return f"{name}: {outgoing.message}"
    return f"{_PUNCTUATION.sub(_ESCAPED, name)}:\n\n{outgoing.message}"
