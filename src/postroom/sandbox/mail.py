"""The sandbox's SMTP server, and one mail read as a mailbox shows it."""

from __future__ import annotations

import asyncio
import email
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from email.header import decode_header
from email.message import Message
from typing import Any, AnyStr, cast

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from postroom.sandbox.faults import FaultChannel, Mode, SandboxParts, smtp_code
from postroom.sandbox.ledger import FileShelf
from postroom.sandbox.records import ArrivedFile, ReceivedMail

# Whatever arrives can be read: a header or a body that is not what it claims to be is shown with replacement
# characters, never refused, because the raw bytes are kept beside it.

_FOLD = re.compile(r"\r?\n(?=[ \t])")


def read_mail(raw: bytes, files: FileShelf, *, sender: str, recipients: Sequence[str], at_us: int) -> ReceivedMail:
    """`sender` and `recipients` are the envelope's: what SMTP said, not what a header claims."""
    message = email.message_from_bytes(raw)
    return ReceivedMail(
        at_us=at_us,
        sender=shown(sender),
        recipients=tuple(shown(recipient) for recipient in recipients),
        subject=_header(message, "Subject") or "",
        body=_body_text(message),
        message_id=_header(message, "Message-ID"),
        in_reply_to=_header(message, "In-Reply-To"),
        references=_header(message, "References"),
        headers=_all_headers(message),
        files=tuple(files.keep(_file(part)) for part in message.walk() if _is_attached(part)),
    )


def _header(message: Message, name: str) -> str | None:
    value = message.get(name)
    return None if value is None else decoded(_unfolded(value))


def _all_headers(message: Message) -> dict[str, str]:
    """Decoded values by name; a name that occurs twice has one line per occurrence."""
    values: dict[str, list[str]] = {}
    for name, value in message.items():
        values.setdefault(shown(name), []).append(decoded(_unfolded(value)))
    return {name: "\n".join(lines) for name, lines in values.items()}


def _body_text(message: Message) -> str:
    """The first plain text; line ends are LF and the last line's own end is left out."""
    part = next((part for part in message.walk() if _is_words(part)), message)
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    text = _decode(payload, part.get_content_charset() or "utf-8")
    return text.replace("\r\n", "\n").removesuffix("\n")


def _is_words(part: Message) -> bool:
    return part.get_content_type() == "text/plain" and not _is_attached(part)


def _is_attached(part: Message) -> bool:
    return part.get_content_disposition() == "attachment"


def _file(part: Message) -> ArrivedFile:
    content = part.get_payload(decode=True)
    name = decoded(_unfolded(part.get_filename("")))
    return ArrivedFile(
        name=name, media_type=part.get_content_type(), content=content if isinstance(content, bytes) else b""
    )


def _unfolded(value: object) -> str:
    return shown(_FOLD.sub("", str(value)))


def decoded(value: str) -> str:
    """RFC 2047 words as the characters they stand for."""
    try:
        parts = decode_header(value)
    except (ValueError, LookupError, email.errors.HeaderParseError):
        return value
    return "".join(part if isinstance(part, str) else _decode(part, charset or "ascii") for part, charset in parts)


def shown(text: str) -> str:
    """Bytes that are no UTF-8 arrive as lone surrogates, which no JSON can carry."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _decode(raw: bytes, charset: str) -> str:
    try:
        return raw.decode(charset, "replace")
    except (LookupError, ValueError):
        return raw.decode("utf-8", "replace")


# The server: takes every mail, keeps it, and fails when told to.

MAX_MAIL_BYTES = 30 * 1_048_576
_IDLE_SECONDS = 300
_HOST_NAME = "sandbox.invalid"
BANNER = "Postroom SANDBOX, nothing leaves this machine"
_STOP_SECONDS = 5


_Talking = dict[asyncio.Task[Any], Callable[[], object]]
"""Each conversation, and how it is cut."""


class Mailroom:
    """The handler aiosmtpd calls."""

    def __init__(self, parts: SandboxParts) -> None:
        self._parts = parts

    def refuses(self) -> bool:
        """A new connection and a new mail on an old one are both a moment to be refused."""
        fault = self._parts.faults.peek(FaultChannel.EMAIL)
        if fault is None or fault.mode is not Mode.REFUSE:
            return False
        self._parts.faults.take(FaultChannel.EMAIL)
        return True

    async def handle_MAIL(
        self, server: Any, session: Session, envelope: Envelope, address: str, mail_options: list[str]
    ) -> str:
        if self.refuses():
            server.hang_up_after_answer()
            return "421 4.3.2 sandbox fault: closing connection"
        envelope.mail_from = address
        envelope.mail_options.extend(mail_options)
        return "250 2.1.0 OK"

    async def handle_DATA(self, server: Any, session: Session, envelope: Envelope) -> str:
        spoiled = self._parts.spoiled(FaultChannel.EMAIL)
        if spoiled.status is not None:
            return self._refuse(server, smtp_code(spoiled.status), spoiled.retry_after)
        answer = self._keep(envelope) if await spoiled.before() else None
        if answer is None or not await spoiled.after():
            server.cut()
            return "421 4.3.2 sandbox fault"
        return answer

    async def handle_exception(self, error: Exception) -> str:
        """The error's own text may quote the mail."""
        return f"451 4.3.0 sandbox error: {type(error).__name__}"

    def _refuse(self, server: Any, code: int, retry_after: int | None) -> str:
        if code == 421:
            server.hang_up_after_answer()
        wait = "" if retry_after is None else f", retry after {retry_after} seconds"
        return f"{code} {code // 100}.3.0 sandbox fault{wait}"

    def _keep(self, envelope: Envelope) -> str:
        raw = envelope.content if isinstance(envelope.content, bytes) else b""
        sender, now_us = envelope.mail_from or "", self._parts.clock.now_us()
        mail = read_mail(raw, self._parts.ledger.files, sender=sender, recipients=envelope.rcpt_tos, at_us=now_us)
        return f"250 2.0.0 OK: kept by the sandbox as {self._parts.ledger.keep(mail, raw=raw).number}"


class _SmtpConnection(SMTP):
    def __init__(self, mailroom: Mailroom, talking: _Talking) -> None:
        super().__init__(
            mailroom,
            data_size_limit=MAX_MAIL_BYTES,
            enable_SMTPUTF8=True,
            hostname=_HOST_NAME,
            ident=BANNER,
            timeout=_IDLE_SECONDS,
            auth_require_tls=False,
            authenticator=_welcome,
            loop=asyncio.get_running_loop(),
        )
        self._mailroom = mailroom
        self._talking = talking
        self._leaving = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if self._handler_coroutine is None:
            raise RuntimeError("the connection was never made")
        self._talking[self._handler_coroutine] = self.cut
        if self._mailroom.refuses():
            self._handler_coroutine.cancel()
            self.cut()

    def connection_lost(self, error: Exception | None) -> None:
        if self._handler_coroutine is not None:
            self._talking.pop(self._handler_coroutine, None)
        super().connection_lost(error)

    def cut(self) -> None:
        """No goodbye: whatever is still to be written is thrown away."""
        if self.transport is not None:
            cast(asyncio.Transport, self.transport).abort()

    def hang_up_after_answer(self) -> None:
        self._leaving = True

    async def push(self, status: AnyStr) -> None:
        if self.transport is None or self.transport.is_closing():
            return
        await super().push(status)
        if self._leaving:
            self.transport.close()


class PortServer(ABC):
    """Listens on one port, and cuts whoever is still there when it stops."""

    def __init__(self) -> None:
        self.talking: _Talking = {}
        self._server: asyncio.Server | None = None

    @abstractmethod
    async def listen(self, **where: Any) -> asyncio.Server:
        """At `host` and `port`, or at a bound `sock`."""

    async def start(self, **where: Any) -> int:
        """Answers with the port."""
        self._server = await self.listen(**where)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        if self._server is None:
            return
        self._server.close()
        ending = dict(self.talking)
        for cut in ending.values():
            cut()
        if ending:
            await asyncio.wait(ending, timeout=_STOP_SECONDS)
        await self._server.wait_closed()
        self._server = None


class SmtpServer(PortServer):
    def __init__(self, mailroom: Mailroom) -> None:
        super().__init__()
        self._mailroom = mailroom

    async def listen(self, **where: Any) -> asyncio.Server:
        _silence_smtp()
        return await asyncio.get_running_loop().create_server(self._accept, **where)

    def _accept(self) -> _SmtpConnection:
        return _SmtpConnection(self._mailroom, self.talking)


def _welcome(server: Any, session: Session, envelope: Envelope, mechanism: str, credentials: Any) -> AuthResult:
    """Any name and password will do; neither is kept."""
    return AuthResult(success=True)


def _silence_smtp() -> None:
    """For aiosmtpd, which logs every line of every mail. A filter outlives a change of levels; a level does not."""
    logger = logging.getLogger("mail.log")
    if _drop not in logger.filters:
        logger.addFilter(_drop)


def _drop(record: logging.LogRecord) -> bool:
    return False
