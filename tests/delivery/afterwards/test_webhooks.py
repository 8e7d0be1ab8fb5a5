"""News reach a subscriber as one POST, of whose answer only the status counts."""

from __future__ import annotations

import pytest
from aiohttp import web
from tests.contract.pieces import Piecemeal

from postroom.delivery.afterwards.webhooks import WebhookPost
from postroom.kernel.values.errors import TargetUnavailable


async def test_a_notice_is_posted_and_a_redirect_is_not_followed(free_port: int) -> None:
    heard: list[tuple[str, bytes]] = []

    async def hook(request: web.Request) -> web.Response:
        heard.append((request.path, await request.read()))
        moved = request.path == "/moved"
        return web.Response(status=302, headers={"Location": "/elsewhere"}) if moved else web.Response()

    application = web.Application()
    application.router.add_post("/{tail:.*}", hook)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", free_port).start()
    poster = WebhookPost()
    try:
        answers = [await poster.post(f"http://127.0.0.1:{free_port}{path}", b"{}", {}) for path in ("/hook", "/moved")]
    finally:
        await poster.close()
        await runner.cleanup()

    assert answers == [200, 302]
    assert heard == [("/hook", b"{}"), ("/moved", b"{}")]


async def test_the_status_is_read_from_an_answer_that_arrives_in_pieces() -> None:
    poster = WebhookPost()
    async with Piecemeal({"words": "word " * 50}, status=202, piece_bytes=1) as subscriber:
        assert [await poster.post(subscriber.url, b"{}", {}) for _ in range(2)] == [202, 202]
    await poster.close()


async def test_a_subscriber_that_cannot_be_reached_is_an_error_of_ours(free_port: int) -> None:
    poster = WebhookPost()
    with pytest.raises(TargetUnavailable):
        await poster.post(f"http://127.0.0.1:{free_port}/", b"{}", {})
    await poster.close()
