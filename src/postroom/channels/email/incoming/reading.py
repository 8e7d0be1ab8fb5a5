"""One mail that anybody may have written, read within bounds: its header, parts, words, sender and subject."""

from __future__ import annotations

import codecs
import email
import hmac
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser
from email.policy import Compat32
from html.parser import HTMLParser
from typing import Final

from postroom.channels.email.building import domain_of, mailbox
from postroom.kernel.values.ids import DeliveryId

# Bytes in whatever charset they claim to be; what cannot be read becomes replacement characters.

_NEVER: Final = frozenset({"punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined"})
"""Codecs that are none of mail's and cost more the longer the text is, or raise."""


def _decoded_bytes(raw: bytes, charset: str | None) -> str:
    try:
        name = codecs.lookup(charset or "utf-8").name
        return raw.decode("utf-8" if name.replace("-", "_") in _NEVER else name, "replace")
    except (LookupError, ValueError, UnicodeError):
        return raw.decode("utf-8", "replace")


# One header of a mail that anybody may have written: unfolded, decoded, bounded, never raising.

_LONGEST_HEADER: Final = 4_000
_FOLD: Final = re.compile(r"[\r\n]+[ \t]*")


def header(message: Message, name: str) -> str:
    """The first of that name, as it is written; empty when there is none."""
    return next(iter(headers(message, name)), "")


def headers(message: Message, name: str) -> list[str]:
    """All of that name, the topmost first, as they are written."""
    return [_plain(value) for value in message.get_all(name, [])]


def _plain(value: object) -> str:
    return (
        _FOLD.sub(" ", str(value)[:_LONGEST_HEADER])
        .strip()
        .encode("utf-8", "surrogateescape")
        .decode("utf-8", "replace")
    )


def shown(value: str) -> str:
    """With encoded words as the characters they stand for."""
    try:
        parts = decode_header(value[:_LONGEST_HEADER])
    except (ValueError, LookupError, HeaderParseError):
        return value
    return "".join(part if isinstance(part, str) else _decoded_bytes(part, charset) for part, charset in parts)


# The parts of a mail, bounded: neither ten thousand of them, a thousand levels nor long headers cost much.

MOST_PARTS: Final = 50
_DEEPEST: Final = 10
_MOST_CONTAINERS: Final = 100
_MOST_LOOKS: Final = 4_000_000
"""At a line for each container that may end there; of a larger mail as many as it has bytes."""
_MOST_BYTES: Final = 262_144
_CONTAINER: Final = re.compile(rb"(?:multipart|message)/", re.IGNORECASE)
_LIBRARY_STUMBLES: Final = (ValueError, TypeError, LookupError, AttributeError, AssertionError)
_NO_FILES: Final = frozenset(
    {"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"}
)
_HEAD: Final = re.compile(rb"\r?\n\r?\n")


class _ShortHeaders(Compat32):
    """The library looks for the quotes of a header again at each of its semicolons, so it gets no long one."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:_LONGEST_HEADER]


_POLICY: Final = _ShortHeaders()


def parsed(content: bytes) -> Message:
    """A mail that nests more than any person's program does is read as its headers alone."""
    containers = sum(1 for _ in _CONTAINER.finditer(content))
    looks = containers * (content.count(b"\n") + content.count(b"\r"))
    if containers <= _MOST_CONTAINERS and looks <= max(_MOST_LOOKS, len(content)):
        return email.message_from_bytes(content, policy=_POLICY)
    head = _HEAD.search(content)
    return BytesHeaderParser(policy=_POLICY).parsebytes(content[: head.end() if head else _MOST_BYTES])


def parts_of(message: Message) -> Iterator[Message]:
    """In the order a reader sees them, without what is in a mail that is attached."""
    waiting = [(message, 0)]
    for _ in range(MOST_PARTS):
        if not waiting:
            return
        part, depth = waiting.pop(0)
        if part.is_multipart() and part.get_content_type().startswith("multipart/"):
            inside = part.get_payload()
            if depth < _DEEPEST and isinstance(inside, list):
                waiting[:0] = [(one, depth + 1) for one in inside[:MOST_PARTS] if isinstance(one, Message)]
            continue
        yield part


def files_in(message: Message) -> Iterator[Message]:
    """What came with the words: attached, or shown among them with a name; a signature is no file."""
    for part in parts_of(message):
        kind = part.get_content_type()
        if kind in _NO_FILES or (kind.startswith("multipart/") and not name_of(part)):
            continue
        if part.get_content_disposition() == "attachment" or not kind.startswith("text/"):
            yield part


def name_of(part: Message) -> str:
    try:
        return " ".join(shown(part.get_filename() or "").split())
    except _LIBRARY_STUMBLES:
        return ""


def bytes_of(part: Message) -> bytes:
    """An attached mail is its own text."""
    try:
        if part.is_multipart():
            inside = part.get_payload()
            return inside[0].as_bytes() if isinstance(inside, list) and isinstance(inside[0], Message) else b""
        raw = part.get_payload(decode=True)
    except (*_LIBRARY_STUMBLES, RecursionError):
        return b""
    return raw if isinstance(raw, bytes) else b""


def text_of(part: Message) -> str:
    try:
        raw = part.get_payload(decode=True)
    except _LIBRARY_STUMBLES:
        return ""
    return _decoded_bytes(raw[:_MOST_BYTES], _charset(part)) if isinstance(raw, bytes) else ""


def is_text(part: Message, kind: str) -> bool:
    return part.get_content_type() == f"text/{kind}" and part.get_content_disposition() != "attachment"


def _charset(part: Message) -> str | None:
    try:
        return part.get_content_charset()
    except _LIBRARY_STUMBLES:
        return None


# What a person wrote in an HTML mail, as text: without markup, hidden parts and the mail it answers.

_LONGEST: Final = 100_000
_UNSEEN: Final = re.compile(r"<(style|script|head|title)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.I | re.S)
_UNENDED: Final = re.compile(r"<(?![^<>]*>)")
"""No tag; the library would look for the end of each of them up to the end of the mail."""
_QUOTES: Final = ("gmail_quote", "gmail_attr", "gmail_extra", "moz-cite-prefix", "yahoo_quoted", "protonmail_quote")
_REST_IS_QUOTED: Final = ("divrplyfwdmsg", "appendonsend", "mail-editor-reference-message-container")
_LINE_BEFORE: Final = frozenset(["p", "div", "tr", "table", "ul", "ol", "li", "h1", "h2", "h3", "h4", "pre"])
_EMPTY: Final = frozenset(["br", "hr", "img", "input", "meta", "link", "area", "base", "col", "source", "wbr"])
_HIDDEN: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)


def html_words(html: str) -> str:
    reader = _Words()
    reader.feed(_UNENDED.sub("&lt;", _UNSEEN.sub(" ", html[: 4 * _LONGEST])[:_LONGEST]))
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.words).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self._left_out: list[str] = []
        """The tags that are open since one began whose content is left out, and how many there are of each."""
        self._open: Counter[str] = Counter()
        self._over = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if given.get("id", "").lower() in _REST_IS_QUOTED:
            self._over = True
        if tag == "br" or tag in _LINE_BEFORE:
            self._say("\n")
        if tag not in _EMPTY and (self._left_out or _is_left_out(tag, given)):
            self._left_out.append(tag)
            self._open[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        if self._open[tag]:
            ended = ""
            while ended != tag:
                ended = self._left_out.pop()
                self._open[ended] -= 1
        elif tag in _LINE_BEFORE:
            self._say("\n")

    def handle_data(self, data: str) -> None:
        self._say(re.sub(r"\s+", " ", data))

    def _say(self, words: str) -> None:
        if not self._left_out and not self._over:
            self.words.append(words)


def _is_left_out(tag: str, given: dict[str, str]) -> bool:
    classes = given.get("class", "").lower().split()
    is_quote = tag == "blockquote" or any(one in _QUOTES for one in classes)
    return is_quote or _HIDDEN.search(given.get("style", "")) is not None


# Who a mail says it is from: exactly one address, or no one.

_FROM: Final = re.compile(
    r'(?P<name>(?:"(?:[^"\\]|\\.)*"|[^"<>,;:()\\])*)<(?P<one>[^<>\s]+)>(?:\s*\([^()]*\))?'
    r"|(?P<other>[^\s<>\"(),;:]+)(?:\s*\([^()]*\))?"
)


@dataclass(frozen=True, slots=True)
class MailSender:
    address: str
    name: str


def sender_of(message: Message) -> MailSender | None:
    """Several From headers, several addresses, or a group: that is no person, and no server could have proved it."""
    given = headers(message, "From")
    found = _FROM.fullmatch(given[0].strip()) if len(given) == 1 else None
    address = mailbox(found["one"] or found["other"]) if found else None
    if found is None or address is None:
        return None
    return MailSender(address, " ".join(shown(found["name"] or "").replace('"', " ").split()))


# The subject of a mail, as an answer to it carries it: one line of bounded length, with nothing hidden in it.

LONGEST_SUBJECT: Final = 200
_ANSWERED: Final = re.compile(r"^(?:(?:re|aw|sv|antw)(?:\[\d+\])?:\s*)+", re.IGNORECASE)
_JOINERS: Final = frozenset("\u200c\u200d")  # of letters and emoji
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def subject_of(message: Message) -> str | None:
    """Without the "Re:" that an answer begins with; None when nothing is left."""
    words = " ".join("".join(map(_visible, shown(header(message, "Subject")))).split())
    return _ANSWERED.sub("", words).replace("=?", "= ?")[:LONGEST_SUBJECT].strip() or None


def _visible(character: str) -> str:
    hidden = unicodedata.category(character) in _INVISIBLE and character not in _JOINERS
    return " " if hidden else character


# Which of our messages a mail is about: by the ids it names.

_ID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_MARK: Final = r"[0-9a-f]{20}"
_NAMED: Final = re.compile(r"<([^<>\s]{3,400})>")
_TO: Final = ("To", "Cc", "Delivered-To", "X-Original-To", "Envelope-To")


@dataclass(frozen=True, slots=True)
class OwnMessages:
    """Those that left from this address. Without a key none is marked, and no report of a mail server is believed."""

    address: str
    key: bytes | None = field(default=None, repr=False)

    def message_id(self, delivery_id: str) -> str:
        """As senders are told it."""
        return f"<{delivery_id}@{domain_of(self.address)}>"

    def marked_id(self, delivery_id: str) -> str:
        """As it stands in the mail, the same on every attempt."""
        name = delivery_id if self.key is None else f"{delivery_id}.{self._mark(delivery_id, self.key)}"
        return f"<{name}@{domain_of(self.address)}>"

    def thread(self, thread: str | None) -> str | None:
        """A mail of ours that is followed up, as it stands in the readers' mailboxes."""
        found = self.named_in([thread]) if thread else None
        return thread if found is None else self.marked_id(found)

    def reply_address(self, delivery_id: str) -> str:
        box, _, domain = self.address.rpartition("@")
        return f"{box.partition('+')[0]}+{delivery_id}@{domain}"

    def answered_by(self, message: Message) -> DeliveryId | None:
        """The tag of the address says it best, then the nearest mail that is referred to."""
        return next(self._tagged(message), None) or self.named_in(
            [*headers(message, "In-Reply-To"), *reversed(_NAMED.findall(" ".join(headers(message, "References"))))]
        )

    def named_in(self, values: list[str]) -> DeliveryId | None:
        return next((found for found, _ in self._ids(values)), None)

    def proved_by(self, values: list[str]) -> DeliveryId | None:
        """The mail that is named with its mark."""
        for found, mark in self._ids(values):
            if self.key is not None and hmac.compare_digest(mark, self._mark(found, self.key)):
                return found
        return None

    def _ids(self, values: list[str]) -> Iterator[tuple[DeliveryId, str]]:
        own = re.compile(rf"<?({_ID})(?:\.({_MARK}))?@{re.escape(domain_of(self.address))}>?", re.IGNORECASE)
        for value in values:
            for word in value.split():
                if one := own.fullmatch(word):
                    yield DeliveryId(one[1].lower()), (one[2] or "").lower()

    @staticmethod
    def _mark(delivery_id: str, key: bytes) -> str:
        return hmac.digest(key, delivery_id.encode(), "sha256").hex()[:20]

    def _tagged(self, message: Message) -> Iterator[DeliveryId]:
        box, _, domain = self.address.rpartition("@")
        tagged = re.compile(
            rf"{re.escape(box.partition('+')[0])}\+({_ID})@{re.escape(domain)}(?![\w.-])", re.IGNORECASE
        )
        for name in _TO:
            for value in headers(message, name):
                if found := tagged.search(value):
                    yield DeliveryId(found[1].lower())
