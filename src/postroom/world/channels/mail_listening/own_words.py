"""The person's own words: without what they answer, their signature and what their program adds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

LONGEST: Final = 65_536
_MOST_LINES: Final = 5_000
_LONGEST_LINE_READ: Final = 500
_ATTRIBUTION_LINES: Final = 3
_WROTE: Final = re.compile(
    r"(?:on|am|le|el|il|op|em|den|w dniu|på)\s.{6,400}"
    r"(?:wrote|schrieb|a écrit|escribió|ha scritto|schreef|escreveu|napisała?|skrev)(?:\s.{0,120})?:",
    re.IGNORECASE | re.DOTALL,
)
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


def own_words(text: str, name: str = "") -> str:
    """`name` is the writer's, as their mails show it: standing alone at the end it is a signature."""
    lines = text[:LONGEST].replace("\r\n", "\n").replace("\r", "\n").split("\n")[:_MOST_LINES]
    return "\n".join(_unsigned(_unquoted(lines), name)).strip()


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


def _unquoted(lines: Sequence[str]) -> list[str]:
    kept: list[str] = []
    at = 0
    while at < len(lines):
        if lines[at].rstrip() == "--" or _begins_header_block(lines, at):
            break
        if said := _attribution(lines, at):
            at += said
            if not _is_quote(lines, at):
                break
        elif not lines[at].lstrip().startswith(">"):
            kept.append(lines[at])
            at += 1
        else:
            at += 1
    return kept


def _attribution(lines: Sequence[str], at: int) -> int:
    """How many lines say "On … wrote:" here; programs break it where they like."""
    for count in range(1, _ATTRIBUTION_LINES + 1):
        said = " ".join(line.strip()[:_LONGEST_LINE_READ] for line in lines[at : at + count]).lstrip("> ")
        if said.endswith(":") and len(said) <= _LONGEST_LINE_READ and _WROTE.fullmatch(said) and _dated(said):
            return count
    return 0


def _dated(said: str) -> bool:
    """A sentence of the person's own about what another wrote has no date and no address in it."""
    return any(character.isdigit() for character in said) or "@" in said


def _is_quote(lines: Sequence[str], at: int) -> bool:
    """What follows is marked as quoted, so the person may have written below it."""
    following = next((line for line in lines[at:] if line.strip()), "")
    return following.lstrip().startswith(">")


def _begins_header_block(lines: Sequence[str], at: int) -> bool:
    line = lines[at].strip()[:_LONGEST_LINE_READ]
    following = [one.strip()[:_LONGEST_LINE_READ] for one in lines[at + 1 : at + 6] if one.strip()]
    if len(line) >= 5 and _RULE.fullmatch(line):
        return bool(re.search(r"[^\W_]", line)) or bool(following and _HEAD_START.fullmatch(following[0]))
    return _HEAD_START.fullmatch(line) is not None and sum(map(_is_head_line, following[:4])) >= 2


def _is_head_line(line: str) -> bool:
    return _HEAD_LINE.fullmatch(line) is not None


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
