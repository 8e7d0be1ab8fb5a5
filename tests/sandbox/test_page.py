"""The sandbox's page as it is asked for and sent back, without a script."""

from __future__ import annotations

from html.parser import HTMLParser

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sandbox.client import Client, letter

from postroom.sandbox.ledger import SandboxLedger
from postroom.sandbox.page import SandboxPage
from postroom.sandbox.person import SandboxPerson
from postroom.sandbox.records import ArmedFaults, ReceivedMail

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
    ledger = SandboxLedger()
    person = SandboxPerson(ledger=ledger, clock=None, news=None, token="")  # type: ignore[arg-type]
    page = SandboxPage(ledger=ledger, faults=ArmedFaults(), person=person, stopping=None)  # type: ignore[arg-type]
    one = ledger.telegram.keep(chat_id="42", text=first, from_name=second, from_person=True, now_us=1)
    ledger.telegram.keep(chat_id="42", text=second, reply_to=one.message_id, now_us=1)
    mail = ReceivedMail(sender=first, recipients=(second,), subject=third, body=first)
    ledger.email.keep(mail, from_person=False, now_us=1)

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
