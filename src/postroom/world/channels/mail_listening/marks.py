"""Marks by which a mail is known to be no person's own word: sent by a program, by a list, or passed on."""

from __future__ import annotations

import re
from collections.abc import Collection
from email.message import Message
from typing import Final

from postroom.domain.address_folding import folded
from postroom.domain.assurance import Flag
from postroom.world.channels.mail_listening.headers import header, headers, shown

_PRECEDENCE: Final = frozenset({"bulk", "list", "junk", "auto_reply"})
_TELLING: Final = (
    "List-Id",
    "X-Autoreply",
    "X-Autorespond",
    "X-Autoresponder",
    "X-Auto-Reply-From",
    "X-Mail-Autoreply",
)
_PROGRAMS: Final = re.compile(
    r"(?:mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?)(?:[+@-].*)", re.IGNORECASE
)
_ABSENT: Final = re.compile(
    r"(?:automatic reply|auto(?:matic)?[- ]?reply|autosvar|auto-?response|out of (?:the )?office|abwesenheit\w*"
    r"|automatische antwort|automatisch antwoord|réponse automatique|respuesta automática|risposta automatica"
    r"|resposta automática|автоответ)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_PASSED_ON: Final = re.compile(r"(?:fwd?|wg|tr|rv|enc|i)\s?:.*", re.IGNORECASE | re.DOTALL)


def marks(message: Message, address: str, own: Collection[str]) -> frozenset[Flag]:
    """`own` are our addresses: what comes from them we have sent."""
    found = {
        Flag.AUTOMATIC: is_automatic(message) or bool(_PROGRAMS.fullmatch(address)) or folded(address) in own,
        Flag.FORWARDED: bool(headers(message, "Resent-From")) or _subject_is(message, _PASSED_ON),
    }
    return frozenset(flag for flag, is_so in found.items() if is_so)


def is_automatic(message: Message) -> bool:
    """By RFC 3834 and what programs write in its place; the subject alone tells only when it begins with it."""
    submitted = header(message, "Auto-Submitted").partition(";")[0].strip().lower()
    return (
        submitted not in ("", "no")
        or header(message, "Precedence").lower() in _PRECEDENCE
        or any(headers(message, name) for name in _TELLING)
        or any(path.strip() == "<>" for path in headers(message, "Return-Path"))
        or message.get_content_type() == "multipart/report"
        or _subject_is(message, _ABSENT)
    )


def _subject_is(message: Message, pattern: re.Pattern[str]) -> bool:
    return pattern.fullmatch(shown(header(message, "Subject")).strip()) is not None
