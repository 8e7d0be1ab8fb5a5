"""One mail, built byte by byte so that nothing in it can become a header or a command."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from hashlib import sha256
from typing import Final, assert_never
from urllib.parse import quote, urlsplit

from postroom.channels.shared import UNTYPED, check_text, one_line, plain_name, plain_type
from postroom.kernel.text.markdown import parse
from postroom.kernel.text.rich import html_of, readable
from postroom.kernel.values.errors import ValidationError
from postroom.message.attachment import Attachment
from postroom.message.delivery import REPEAT_MARK, Format, Intent, Message, Priority
from postroom.message.markup import Button, Markup

# One e-mail address: plain ASCII, one mailbox, nothing around it.

_LONGEST_ADDRESS = 254
_LONGEST_LOCAL_PART = 64

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_MAILBOX = re.compile(rf"({_ATOM}(?:\.{_ATOM})*)@({_LABEL}(?:\.{_LABEL})*)")


def mailbox(text: str) -> str | None:
    """
    The address with its domain in lower case, or None.

    The local part keeps its case: only the receiving server knows whether it
    matters. "=?" would let a mail reader decode the address into another one.
    """
    text = text.strip(" ")
    match = _MAILBOX.fullmatch(text)
    if match is None or len(text) > _LONGEST_ADDRESS:
        return None
    local_part, domain = match.groups()
    if len(local_part) > _LONGEST_LOCAL_PART or "=?" in local_part or domain.rpartition(".")[2].isdigit():
        return None
    return f"{local_part}@{domain.lower()}"


def domain_of(address: str) -> str:
    return address.rpartition("@")[2]


# The mail, plain or as text and HTML.

_DEFAULT_SUBJECT = "Notification"

_PAGE = '<!DOCTYPE html>\n<html><head><meta charset="utf-8"></head><body>\n{}\n</body></html>'
_LINE_END = re.compile(r"\r\n|\r|\n")
_PLAIN_LINES = re.compile(r"(?:[\t\x20-\x7e]{0,998}\r\n)*")
_LEADING_DOT = re.compile(rb"^\.", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMail:
    """
    The envelope and the finished bytes; the bytes hold the message and stay out of `repr`.

    With `files` they end before the first of them, and `boundary` is what stands between the parts.
    """

    sender: str
    recipient: str
    message_id: str
    content: bytes = field(repr=False)
    private: tuple[str, ...] = field(repr=False)
    files: tuple[Attachment, ...] = field(default=(), repr=False)
    boundary: str = ""


def build(message: Message, *, sender: str, name: str = "", now: datetime, more: Iterable[str] = ()) -> OutgoingMail:
    """`name` is its Message-ID, that of the delivery without one; `more` are finished lines of the header."""
    recipient = mailbox(message.address)
    if recipient is None:
        raise ValidationError("recipient is not a single e-mail address")
    if message.revises is not None:
        raise ValidationError("e-mail cannot be edited")
    check_text(message)
    own_id = message_id("delivery id", name or f"{message.delivery_id}@{domain_of(sender)}")
    if own_id is None:
        raise ValidationError("the delivery id cannot be part of a Message-ID")
    head = [f"From: {sender}", f"To: {recipient}", *_conversation(message), *_asking(message.markup)]
    head += [f"Date: {format_datetime(now.astimezone(UTC))}", f"Message-ID: {own_id}", "MIME-Version: 1.0", *more]
    if message.origin_butler:
        head.append(f"X-Postroom-Butler: {encoded(checked('origin_butler', message.origin_butler))}")
    paragraphs = [*links(message.markup), *([REPEAT_MARK] if message.repeated else [])]
    if message.format is Format.MARKDOWN:
        body = _alternatives(message, paragraphs)
    else:
        body = _body("\n\n".join([message.text.rstrip(), *paragraphs]) if paragraphs else message.text)
    boundary = _boundary(message) if message.attachments else ""
    content = "\r\n".join([*head, *_opening(boundary), *body]).encode("ascii")
    shown = (readable(parse(message.text)),) if message.format is Format.MARKDOWN else ()
    named = tuple(one.name for one in message.attachments)
    buttons = message.markup.every_button if message.markup else ()
    behind = [button.url for button in buttons if button.url]  # a link is as good as an answer: no error may quote it
    return OutgoingMail(
        sender=sender,
        recipient=recipient,
        message_id=own_id,
        content=content,
        private=(message.text, *shown, *named, message.subject or "", *behind),
        files=message.attachments,
        boundary=boundary,
    )


def with_files(mail: OutgoingMail, contents: Sequence[bytes]) -> OutgoingMail:
    parts = _file_parts(mail.boundary, list(zip(mail.files, contents, strict=True)))
    return replace(mail, content=b"".join([mail.content, *parts]), files=())


def as_data(content: bytes) -> bytes:
    """What follows the DATA command: leading dots doubled, closed by the lone dot."""
    return _LEADING_DOT.sub(b"..", content) + b".\r\n"


def _opening(boundary: str) -> Iterator[str]:
    """Of what holds the text and the files; the text comes first."""
    if boundary:
        yield f'Content-Type: multipart/mixed; boundary="{boundary}"'
        yield ""
        yield f"--{boundary}"


def _boundary(message: Message) -> str:
    """The same for every attempt; of the files' hashes, so that no file can hold it."""
    about = ":".join([message.delivery_id, message.text, *(one.sha256 for one in message.attachments)])
    return f"=-{sha256(about.encode()).hexdigest()[:40]}"


def _conversation(message: Message) -> Iterator[str]:
    match message.intent:
        case Intent.SEND:
            yield f"Subject: {encoded(_subject(message))}"
            yield "Auto-Submitted: auto-generated"
        case Intent.REPLY:
            subject = _subject(message)
            yield f"Subject: {encoded(subject if subject.lower().startswith('re:') else f'Re: {subject}')}"
            yield "Auto-Submitted: auto-replied"
            if message.thread and (thread := message_id("thread", message.thread)):
                yield f"In-Reply-To: {thread}"
                yield f"References: {thread}"
        case Intent.REACT:
            raise ValidationError("e-mail cannot carry a reaction")
        case _:
            assert_never(message.intent)


def _asking(markup: Markup | None) -> Iterator[str]:
    """Whoever is asked something answers in person: no program is to answer for them while they are away."""
    if markup is None:
        return
    yield "X-Auto-Response-Suppress: All"
    if markup.reply_to is not None:
        reply_to = mailbox(markup.reply_to)
        if reply_to is None:
            raise ValidationError("reply_to is not a single e-mail address")
        yield f"Reply-To: {reply_to}"


def _subject(message: Message) -> str:
    return checked("subject", message.subject or "").strip() or _DEFAULT_SUBJECT


def _alternatives(message: Message, paragraphs: Sequence[str]) -> Iterator[str]:
    """The text first, for a reader shows the last one it can."""
    rich = parse(message.text)
    text = "\n\n".join([readable(rich).rstrip(), *paragraphs])
    whole = rich.followed_by("\n\n".join([rich.text.rstrip(), *paragraphs]))
    boundary = f"=_{sha256(f'{message.delivery_id}:{message.text}'.encode()).hexdigest()[:40]}"
    yield f'Content-Type: multipart/alternative; boundary="{boundary}"'
    for kind, part in (("plain", text), ("html", _PAGE.format(html_of(whole)))):
        yield ""
        yield f"--{boundary}"
        yield from _body(part, kind)
    yield f"--{boundary}--\r\n"


def _body(text: str, kind: str = "plain") -> Iterator[str]:
    """Readable as it is when the transport cannot harm it, otherwise base64."""
    lines = _LINE_END.sub("\r\n", text)
    lines += "" if lines.endswith("\r\n") else "\r\n"
    plain = _PLAIN_LINES.fullmatch(lines) is not None
    yield f'Content-Type: text/{kind}; charset="utf-8"'
    yield f"Content-Transfer-Encoding: {'7bit' if plain else 'base64'}"
    yield ""
    yield lines if plain else base64.encodebytes(lines.encode()).decode().replace("\n", "\r\n")


# Header values that cannot grow a second header.

_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ENCODED_WORD = re.compile(r"=\?[^?]*\?[bBqQ]\?")
_MESSAGE_ID = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,400}@[A-Za-z0-9!#$%&'*+/=?^_`{|}~.\[\]:-]{1,400}")

_LONGEST_PLAIN = 66  # with its name, still one line of 78
_WORD_BYTES = 42  # 56 characters in base64, within the 75 of an encoded word


def checked(name: str, value: str) -> str:
    """
    The value, when it is one line of text.

    Encoded words are refused because readers decode them: whoever writes one
    here wants to smuggle in what the raw characters would not have let through.
    """
    if _FORBIDDEN.search(value):
        raise ValidationError(f"{name} must be one line without control characters")
    if _ENCODED_WORD.search(value):
        raise ValidationError(f"{name} must be plain text, not an encoded word")
    return value


def message_id(name: str, text: str) -> str | None:
    """The text as `<left@right>`, or None when it is some other kind of identifier."""
    inner = checked(name, text.strip(" ")).removeprefix("<").removesuffix(">")
    return f"<{inner}>" if _MESSAGE_ID.fullmatch(inner) and "=?" not in inner else None


def encoded(value: str) -> str:
    """Short printable ASCII as it is; everything else as folded encoded words (RFC 2047)."""
    if value.isascii() and value.isprintable() and len(value) <= _LONGEST_PLAIN:
        return value
    return "\r\n ".join(f"=?utf-8?b?{base64.b64encode(piece).decode()}?=" for piece in _word_pieces(value))


def _word_pieces(value: str) -> list[bytes]:
    """Cut between characters, since every encoded word is decoded on its own."""
    pieces = [b""]
    for character in value:
        raw = character.encode()
        if len(pieces[-1]) + len(raw) > _WORD_BYTES:
            pieces.append(b"")
        pieces[-1] += raw
    return pieces


# Headers for those between us and the reader: services that drop copies, and programs that sort by importance.

_KEY_HEADERS: Final = ("Resend-Idempotency-Key", "X-EE-Idempotency-Key")
"""By which Resend (24 hours) and EmailEngine know a second copy of the same mail; no one else minds them."""
_IMPORTANCE: Final = {Priority.HIGH: "high", Priority.LOW: "low"}
MARKED_HEADER: Final = "X-Postroom-Message"
"""Names a mail as its Message-ID does, for a relay may give it another one of those."""


def service_headers(message: Message, marked_id: str | None = None) -> Iterator[str]:
    yield from (f"{name}: {message.delivery_id}" for name in _KEY_HEADERS)
    if marked_id is not None:
        yield f"{MARKED_HEADER}: {marked_id}"
    if importance := _IMPORTANCE.get(message.priority):
        yield f"Importance: {importance}"


# Buttons in a mail: a line with a link for each, since a mail has nothing to press.

_LINK: Final = re.compile(r"[!-~]+")  # anything else would end it for the reader's program


def links(markup: Markup | None) -> list[str]:
    """One paragraph for each row of buttons."""
    return ["\n".join(_line(button) for button in row) for row in (markup.buttons if markup else ()) if row]


def _line(button: Button) -> str:
    if button.url is None:
        raise ValidationError("a button in an e-mail must be a link")
    if not _LINK.fullmatch(button.url) or not _is_web_address(button.url):
        raise ValidationError("a button's link must be a web address")
    return f"{one_line(button.label)}: {button.url}"


def _is_web_address(url: str) -> bool:
    try:
        address = urlsplit(url)
        return address.scheme in ("http", "https") and bool(address.hostname)
    except ValueError:
        return False


# Files in a mail: each a part of its own, under a name that every reader can read (RFC 2231).

_PIECE: Final = 60  # of a long name, so that no line grows beyond what mail servers take
_NOT_IN_BASE64: Final = ("multipart/", "message/")


def _file_parts(boundary: str, files: Sequence[tuple[Attachment, bytes]]) -> Iterator[bytes]:
    for file, content in files:
        lines = [f"--{boundary}", f"Content-Type: {_type(file, content)}", *_disposition(plain_name(file))]
        yield "\r\n".join([*lines, "Content-Transfer-Encoding: base64", "", ""]).encode("ascii")
        yield base64.encodebytes(content).replace(b"\n", b"\r\n")
        yield b"\r\n"
    yield f"--{boundary}--\r\n".encode("ascii")


def _type(file: Attachment, content: bytes) -> str:
    kind = plain_type(file)
    if kind.startswith(_NOT_IN_BASE64):
        return UNTYPED
    if not kind.startswith("text/"):
        return kind
    return f'{kind}; charset="utf-8"' if _is_utf8(content) else UNTYPED


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _disposition(name: str) -> Iterator[str]:
    if name.isascii() and len(name) <= _PIECE:
        quoted = name.replace("\\", "\\\\").replace('"', '\\"')
        yield f'Content-Disposition: attachment; filename="{quoted}"'
        return
    yield "Content-Disposition: attachment;"
    pieces = list(_pieces(quote(name, safe="")))
    if len(pieces) == 1:
        yield f" filename*=utf-8''{pieces[0]}"
        return
    for number, piece in enumerate(pieces):
        charset, end = ("" if number else "utf-8''"), ("" if number == len(pieces) - 1 else ";")
        yield f" filename*{number}*={charset}{piece}{end}"


def _pieces(encoded: str) -> Iterator[str]:
    """No piece ends inside of an encoded byte."""
    while len(encoded) > _PIECE:
        end = encoded.rfind("%", _PIECE - 2, _PIECE)
        end = _PIECE if end < 0 else end
        yield encoded[:end]
        encoded = encoded[end:]
    yield encoded
