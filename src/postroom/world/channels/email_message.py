"""One mail, plain or as text and HTML, built byte by byte so that nothing in it can become a header or a command."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from hashlib import sha256
from typing import assert_never

from postroom.domain.attachment import Attachment
from postroom.domain.delivery import REPEAT_MARK, Format, Intent, Message
from postroom.domain.errors import ValidationError
from postroom.domain.fields import text_problem
from postroom.domain.html_text import html_of
from postroom.domain.markdown import parse
from postroom.domain.markup import Markup
from postroom.domain.readable_text import readable
from postroom.world.channels.email_files import file_parts
from postroom.world.channels.email_links import links, private_of
from postroom.world.channels.mail_header import checked, encoded, message_id
from postroom.world.channels.mailbox import domain_of, mailbox

DEFAULT_SUBJECT = "Notification"

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
    if not message.text.strip():
        raise ValidationError("message must not be blank")
    if problem := text_problem(message.text):
        raise ValidationError(f"message {problem}")
    own_id = message_id("delivery id", name or f"{message.delivery_id}@{domain_of(sender)}")
    if own_id is None:
        raise ValidationError("the delivery id cannot be part of a Message-ID")
    head = [f"From: {sender}", f"To: {recipient}", *_conversation(message), *_asking(message.markup)]
    head += [f"Date: {format_datetime(now.astimezone(UTC))}", f"Message-ID: {own_id}", "MIME-Version: 1.0", *more]
    if message.origin_butler:
        head.append(f"X-Postroom-Butler: {encoded(checked('origin_butler', message.origin_butler))}")
    paragraphs = [*links(message.markup), *([REPEAT_MARK] if message.repeated else [])]
    body = _alternatives(message, paragraphs) if message.format is Format.MARKDOWN else _plain(message, paragraphs)
    boundary = _boundary(message) if message.attachments else ""
    content = "\r\n".join([*head, *_opening(boundary), *body]).encode("ascii")
    shown = (readable(parse(message.text)),) if message.format is Format.MARKDOWN else ()
    named = tuple(one.name for one in message.attachments)
    return OutgoingMail(
        sender=sender,
        recipient=recipient,
        message_id=own_id,
        content=content,
        private=(message.text, *shown, *named, message.subject or "", *private_of(message.markup)),
        files=message.attachments,
        boundary=boundary,
    )


def with_files(mail: OutgoingMail, contents: Sequence[bytes]) -> OutgoingMail:
    parts = file_parts(mail.boundary, list(zip(mail.files, contents, strict=True)))
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
            yield f"Subject: {encoded(_reply_subject(_subject(message)))}"
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
    return checked("subject", message.subject or "").strip() or DEFAULT_SUBJECT


def _reply_subject(subject: str) -> str:
    return subject if subject.lower().startswith("re:") else f"Re: {subject}"


def _plain(message: Message, paragraphs: Sequence[str]) -> Iterator[str]:
    return _body("\n\n".join([message.text.rstrip(), *paragraphs]) if paragraphs else message.text)


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
