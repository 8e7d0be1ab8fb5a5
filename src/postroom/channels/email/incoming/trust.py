"""Who really sent a mail: a person, as our own server proved, or a server that could not deliver one of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from email.message import Message
from typing import Final

from postroom.channels.email.building import MARKED_HEADER
from postroom.channels.email.incoming.reading import MOST_PARTS, header, headers, is_text, parts_of, sender_of, text_of
from postroom.message.delivery import folded
from postroom.message.inbound import NewsKind

# Whether our own mail server has proved who sent a mail, by the Authentication-Results it wrote.

_MOST: Final = 4_000
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s;"=]+|[;=]')


@dataclass(frozen=True, slots=True)
class _Result:
    method: str
    outcome: str
    properties: dict[str, str] = field(default_factory=dict)


def is_proved(results: Sequence[str], authserv_id: str, domain: str) -> bool:
    """
    `results` are the mail's headers of that name, the topmost first, and `domain` is that of its From.

    Only the topmost counts, and only if it is our server's: everything below it may have come with the mail.
    """
    if not authserv_id or not results or not domain:
        return False
    named, found = _read(results[0])
    if named.lower() != authserv_id.lower():
        return False
    judged = [one for one in found if one.method == "dmarc" and one.outcome != "none"]
    if judged:
        about = [one.properties.get("header.from", "").rpartition("@")[2] for one in judged]
        return all(one.outcome == "pass" for one in judged) and set(about) == {domain}
    return any(one.method == "dkim" and one.outcome == "pass" and _is_aligned(one, domain) for one in found)


def _is_aligned(result: _Result, domain: str) -> bool:
    """Signed by the From's own domain or one above it; a list of public suffixes would be needed for more."""
    given = result.properties
    signer = given.get("header.d") or given.get("header.i", "").rpartition("@")[2]
    return domain == signer or ("." in signer and domain.endswith(f".{signer}"))


def _read(header: str) -> tuple[str, list[_Result]]:
    first, *rest = list(_statements(_TOKEN.findall(_without_comments(header[:_MOST]))))
    return (first[0] if first else ""), [one for one in map(_result, rest) if one is not None]


def _statements(tokens: Sequence[str]) -> Iterator[list[str]]:
    statement: list[str] = []
    for word in tokens:
        if word == ";":
            yield statement
            statement = []
        else:
            statement.append(word)
    yield statement


def _result(tokens: list[str]) -> _Result | None:
    """`method=outcome ptype.property=value …`; a statement that is anything else says nothing."""
    pairs = [
        (tokens[at - 1].lower(), tokens[at + 1].strip('"').lower())
        for at in range(1, len(tokens) - 1)
        if tokens[at] == "="
    ]
    if not pairs or len(tokens) < 3 or tokens[1] != "=":
        return None
    (method, outcome), properties = pairs[0], pairs[1:]
    if len({name for name, _ in properties}) < len(properties):
        return None
    return _Result(method.partition("/")[0], outcome, dict(properties))


def _without_comments(text: str) -> str:
    """Comments nest; a quoted string is no comment, whatever is in it."""
    kept: list[str] = []
    depth, quoted, escaped = 0, False, False
    for character in text:
        if escaped:
            escaped = False
        elif character == "\\" and (quoted or depth):
            escaped = True
        elif character == '"' and not depth:
            quoted = not quoted
        elif not quoted and character in "()":
            depth = max(0, depth + (1 if character == "(" else -1))
            kept.append(" ")
            continue
        if not depth:
            kept.append(character)
    return "".join(kept)


# What a mail server says about a mail of ours that it could not deliver (RFC 3464).

_LONGEST_READ: Final = 65_536
_SYSTEM: Final = re.compile(r"(?:mailer-daemon|postmaster|mail-daemon|mdaemon)@.*", re.IGNORECASE)
_INFORMAL: Final = re.compile(r"(?<![\d.])(?P<code>[45][0-5]\d)[ -]{1,3}#?(?P<status>[45]\.\d{1,3}\.\d{1,3})?")
_NO_USER: Final = re.compile(
    r"user unknown|unknown user|no such (?:user|mailbox|recipient|address)|(?:mailbox|address|recipient|account) "
    r"(?:does not exist|not found|unknown|unavailable)|does(?:n't| not) have an? .{0,40}account",
    re.IGNORECASE,
)
_KINDS: Final = {"failed": NewsKind.BOUNCED, "delayed": NewsKind.DELAYED}
_STATUS: Final = re.compile(r"[245]\.\d{1,3}\.\d{1,3}")
_MEANING: Final = {
    "5.1.1": "there is no such address",
    "5.1.2": "there is no such mail domain",
    "5.1.3": "the address is malformed",
    "5.1.6": "the mailbox has moved",
    "5.1.10": "the address takes no mail",
    "5.2.1": "the mailbox is disabled",
    "5.2.2": "the mailbox is full",
    "5.2.3": "the mail is too long for the mailbox",
    "5.4.1": "no server takes mail for the address",
    "5.7.1": "the mail was refused by a rule of the recipient's server",
}
_MARKED: Final = re.compile(
    rf"^(?:Message-ID|{MARKED_HEADER}):[ \t]*(?:\r?\n[ \t]+)?(<[^<>\s]{{3,400}}>)", re.IGNORECASE | re.MULTILINE
)
_ADDRESS: Final = re.compile(r"[^\s<>()\[\],;:\"]{1,64}@[A-Za-z0-9.-]{1,190}[A-Za-z0-9]")
_MOST_ADDRESSES: Final = 20
_GONE: Final = frozenset({"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1"})
"""No later mail will fare better; a full mailbox or a rule of the server may be another matter tomorrow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounce:
    """`about` are the ids of the mail that may be meant; `recipients` are whom it says it could not reach, folded."""

    kind: NewsKind
    about: list[str]
    words: str = field(repr=False)
    recipients: tuple[str, ...]
    is_final: bool = False
    """There is no such address, or no more."""


def bounce_in(message: Message) -> Bounce | None:
    """None when it is no report, or one of success."""
    if message.get_content_type() != "multipart/report" or not message.is_multipart():
        return _informal_bounce(message)
    parts = _parts(message)
    kinds = [(kind, one) for one in _recipients(parts) if (kind := _KINDS.get(header(one, "Action").lower()))]
    if not kinds:
        return None
    kind, recipient = min(kinds, key=lambda found: found[0] is not NewsKind.BOUNCED)
    about = [*_originals(parts), *headers(message, "In-Reply-To"), *headers(message, "References")]
    status = _status(header(recipient, "Status"))
    return Bounce(
        kind=kind,
        about=about,
        words=_words(status, header(recipient, "Diagnostic-Code").partition(";")[2].strip()),
        recipients=_addresses(header(recipient, "Final-Recipient").partition(";")[2]),
        is_final=kind is NewsKind.BOUNCED and status in _GONE,
    )


def _informal_bounce(message: Message) -> Bounce | None:
    """
    Of servers from before RFC 3464: from the mail system itself, with a status and the mail it was about.

    What a person or an absence note says is none, whatever is quoted in it.
    """
    sender = sender_of(message)
    if sender is None or not _SYSTEM.fullmatch(sender.address):
        return None
    text = "\n".join(text_of(part) for part in parts_of(message) if is_text(part, "plain"))[:_LONGEST_READ]
    about = [*_originals(_parts(message)), *_MARKED.findall(text), *headers(message, "In-Reply-To")]
    copy = _MARKED.search(text)
    said = _INFORMAL.search(text)
    if said is None or not about:
        return None
    status = said["status"] or ("5.1.1" if said["code"] in ("550", "551", "553") and _NO_USER.search(text) else "")
    is_bounce = said["code"].startswith("5")
    return Bounce(
        kind=NewsKind.BOUNCED if is_bounce else NewsKind.DELAYED,
        about=about,
        words=_words(status, ""),
        recipients=_addresses(
            " ".join([header(message, "X-Failed-Recipients"), text[: copy.start() if copy else None]])
        ),
        is_final=is_bounce and status in _GONE,
    )


def _parts(message: Message) -> list[Message]:
    inside = message.get_payload() if message.is_multipart() else None
    return [one for one in inside if isinstance(one, Message)][:MOST_PARTS] if isinstance(inside, list) else []


def _recipients(parts: list[Message]) -> Iterator[Message]:
    for part in parts:
        if part.get_content_type() in ("message/delivery-status", "message/global-delivery-status"):
            yield from _parts(part)


def _originals(parts: list[Message]) -> Iterator[str]:
    """The mail itself or its headers, whole or cut."""
    for part in parts:
        if part.get_content_type() in ("message/rfc822", "message/global"):
            yield from (header(one, name) for one in _parts(part) for name in ("Message-ID", MARKED_HEADER))
        elif part.get_content_type() in ("text/rfc822-headers", "message/global-headers"):
            yield from _MARKED.findall(text_of(part))


def _addresses(text: str) -> tuple[str, ...]:
    """A report that names no one is no one's, so there is always something to compare."""
    found = [folded(one) for one in _ADDRESS.findall(text[:_LONGEST_READ])[:_MOST_ADDRESSES]]
    return tuple(dict.fromkeys(found)) or ("",)


def _status(text: str) -> str:
    found = _STATUS.search(text)
    return found[0] if found else ""


def _words(status: str, said: str) -> str:
    meaning = _MEANING.get(status, "the mail could not be delivered" if status[:1] != "4" else "not delivered yet")
    return f"{meaning}{f' ({status})' if status else ''}{f': {said}' if said else ''}"
