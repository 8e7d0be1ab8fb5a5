"""The name of the butler that speaks, before its words, where a household wants that."""

from __future__ import annotations

from typing import Final

from postroom.domain.capabilities import Style
from postroom.domain.delivery import Intent
from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.notify import MAX_MESSAGE_CHARACTERS
from postroom.domain.outgoing import Outgoing

_NO_BUTLERS: Final = frozenset({"approvals", "inbox", "intents", "questions"})  # their texts say themselves who speaks


def signed(outgoing: Outgoing, style: Style) -> str:
    """A chat shows no sender but the bot; a letter has a header for it."""
    unsigned = not outgoing.message or outgoing.intent is Intent.REACT or style == "letter"
    if unsigned or outgoing.origin_butler in _NO_BUTLERS:
        return outgoing.message
    text = f"{outgoing.origin_butler}: {outgoing.message}"
    if len(text) > MAX_MESSAGE_CHARACTERS:
        limit = f"must have at most {MAX_MESSAGE_CHARACTERS} characters with the butler's name before it"
        raise ValidationError.of([FieldError("delivery.message", limit, "too_long")])
    return text
