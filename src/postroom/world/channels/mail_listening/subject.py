"""The subject of a mail, as an answer to it carries it: one line of bounded length, with nothing hidden in it."""

from __future__ import annotations

import re
import unicodedata
from email.message import Message
from typing import Final

from postroom.world.channels.mail_listening.headers import header, shown

LONGEST_SUBJECT: Final = 200
_ANSWERED: Final = re.compile(r"(?:(?:re|aw|sv|antw)(?:\[\d+\])?:\s*)+", re.IGNORECASE)
_JOINERS: Final = frozenset("\u200c\u200d")  # of letters and emoji
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def subject_of(message: Message) -> str | None:
    """Without the "Re:" that an answer begins with; None when nothing is left."""
    words = " ".join("".join(map(_visible, shown(header(message, "Subject")))).split())
    return _without_answers(words).replace("=?", "= ?")[:LONGEST_SUBJECT].strip() or None


def _visible(character: str) -> str:
    hidden = unicodedata.category(character) in _HIDDEN and character not in _JOINERS
    return " " if hidden else character


def _without_answers(words: str) -> str:
    begins = _ANSWERED.match(words)
    return words[begins.end() :] if begins else words
