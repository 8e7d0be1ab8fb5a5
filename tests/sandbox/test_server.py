from __future__ import annotations

import asyncio
import logging
import smtplib
import socket
from html.parser import HTMLParser
from pathlib import Path

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patience import PATIENCE_SECONDS
from tests.sandbox.client import Client, letter
from tests.sandbox.conftest import Start
from tests.sandbox.hand_clock import HandClock

from postroom.sandbox.records import ReceivedMail, TelegramMessage
from postroom.sandbox.server import Sandbox, SandboxOptions, refusal_reason


async def test_a_restarted_sandbox_still_has_its_messages_and_counts_on(tmp_path: Path) -> None:
    ledger = tmp_path / "sandbox.db"
    async with (
        Sandbox(SandboxOptions(ledger_path=ledger)) as sandbox,
        aiohttp.ClientSession(sandbox.bot_api_url) as http,
    ):
        client = Client(sandbox, http)
        await client.bot("sendMessage", chat_id=42, text="before")
        await client.post("/sandbox/telegram/reaction", {"chat_id": 42, "message_id": 1, "emoji": "👍"})
        await client.post("/sandbox/telegram/inbound", {"chat_id": 7, "text": "not fetched yet"})
        await client.mail(letter("before"))
        await client.arm(channel="telegram", status=500)

    async with (
        Sandbox(SandboxOptions(ledger_path=ledger)) as sandbox,
        aiohttp.ClientSession(sandbox.bot_api_url) as http,
    ):
        client = Client(sandbox, http)
        answer = await client.bot("sendMessage", chat_id=42, text="after")

        assert answer["result"]["message_id"] == 3
        assert await client.texts() == ["before", "after"]
        assert (await client.get("/sandbox/telegram/messages"))["messages"][0]["reactions"] == ["👍"]
        assert [mail["subject"] for mail in await client.mails()] == ["before"]
        assert [one["update_id"] for one in (await client.bot("getUpdates"))["result"]] == [2]
        assert (await client.bot("getUpdates", offset=3))["result"] == []


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


PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 20
ATTRIBUTES = {
    *(
        "action",
        "alt",
        "aria-current",
        "aria-label",
        "aria-labelledby",
        "aria-pressed",
        "autofocus",
        "charset",
        "class",
    ),
    *("content", "data-live", "data-said", "defer", "dir", "download", "enctype", "for", "href", "id", "inputmode"),
    *("lang", "loading", "method", "multiple", "name", "placeholder", "rel", "required", "role", "rows", "src"),
    *("tabindex", "target", "type", "value"),
}
text = st.text(alphabet=st.characters(codec="utf-8"), max_size=40) | st.sampled_from(
    ["<script>", "</p><img src=x>", "\"'onload=x", "</style>", "<!--", "]]>", "&lt;", "</textarea>"]
)


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}


async def send(client: Client, words: str, **more: object) -> int:
    return int((await client.bot("sendMessage", chat_id=42, text=words, **more))["result"]["message_id"])


async def shown(client: Client, path: str = "/sandbox/") -> str:
    async with client.http.get(path) as answer:
        return await answer.text()


async def submit(client: Client, form: str, **fields: object) -> tuple[int, str]:
    """As a browser sends a form of the page, and follows where it leads."""
    data = aiohttp.FormData()
    for name, value in fields.items():
        if isinstance(value, bytes):
            data.add_field(name, value, filename=f"{name}.png", content_type="image/png")
        else:
            data.add_field(name.rstrip("_"), str(value))
    headers = {"Origin": client.sandbox.bot_api_url, "Sec-Fetch-Site": "same-origin"}
    async with client.http.post(f"/sandbox/{form}", data=data, headers=headers) as answer:
        return answer.status, await answer.text()


@given(text, text, text)
@settings(deadline=None)  # a machine may be busy
def test_no_text_becomes_an_element_or_an_attribute(first: str, second: str, third: str) -> None:
    sandbox = Sandbox(SandboxOptions())
    ledger, page = sandbox.ledger, sandbox.page
    one = ledger.keep(TelegramMessage(place="42", text=first, from_name=second, from_person=True))
    ledger.keep(TelegramMessage(place="42", text=second, reply_to_message_id=one.number))
    ledger.keep(ReceivedMail(sender=first, recipients=(second,), subject=third, body=first))

    parsed = Elements()
    parsed.feed(page.shown({"mail": "1", "reply_to": "1"}, {"text": third, "body": second}).text or "")

    ledger.close()
    assert parsed.attributes <= ATTRIBUTES
    assert (parsed.tags.count("script"), parsed.tags.count("img"), parsed.tags.count("textarea")) == (1, 0, 2)


async def test_an_empty_sandbox_says_so_and_an_armed_fault_is_announced(client: Client) -> None:
    await client.arm(channel="email", status=503)

    page = await shown(client)

    assert "No messages yet" in page and "No e-mail yet" in page
    assert "1 fault armed" in page


@pytest.mark.requirement("house:sandbox-phone")
async def test_a_message_is_typed_in_reply_without_a_script(client: Client) -> None:
    sent = await send(client, "Tea or coffee?")

    status, page = await submit(
        client, "phone/message", chat_id=42, reply_to_message_id=sent, text="Tea.\r\nGreen.", files=""
    )

    assert status == 200 and "Green." in page
    [typed] = (await client.get("/sandbox/telegram/inbound"))["messages"]
    assert (typed["text"], typed["reply_to_message_id"], typed["chat_id"]) == ("Tea.\nGreen.", sent, "42")


@pytest.mark.requirement("house:sandbox-phone")
async def test_a_picture_is_sent_from_the_phone_and_shown(client: Client) -> None:
    status, page = await submit(client, "phone/message", chat_id=42, text="Look", files=PNG)

    [typed] = (await client.get("/sandbox/telegram/inbound"))["messages"]
    [picture] = typed["attachments"]
    assert status == 200 and f'<img src="/sandbox/files/{picture["sha256"]}" alt="files.png"' in page
    [update] = (await client.bot("getUpdates"))["result"]
    assert update["message"]["photo"] and update["message"]["caption"] == "Look"


@pytest.mark.requirement("house:sandbox-phone")
async def test_a_button_is_pressed_and_a_reaction_is_tapped_and_taken_back(client: Client) -> None:
    sent = await send(client, "Ship?", reply_markup={"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}]]})

    _, page = await submit(client, "phone/press", chat_id=42, message_id=sent, button="y")
    assert "<bdi>Yes</bdi>: pressed, not answered yet" in page
    _, page = await submit(client, "phone/reaction", chat_id=42, message_id=sent, emoji="👍")
    assert 'aria-label="Take 👍 back"' in page
    _, page = await submit(client, "phone/reaction", chat_id=42, message_id=sent, emoji="")
    assert 'aria-label="React with 👍"' in page


@pytest.mark.requirement("house:sandbox-mail")
async def test_a_mail_is_opened_and_answered_without_a_script(client: Client) -> None:
    await client.mail(letter("Tonight", "Dinner is at seven.", Message_ID="<d1@example.com>"))
    assert 'value="Re: Tonight"' in await shown(client, "/sandbox/?mail=1")

    fields = {"subject": "Re: Tonight", "body": "I shall be there.", "in_reply_to": "<d1@example.com>"}
    status, page = await submit(
        client, "mailbox", chat_id=42, mail=1, from_="ada@example.com", to="bot@example.com", **fields
    )

    assert status == 200 and "You wrote" in page
    [written] = (await client.get("/sandbox/email/inbound"))["messages"]
    assert {name: written[name] for name in fields} == fields


async def test_what_is_refused_is_said_and_stays_in_its_form(client: Client) -> None:
    status, page = await submit(client, "phone/message", chat_id=42, text="x" * 5000)
    assert status == 422 and "text" in page and "x" * 5000 + "</textarea>" in page

    status, page = await submit(client, "mailbox", from_="ada@example.com", to="", body="Kept <b>")
    assert status == 422 and "Kept &lt;b&gt;</textarea>" in page
    assert (await client.get("/sandbox/telegram/inbound"))["messages"] == []


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "same-site"}], ids=str)
async def test_a_form_of_another_site_does_nothing(client: Client, headers: dict[str, str]) -> None:
    async with client.http.post(
        "/sandbox/phone/message", data={"chat_id": "42", "text": "x"}, headers=headers
    ) as answer:
        assert answer.status == 403
    assert (await client.get("/sandbox/telegram/inbound"))["messages"] == []


async def test_a_chat_nobody_wrote_in_can_be_opened_and_is_no_other(client: Client) -> None:
    await send(client, "For 42")

    page = await shown(client, "/sandbox/?chat=2001")

    assert "For 42" not in page and 'name="chat_id" value="2001"' in page


async def test_the_page_runs_only_its_own_script_and_style(client: Client) -> None:
    async with client.http.get("/") as answer:
        page, headers, path = await answer.text(), answer.headers, answer.url.path

    assert path == "/sandbox/" and "SANDBOX: nothing leaves this machine" in page
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'") and "unsafe" not in policy
    assert headers["Referrer-Policy"] == "same-origin"
    for name in ("page.css", "page.js"):
        async with client.http.get(f"/sandbox/{name}") as answer:
            assert answer.status == 200
