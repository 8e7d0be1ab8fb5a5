"""Files in the sandbox, from every channel to what is listed and shown."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from tests.fakes.server import Fakes, serve

from postroom.channels.discord.channel import Discord
from postroom.channels.email.channel import Email
from postroom.channels.ntfy.channel import Ntfy
from postroom.channels.slack.channel import Slack
from postroom.channels.telegram.channel import Telegram
from postroom.kernel.values.errors import OutcomeUncertain
from postroom.kernel.values.ids import DeliveryId
from postroom.message.channel import Channel
from postroom.message.delivery import Format, Intent, Message
from postroom.testing.case import HeldFiles

FILES = HeldFiles()
PNG = b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\rIHDR" + (200).to_bytes(4, "big") * 2 + b"pixels"
TALL = b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\rIHDR" + (10).to_bytes(4, "big") + (9999).to_bytes(4, "big")
PICTURE = FILES.hold('Größe "neu".png', PNG, "image/png")
PAGE = FILES.hold("page.html", b"<script>alert(1)</script>", "text/html")
PLACES = {"telegram": "1000", "email": "ada@example.org", "slack": "U1000", "discord": "user:2001", "ntfy": "anna"}
each_channel = pytest.mark.parametrize("name", PLACES)


@pytest_asyncio.fixture
async def sandbox() -> AsyncIterator[Fakes]:
    async with serve() as running:
        yield running


def made(sandbox: Fakes, name: str) -> Channel:
    url = sandbox.bot_api_url
    match name:
        case "telegram":
            return Telegram("1:a", url, files=FILES)
        case "email":
            return Email("127.0.0.1", sandbox.smtp_port, "none", None, None, "us@example.org", files=FILES)
        case "slack":
            return Slack("slack", "xoxb-1", api_base_url=f"{url}/api", files=FILES)
        case "discord":
            return Discord("discord", "a.b.c", f"{url}/api/v10", files=FILES)
        case _:
            return Ntfy("ntfy", f"{url}/ntfy", files=FILES)


async def send(sandbox: Fakes, name: str, *files: Any, text: str = "the report", format: Format = Format.PLAIN) -> None:
    channel = made(sandbox, name)
    message = Message(
        delivery_id=DeliveryId("0198c0de"),
        intent=Intent.SEND,
        address=PLACES[name],
        text=text,
        format=format,
        attachments=files,
    )
    try:
        for part in channel.prepare(message):
            await channel.send(part, 10.0)
    finally:
        await channel.close()


async def get(sandbox: Fakes, path: str) -> tuple[int, Any, Any]:
    async with aiohttp.ClientSession() as http, http.get(f"{sandbox.bot_api_url}{path}") as response:
        is_json = response.content_type == "application/json"
        return response.status, await response.json() if is_json else await response.read(), response.headers


async def attachments(sandbox: Fakes, name: str) -> list[dict[str, Any]]:
    _, told, _ = await get(sandbox, f"/sandbox/{name}/messages")
    return [file for message in told["messages"] for file in message["attachments"]]


@pytest.mark.requirement("content:sandbox-files")
@each_channel
async def test_what_a_channel_sends_is_listed_with_its_hash_and_can_be_fetched(sandbox: Fakes, name: str) -> None:
    await send(sandbox, name, PICTURE, PAGE)

    listed = await attachments(sandbox, name)
    assert [(one["name"], one["size"], one["sha256"]) for one in listed] == [
        (file.name, file.size, file.sha256) for file in (PICTURE, PAGE)
    ]
    assert listed[0].keys() == {"name", "media_type", "size", "sha256"}
    assert listed[0]["media_type"] == "image/png"
    status, content, headers = await get(sandbox, f"/sandbox/files/{PICTURE.sha256}")
    assert (status, content, headers["Content-Type"]) == (200, PNG, "image/png")
    _, page, headers = await get(sandbox, f"/sandbox/files/{PAGE.sha256}")
    assert hashlib.sha256(page).hexdigest() == PAGE.sha256
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"] == "attachment"


async def test_the_phone_shows_the_looks_of_a_caption(sandbox: Fakes) -> None:
    await send(sandbox, "telegram", PICTURE, text="the **report**", format=Format.MARKDOWN)

    _, told, _ = await get(sandbox, "/sandbox/telegram/messages")

    [message] = told["messages"]
    assert (message["text"], message["entities"]) == ("the report", [{"type": "bold", "offset": 4, "length": 6}])


@pytest.mark.parametrize("name", ["telegram", "email"])
async def test_the_page_shows_names_as_text_and_pictures_as_pictures(sandbox: Fakes, name: str) -> None:
    await send(sandbox, name, PICTURE, FILES.hold("<b>.txt", b"x"))

    _, page, _ = await get(sandbox, "/sandbox/")

    assert f'<img src="/sandbox/files/{PICTURE.sha256}"'.encode() in page
    assert "Größe &#34;neu&#34;.png".encode() in page
    assert b"<b>.txt" not in page


@pytest.mark.parametrize("name", ["telegram", "discord", "slack", "ntfy"])
async def test_a_cut_after_keeping_leaves_doubt_and_the_file(sandbox: Fakes, name: str) -> None:
    channel = made(sandbox, name)
    message = Message(
        delivery_id=DeliveryId("0198c0de"),
        intent=Intent.SEND,
        address=PLACES[name],
        text="the report",
        attachments=(PAGE,),
    )
    *before, last = channel.prepare(message)
    for part in before:
        await channel.send(part, 10.0)
    async with aiohttp.ClientSession() as http:
        fault = {"channel": name, "mode": "accept_then_cut"}
        await http.post(f"{sandbox.bot_api_url}/sandbox/faults", json=fault)
    with pytest.raises(OutcomeUncertain):
        await channel.send(last, 10.0)
    await channel.close()

    assert [one["sha256"] for one in await attachments(sandbox, name)] == [PAGE.sha256]


async def test_a_picture_of_odd_dimensions_arrives_as_a_document(sandbox: Fakes) -> None:
    await send(sandbox, "telegram", FILES.hold("tall.png", TALL, "image/png"))

    assert [one["name"] for one in await attachments(sandbox, "telegram")] == ["tall.png"]


async def test_a_bot_can_get_a_file_back_by_its_id(sandbox: Fakes) -> None:
    await send(sandbox, "telegram", PICTURE)
    file_id = f"sandbox-file-{PICTURE.sha256}"

    _, told, _ = await get(sandbox, f"/bot1:a/getFile?file_id={file_id}")
    status, content, _ = await get(sandbox, f"/file/bot1:a/{told['result']['file_path']}")

    assert (status, content) == (200, PNG)
    assert (await get(sandbox, "/bot1:a/getFile?file_id=other"))[0] == 400
    assert (await get(sandbox, "/file/bot1:a/documents/none"))[0] == 404
    assert (await get(sandbox, "/file/botno/documents/none"))[0] == 401
