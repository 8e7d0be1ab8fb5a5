"""The person's own words in a mail, and the marks of one that is no person's own word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from email.message import Message
from itertools import takewhile
from typing import Final

from postroom.channels.email.incoming.reading import header, headers, shown
from postroom.message.delivery import folded
from postroom.message.inbound import Flag

# Without what they answer, their signature and what their program adds.

LONGEST: Final = 65_536
_MOST_LINES: Final = 5_000
_LONGEST_LINE_READ: Final = 500
_ATTRIBUTION_LINES: Final = 4
_WROTE: Final = re.compile(
    r"(?:on|am|le|el|il|op|em|den|w dniu|på)\s.{6,400}"
    r"(?:wrote|schrieb|a écrit|escribió|ha scritto|schreef|escreveu|napisała?|skrev)(?:\s.{0,120})?:",
    re.IGNORECASE | re.DOTALL,
)
_DATE: Final = re.compile(r"\d{4}|\d{1,2}[./-]\s?\d{1,2}\b")
"""A year, or a day and its month."""
_ADDRESS: Final = re.compile(r"[^\s@<>()]+@[^\s@<>()]+")
_LABELLED: Final = re.compile(r"\*?[^\W\d_][^:\uff1a@]{0,40}[:\uff1a]\*?\s*\S.*")
_NOTHING: Final = r"(?!)"
_RULE: Final = re.compile(
    r"[-_]{2,}\s*(?:[^-_]{0,60}?(?:message|messaggio|nachricht|mensaje|bericht|mensagem|weitergel)"
    r"[^-_]{0,60})?\s*[-_]{2,}",
    re.IGNORECASE,
)
_HEAD_LINE: Final = re.compile(
    r"\*?(?:from|sent|date|to|cc|subject|von|gesendet|datum|an|betreff|de|envoyé|objet|à|enviado|para|asunto"
    r"|da|inviato|a|oggetto|van|verzonden|aan|onderwerp|assunto)\*?\s?:\*?\s.*",
    re.IGNORECASE,
)
_HEAD_START: Final = re.compile(r"\*?(?:from|von|de|da|van)\*?\s?:\*?\s.*", re.IGNORECASE)
_ADDED: Final = re.compile(
    r"(?:sent (?:from|with)|get outlook for|envoyé de|enviado desde|inviato da|von meinem"
    r"|gesendet (?:von|mit))\b.{,80}",
    re.IGNORECASE,
)
_CLOSING: Final = re.compile(
    r"(?:(?:many )?thanks(?: a lot| again)?|thank you|(?:all the )?best(?: wishes| regards)?"
    r"|(?:(?:kind|warm)(?:est)? )?regards|cheers|sincerely|yours|viele grüße|liebe grüße|beste grüße"
    r"|mit freundlichen grüßen|danke|lg|vg|mfg|cordialement|merci|bien à vous"
    r"|saludos|gracias|un saludo|grazie|cordiali saluti|groeten|met vriendelijke groet"
    r"|obrigad[oa])[,.!]?",
    re.IGNORECASE,
)
_MOST_CLOSING_LINES: Final = 4
_LONGEST_CLOSING_LINE: Final = 60


def own_words(text: str, name: str = "", own: Collection[str] = ()) -> str:
    """`name` is the writer's: alone at the end it is a signature. `own` are the addresses that are written to."""
    lines = text[:LONGEST].replace("\r\n", "\n").replace("\r", "\n").split("\n")[:_MOST_LINES]
    return "\n".join(_unsigned(_unquoted(lines, _any_of(own)), name)).strip()


def unflowed(text: str) -> str:
    """Lines that a program broke (format=flowed) as the paragraphs they were."""
    kept: list[str] = []
    goes_on = False
    for line in text.splitlines():
        if goes_on and not line.startswith(">") and line != "-- ":
            kept[-1] += line
        else:
            kept.append(line)
        goes_on = line.endswith(" ") and line != "-- " and not line.startswith(">")
    return "\n".join(kept)


def _unquoted(lines: Sequence[str], own: re.Pattern[str]) -> list[str]:
    kept: list[str] = []
    for at, line in enumerate(lines):
        if line.rstrip() == "--" or _begins_header_block(lines, at, own):
            break
        if line.lstrip().startswith(">"):
            continue
        kept.append(line)
        if said := _attribution(kept, lines, at, own):
            del kept[-said:]
            if not _is_quote(lines, at + 1):
                break
    return kept


def _attribution(kept: Sequence[str], lines: Sequence[str], at: int, own: re.Pattern[str]) -> int:
    """
    How many of the last lines say who wrote what follows, in any language, wherever its program broke them.

    They end in a colon, with a date or our own address before a quote, and with both where what follows is not marked
    as one. A line more belongs to them if it brings what was missing, or if they say it in words that are known.
    """
    if not _plain(kept[-1]).endswith((":", "\uff1a")):
        return 0
    said, found, is_quote = "", 0, _is_quote(lines, at + 1)
    for count in range(1, min(_ATTRIBUTION_LINES, len(kept)) + 1):
        if not (line := _plain(kept[-count])):
            break
        said = f"{line} {said}".strip()
        has_date, has_own = bool(_DATE.search(said)), bool(own.search(said))
        # A sentence of the person's own about what another wrote has no date and no address in it.
        is_known = bool(_WROTE.fullmatch(said)) and ("@" in said or any(one.isdigit() for one in said))
        if is_known or (has_date and (has_own if not is_quote else _ADDRESS.search(said))):
            found = count
            if not said.startswith("<"):  # otherwise the name of whom it was from stands in the line before
                break
        elif is_quote and not found and (has_date or has_own):
            found = count
    return found


def _plain(line: str) -> str:
    """Without the marks by which texts of two directions are set; they follow the colon as well."""
    return "".join(one for one in line[:_LONGEST_LINE_READ] if unicodedata.category(one) != "Cf").strip("> \t\u00a0")


def _any_of(addresses: Collection[str]) -> re.Pattern[str]:
    """Also with a tag behind the box."""
    boxes = (one.rpartition("@") for one in addresses)
    known = [rf"{re.escape(box.partition('+')[0])}(?:\+[\w.-]+)?@{re.escape(domain)}" for box, _, domain in boxes]
    return re.compile(rf"(?<![\w.+-])(?:{'|'.join(known) or _NOTHING})(?![\w-])", re.IGNORECASE)


def _is_quote(lines: Sequence[str], at: int) -> bool:
    """What follows is marked as quoted, so the person may have written below it."""
    following = next((line for line in lines[at:] if line.strip()), "")
    return following.lstrip().startswith(">")


def _begins_header_block(lines: Sequence[str], at: int, own: re.Pattern[str]) -> bool:
    line = lines[at].strip()[:_LONGEST_LINE_READ]
    following = [one.strip()[:_LONGEST_LINE_READ] for one in lines[at + 1 : at + 6] if one.strip()]
    if len(line) >= 5 and _RULE.fullmatch(line):
        begins = bool(following) and bool(_HEAD_START.fullmatch(following[0]) or _is_head(following, own))
        return bool(re.search(r"[^\W_]", line)) or begins
    if _is_head([_plain(line), *map(_plain, following)], own):
        return True
    return _HEAD_START.fullmatch(line) is not None and sum(map(bool, map(_HEAD_LINE.fullmatch, following[:4]))) >= 2


def _is_head(lines: Sequence[str], own: re.Pattern[str]) -> bool:
    """From whom, when, to whom, about what, in any language: our own address first, a date below it."""
    if not _LABELLED.fullmatch(lines[0]) or not own.search(lines[0]):
        return False
    below = list(takewhile(_LABELLED.fullmatch, lines[1:5]))
    return len(below) >= 2 and any(_DATE.search(one) for one in below)


def _unsigned(lines: list[str], name: str) -> list[str]:
    """From the end upwards; what would leave nothing is left as it is."""
    kept = _trimmed(lines)
    while len(kept) > 1 and (_ADDED.fullmatch(kept[-1].strip()) or _is_name(kept[-1], name)):
        kept = _trimmed(kept[:-1])
    for at in range(max(1, len(kept) - _MOST_CLOSING_LINES), len(kept)):
        short = all(len(line) <= _LONGEST_CLOSING_LINE for line in kept[at:])
        if short and _CLOSING.fullmatch(kept[at].strip()) and any(line.strip() for line in kept[:at]):
            return _trimmed(kept[:at])
    return kept


def _is_name(line: str, name: str) -> bool:
    words = name.casefold().split()
    return bool(words) and line.strip(" ,.-–—").casefold() in (" ".join(words), words[0])


def _trimmed(lines: list[str]) -> list[str]:
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


# Marks by which a mail is known to be no person's own word: sent by a program, passed on, or in somebody's absence.

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
        Flag.AUTOMATIC: _is_automatic(message) or bool(_PROGRAMS.fullmatch(address)) or folded(address) in own,
        Flag.FORWARDED: bool(headers(message, "Resent-From")) or _subject_is(message, _PASSED_ON),
    }
    return frozenset(flag for flag, is_so in found.items() if is_so)


def _is_automatic(message: Message) -> bool:
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
