"""The sandbox brings updates as Telegram does: with the secret, until they are taken, never beside polling."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from tests.patience import PATIENCE_SECONDS
from tests.programs.sandbox.client import Client
from tests.programs.sandbox.conftest import Start

from postroom.programs.sandbox.bot_webhook import SECRET_HEADER
from postroom.programs.sandbox.server import Sandbox, SandboxOptions


class Taker:
    """A bot's own server: answers with these statuses, the last one again and again."""

    def __init__(self) -> None:
        self.statuses = [200]
        self.came: list[tuple[str | None, dict[str, Any]]] = []
        self.news = asyncio.Condition()
        self.url = ""

    async def take(self, request: web.Request) -> web.Response:
        async with self.news:
            self.came.append((request.headers.get(SECRET_HEADER), await request.json()))
            self.news.notify_all()
        return web.Response(status=self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0])

    async def until(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS), self.news:
            await self.news.wait_for(lambda: len(self.came) >= count)


@pytest.fixture
async def taker() -> AsyncIterator[Taker]:
    taker, app = Taker(), web.Application()
    app.router.add_post("/hook", taker.take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    taker.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    yield taker
    await runner.cleanup()


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Sandbox(SandboxOptions()) as sandbox, aiohttp.ClientSession(sandbox.bot_api_url) as http:
        yield Client(sandbox, http)


async def write(client: Client, text: str) -> None:
    async with client.http.post("/sandbox/telegram/inbound", json={"chat_id": 42, "text": text}) as answer:
        assert answer.status == 200


async def test_updates_are_brought_in_order_and_again_until_they_are_taken(client: Client, taker: Taker) -> None:
    taker.statuses = [500, 200]
    await write(client, "before")
    await client.bot("setWebhook", url=taker.url, secret_token="s3cret", allowed_updates=["message"])
    await write(client, "after")

    await taker.until(3)

    assert [one[1]["message"]["text"] for one in taker.came] == ["before", "before", "after"]
    assert {one[0] for one in taker.came} == {"s3cret"}
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (info := (await client.bot("getWebhookInfo"))["result"])["pending_update_count"]:
            await asyncio.sleep(0.01)
    assert info["last_error_message"] == "Wrong response from the webhook: 500 Internal Server Error"


async def test_a_webhook_ends_polling_until_it_is_deleted(client: Client, taker: Taker) -> None:
    waiting = asyncio.create_task(client.bot("getUpdates", timeout=30))
    await client.bot("setWebhook", url=taker.url)

    assert (await waiting)["error_code"] == 409
    assert (await client.bot("getUpdates"))["error_code"] == 409
    await client.bot("deleteWebhook")
    assert (await client.bot("getUpdates"))["result"] == []


@pytest.mark.parametrize(
    "given",
    [{"url": "https://example.org"}, {"url": "nonsense"}, {"url": "http://127.0.0.1:1/", "secret_token": "a b"}],
)
async def test_what_telegram_or_a_sandbox_would_not_do_is_refused(client: Client, given: dict[str, str]) -> None:
    assert (await client.bot("setWebhook", **given))["error_code"] == 400
    assert (await client.bot("getWebhookInfo"))["result"]["url"] == ""


async def test_pending_updates_are_dropped_when_that_is_asked_for(start: Start) -> None:
    client = await start()
    await write(client, "old")

    await client.bot("deleteWebhook", drop_pending_updates=True)

    assert (await client.bot("getWebhookInfo"))["result"]["pending_update_count"] == 0
