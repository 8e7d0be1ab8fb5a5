from __future__ import annotations

import asyncio
import logging
import smtplib
import socket
from pathlib import Path

import aiohttp
import pytest
from tests.patience import PATIENCE_SECONDS
from tests.sandbox.client import Client, letter
from tests.sandbox.conftest import Start
from tests.sandbox.hand_clock import HandClock

from postroom.sandbox.server import Sandbox, SandboxOptions, refusal_reason, serve


async def test_a_restarted_sandbox_still_has_its_messages_and_counts_on(tmp_path: Path) -> None:
    ledger = tmp_path / "sandbox.db"
    async with serve(ledger_path=ledger) as sandbox, aiohttp.ClientSession(sandbox.bot_api_url) as http:
        client = Client(sandbox, http)
        await client.bot("sendMessage", chat_id=42, text="before")
        await client.mail(letter("before"))
        await client.arm(channel="telegram", status=500)

    async with serve(ledger_path=ledger) as sandbox, aiohttp.ClientSession(sandbox.bot_api_url) as http:
        client = Client(sandbox, http)
        answer = await client.bot("sendMessage", chat_id=42, text="after")

        assert answer["result"]["message_id"] == 2
        assert await client.texts() == ["before", "after"]
        assert [mail["subject"] for mail in await client.mails()] == ["before"]


async def test_a_stop_does_not_wait_for_open_polls_delays_and_hanging_calls(start: Start, clock: HandClock) -> None:
    client = await start()
    page = await client.http.get("/sandbox/changes")
    assert await page.content.readline() == b"data: changed\n"
    await client.arm(channel="telegram", mode="hang")
    await client.arm(channel="telegram", delay_seconds=3600)
    await client.arm(channel="email", mode="hang")
    calls = [
        asyncio.create_task(client.bot("getUpdates", timeout=50)),
        asyncio.create_task(client.bot("sendMessage", chat_id=1, text="hangs")),
        asyncio.create_task(client.bot("sendMessage", chat_id=1, text="waits")),
        asyncio.create_task(client.mail(letter("hangs"))),
    ]
    await clock.sleeping(4)

    await asyncio.wait_for(client.sandbox.stop(), PATIENCE_SECONDS)

    poll, _, delayed, mail = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), PATIENCE_SECONDS)
    assert b"changed" in await page.read()
    assert isinstance(poll, dict) and poll["result"] == []
    assert isinstance(delayed, dict) and delayed["ok"]
    assert isinstance(mail, smtplib.SMTPException | OSError)


async def test_an_idle_mail_connection_does_not_hold_up_the_stop(start: Start) -> None:
    client = await start()
    reader, writer = await asyncio.open_connection("127.0.0.1", client.sandbox.smtp_port)
    await asyncio.wait_for(reader.readline(), PATIENCE_SECONDS)

    await asyncio.wait_for(client.sandbox.stop(), PATIENCE_SECONDS)

    assert await asyncio.wait_for(reader.read(), PATIENCE_SECONDS) == b""
    writer.close()


async def test_bound_sockets_are_used_as_they_are() -> None:
    bot, mail = socket.create_server(("127.0.0.1", 0)), socket.create_server(("127.0.0.1", 0))
    ports = bot.getsockname()[1], mail.getsockname()[1]

    async with Sandbox(SandboxOptions(bot_api_socket=bot, smtp_socket=mail)) as sandbox:
        assert (sandbox.bot_api_port, sandbox.smtp_port) == ports
        async with aiohttp.ClientSession(sandbox.bot_api_url) as http, http.get("/health") as answer:
            assert answer.status == 200


async def test_a_taken_mail_port_leaves_nothing_running() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as free:
        bot_port = free.getsockname()[1]
        free.close()
        with pytest.raises(OSError):
            await Sandbox(SandboxOptions(bot_api_port=bot_port, smtp_port=taken.getsockname()[1])).start()

        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", bot_port)


async def test_no_text_and_no_token_reaches_a_log(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    await client.bot("sendMessage", chat_id=42, text="canary text", token="7:canary-token")
    await client.bot("canary-method", token="7:canary-token")
    await client.mail(letter("canary subject", "canary body"), login=("canary-login", "canary-password"))
    await client.arm(channel="email", mode="accept_then_cut")
    with pytest.raises((smtplib.SMTPServerDisconnected, ConnectionError)):
        await client.mail(letter("canary subject", "canary body"))
    reader, writer = await asyncio.open_connection("127.0.0.1", client.sandbox.bot_api_port)
    writer.write(b"GET /bot7:canary-token/getMe nonsense HTTP/9.9\r\n\r\n")
    await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)
    writer.close()

    assert "canary" not in caplog.text


HERE = {"Host": "127.0.0.1:40290"}


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(HERE, id="program"),
        pytest.param({"Host": "localhost"}, id="name"),
        pytest.param({"Host": "[::1]:40290"}, id="ipv6"),
        pytest.param({"Host": "sandbox.home:40290"}, id="configured"),
        pytest.param(HERE | {"Origin": "http://127.0.0.1:40290"}, id="own-page"),
        pytest.param(HERE | {"Sec-Fetch-Site": "same-origin"}, id="own-fetch"),
        pytest.param(HERE | {"Sec-Fetch-Site": "none"}, id="typed-address"),
    ],
)
def test_requests_from_here_pass(headers):
    assert refusal_reason(headers, "POST", "/sandbox/faults", {"sandbox.home"}) is None


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="no-host"),
        pytest.param({"Host": "evil.example"}, id="rebound-name"),
        pytest.param({"Host": "127.0.0.1.evil.example:40290"}, id="looks-like-loopback"),
        pytest.param({"Host": "localhost.evil.example"}, id="looks-like-localhost"),
        pytest.param({"Host": "evil.example@127.0.0.1"}, id="user-part"),
        pytest.param({"Host": "0.0.0.0:40290"}, id="any-address"),
        pytest.param({"Host": "192.168.1.5:40290"}, id="other-address"),
        pytest.param(HERE | {"Origin": "http://evil.example"}, id="other-origin"),
        pytest.param(HERE | {"Origin": "null"}, id="null-origin"),
        pytest.param(HERE | {"Origin": "https://127.0.0.1:40290"}, id="other-scheme"),
        pytest.param(HERE | {"Origin": "http://127.0.0.1:40291"}, id="other-port"),
        pytest.param(HERE | {"Sec-Fetch-Site": "cross-site"}, id="image-elsewhere"),
        pytest.param(HERE | {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate"}, id="form-elsewhere"),
    ],
)
def test_requests_from_elsewhere_are_refused(headers):
    assert refusal_reason(headers, "POST", "/sandbox/faults", {"sandbox.home"})


@pytest.mark.parametrize(
    ("path", "refused"), [("/sandbox/", False), ("/bot1:a/sendMessage", True), ("/sandbox/faults", True)]
)
def test_a_link_may_open_the_page_and_nothing_else(path, refused):
    headers = HERE | {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate"}

    assert bool(refusal_reason(headers, "GET", path, ())) is refused
