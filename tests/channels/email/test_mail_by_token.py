"""Mail is read from a real Dovecot and handed to a real SMTP server by tokens."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import MISSING, SMTP, AuthResult
from tests.channels.email.incoming.mails import mail
from tests.channels.email.test_oauth import access, kept
from tests.channels.email.token_server import USER, TokenServer
from tests.patience import PATIENCE_SECONDS
from tests.services.dovecot import Dovecot
from tests.services.server import ServiceError

from postroom.channels.email.channel import Email
from postroom.channels.email.incoming.imap import ImapAccount
from postroom.channels.email.oauth import MailAccess, xoauth2
from postroom.kernel.values.errors import CredentialsRefused, TargetUnavailable
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Intent, Message

MESSAGE = Message(delivery_id=DeliveryId("d1"), intent=Intent.SEND, address="ada@example.org", text="hello")


class TokenMail:
    """Says no as Google does: a challenge with the reason, and 535 after an empty line."""

    def __init__(self, is_good: Callable[[bytes], bool]) -> None:
        self._is_good = is_good
        self.tried: list[bytes] = []
        self.received: list[bytes] = []

    async def auth_XOAUTH2(self, server: SMTP, args: list[str]) -> AuthResult:
        shown = base64.b64decode(args[1])
        self.tried.append(shown)
        if self._is_good(shown):
            return AuthResult(success=True, auth_data=shown)
        assert await server.challenge_auth('{"status":"401"}') in (b"", MISSING)
        return AuthResult(success=False, handled=False)

    async def handle_DATA(self, server: SMTP, session: Any, envelope: Any) -> str:
        self.received.append(envelope.content)
        return "250 OK"


@asynccontextmanager
async def smtp_server(tokens: TokenServer) -> AsyncIterator[tuple[TokenMail, int]]:
    handler = TokenMail(lambda shown: any(shown == xoauth2(USER, token) for token in tokens.good))
    controller = Controller(handler, hostname="127.0.0.1", port=0, auth_require_tls=False, auth_required=True)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(controller.factory, "127.0.0.1", 0)
    try:
        yield handler, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


def sender(port: int, token: MailAccess) -> Email:
    return Email("127.0.0.1", port, "none", USER, None, USER, access=token)


@pytest.mark.requirement("mail:oauth2")
async def test_mail_is_sent_by_token_and_a_refused_one_is_renewed(tokens: TokenServer, tmp_path: Path) -> None:
    file = kept(tmp_path, access_token="taken-back", expires_at=2e9)
    async with smtp_server(tokens) as (server, port), asyncio.timeout(PATIENCE_SECONDS):
        email = sender(port, access(file, tokens))
        await email.send(email.prepare(MESSAGE)[0], 15.0)

    assert server.tried == [xoauth2(USER, "taken-back"), xoauth2(USER, "canary-access-1")]
    assert len(server.received) == 1 and b"hello" in server.received[0]


@pytest.mark.requirement("mail:oauth2-refused")
async def test_a_token_that_is_refused_twice_is_a_refused_login(tokens: TokenServer, tmp_path: Path) -> None:
    async with smtp_server(tokens) as (server, port), asyncio.timeout(PATIENCE_SECONDS):
        email = sender(port, access(kept(tmp_path), tokens))
        tokens.good = set()
        server._is_good = lambda _: False
        with pytest.raises(TargetUnavailable, match="does not accept our login") as refused:
            await email.send(email.prepare(MESSAGE)[0], 15.0)

    assert len(server.tried) == 2 and server.received == []
    assert "canary" not in str(refused.value)


async def test_access_that_ended_is_refused_credentials(tokens: TokenServer, tmp_path: Path) -> None:
    tokens.refuses = "invalid_grant"
    async with smtp_server(tokens) as (server, port), asyncio.timeout(PATIENCE_SECONDS):
        email = sender(port, access(kept(tmp_path), tokens))
        with pytest.raises(CredentialsRefused, match="login-mail"):
            await email.send(email.prepare(MESSAGE)[0], 15.0)

    assert server.tried == []


@asynccontextmanager
async def reading(tokens: TokenServer, directory: Path, token: MailAccess) -> AsyncIterator[tuple[Dovecot, Email]]:
    dovecot = Dovecot(directory, f"{tokens.url}/introspect")
    try:
        await asyncio.to_thread(dovecot.start)
    except ServiceError as error:
        pytest.fail(str(error), pytrace=False)
    imap = ImapAccount(
        host="127.0.0.1", port=dovecot.port, tls="none", user=USER, authserv_id="mx.post.example", access=token
    )
    email = Email("127.0.0.1", 9, "none", None, None, USER, imap=imap)
    try:
        yield dovecot, email
    finally:
        await email.close()
        dovecot.stop()


@pytest.mark.requirement("mail:oauth2")
async def test_mail_is_read_by_token_and_a_refused_one_is_renewed(
    tokens: TokenServer, server_directory: Path, tmp_path: Path
) -> None:
    file = kept(tmp_path, access_token="taken-back", expires_at=2e9)
    async with reading(tokens, server_directory, access(file, tokens)) as (dovecot, email), asyncio.timeout(40):
        position = (await email.listen(None, 0)).position
        dovecot.deliver(mail())
        heard = await email.listen(position, 20)

    assert len(heard.events) == 1
    assert tokens.introspected >= 2 and len(tokens.asked) == 1


@pytest.mark.requirement("mail:oauth2-refused")
async def test_reading_says_what_to_do_when_access_has_ended(
    tokens: TokenServer, server_directory: Path, tmp_path: Path
) -> None:
    tokens.refuses = "invalid_grant"
    token = access(kept(tmp_path), tokens)
    async with reading(tokens, server_directory, token) as (_, email), asyncio.timeout(40):
        for _again in range(2):  # the second time without asking anyone
            with pytest.raises(TargetUnavailable, match="run `postroom login-mail email`"):
                await email.listen(None, 0)

    assert len(tokens.asked) == 1
