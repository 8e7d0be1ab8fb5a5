"""A mail that the person wrote, as the bytes in which a mail server keeps it."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Final

from postroom.programs.sandbox.records import ReceivedMail, StoredMail

AUTHSERV_ID: Final = "sandbox.example"
"""The name under which the sandbox says that it knows who wrote a mail."""


def mail_bytes(kept: StoredMail) -> bytes:
    """What the person gave as a header of their own is written in its place; the rest a server adds."""
    mail, at = kept.mail, datetime.fromtimestamp(kept.received_us / 1_000_000, UTC)
    usual = {
        "Return-Path": f"<{mail.sender}>",
        "Authentication-Results": f"{AUTHSERV_ID}; dmarc=pass header.from={_domain(mail.sender)}",
        "Received": f"by {AUTHSERV_ID}; {format_datetime(at)}",
        "From": mail.sender,
        "To": ", ".join(mail.recipients),
        "Subject": mail.subject,
        "Date": format_datetime(at),
        "Message-ID": mail.message_id or "",
        "In-Reply-To": mail.in_reply_to or "",
        "References": mail.references or "",
        "MIME-Version": "1.0",
    }
    given = {name.lower() for name in mail.headers}
    head = [(name, value) for name, value in usual.items() if value and name.lower() not in given]
    head += [(name, value) for name, value in mail.headers.items() if value]
    body = _parts(mail) if mail.given else _body(mail.body, is_whole="content-type" in given)
    return "".join(f"{name}: {_value(value)}\r\n" for name, value in head).encode("ascii", "replace") + body


def _parts(mail: ReceivedMail) -> bytes:
    """The words first, then each file."""
    whole = EmailMessage()
    whole.set_content(mail.body)
    for one in mail.given:
        kind, _, more = one.media_type.partition("/")
        whole.add_attachment(one.content, maintype=kind, subtype=more or "octet-stream", filename=one.name)
    del whole["MIME-Version"]
    return whole.as_bytes(policy=SMTP)


def _body(text: str, *, is_whole: bool) -> bytes:
    """With a content type of their own the person writes all of it, parts and all."""
    lines = text.replace("\r\n", "\n").replace("\n", "\r\n") + "\r\n"
    if is_whole:
        return b"\r\n" + lines.encode()
    encoded = base64.encodebytes(lines.encode()).replace(b"\n", b"\r\n")
    head = b'Content-Type: text/plain; charset="utf-8"\r\nContent-Transfer-Encoding: base64\r\n\r\n'
    return head + encoded


def _value(text: str) -> str:
    return text if text.isascii() else Header(text, "utf-8", maxlinelen=900).encode(linesep="\r\n")


def _domain(address: str) -> str:
    return address.rpartition("@")[2].strip("> ").lower()
