from __future__ import annotations

import asyncio
import json

import pytest
from tests.contract.bot_api import BotApi, Trouble, accepted, reply
from tests.contract.connection import Listener
from tests.contract.pieces import Piecemeal

from postroom.domain.errors import DeliveryTimeout, OutcomeUncertain, TargetUnavailable
from postroom.world.http.http_call import HttpCall


class Silence(Listener):
    """Accepts connections and says nothing, not even a TLS handshake."""

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.hang()


async def test_a_tls_handshake_that_never_ends_is_not_sent() -> None:
    call = HttpCall("The service")
    async with Silence() as server:
        with pytest.raises(DeliveryTimeout):
            await call.post(f"https://127.0.0.1:{server.port}/x", {}, 0.2)
    await call.close()

    assert server.connections == 1


async def test_a_tls_handshake_that_is_cut_is_not_sent() -> None:
    call = HttpCall("The service")
    async with BotApi() as server:
        server.behave(Trouble.RESET_BEFORE_READING)
        with pytest.raises(TargetUnavailable):
            await call.post(f"https://127.0.0.1:{server.port}/x", {}, 5.0)
    await call.close()

    assert server.taken == 0


@pytest.mark.parametrize("piece_bytes", [1, 90], ids=["byte by byte", "head and body apart"])
async def test_an_answer_that_arrives_in_pieces_is_read_whole(piece_bytes: int) -> None:
    call, document = HttpCall("The service"), {"words": "word " * 50}
    async with Piecemeal(document, piece_bytes=piece_bytes) as server:
        answer = await call.post(server.url, {}, 5.0)
    await call.close()

    assert json.loads(answer.body) == document


async def test_a_name_that_does_not_resolve_is_not_sent() -> None:
    call = HttpCall("The service")
    with pytest.raises((TargetUnavailable, DeliveryTimeout)):
        await call.post("http://nowhere.invalid/x", {}, 5.0)
    await call.close()


async def test_a_connection_is_reused() -> None:
    call = HttpCall("The service")
    async with BotApi() as server:
        for _ in range(3):
            await call.post(server.url, {}, 5.0)
        await call.close()

    assert (server.connections, server.taken) == (1, 3)


async def test_a_connection_the_server_closed_in_between_is_replaced() -> None:
    call = HttpCall("The service")
    async with BotApi() as server:
        closing = reply(200, {}, headers="Connection: close\r\n", close=True)
        server.behave(closing, accepted())
        await call.post(server.url, {}, 5.0)
        answer = await call.post(server.url, {}, 5.0)
        await call.close()

    assert answer.status == 200
    assert (server.connections, server.taken) == (2, 2)


async def test_a_reused_connection_that_is_cut_is_never_tried_again_behind_our_back() -> None:
    call = HttpCall("The service")
    async with BotApi() as server:
        server.behave(accepted(), Trouble.READ_THEN_RESET)
        await call.post(server.url, {}, 5.0)
        with pytest.raises(OutcomeUncertain):
            await call.post(server.url, {}, 5.0)
        await call.close()

    assert (server.connections, server.taken) == (1, 2)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_no_method_is_repeated_behind_our_back(method: str) -> None:
    call = HttpCall("The service")
    async with BotApi() as server:
        server.behave(accepted(), Trouble.READ_THEN_RESET)
        await call.request(method, server.url, 5.0)
        with pytest.raises(OutcomeUncertain):
            await call.request(method, server.url, 5.0, headers={"Authorization": "Bearer x"})
        await call.close()

    assert (server.connections, server.taken) == (1, 2)


async def test_the_headers_of_an_answer_are_found_by_any_spelling() -> None:
    call = HttpCall("The service")
    async with BotApi() as server:
        server.behave(reply(429, {}, headers="X-RateLimit-Reset-After: 1.5\r\nretry-after: 2\r\n"))
        answer = await call.request("PUT", server.url, 5.0, body=b"{}")
        await call.close()

    assert (answer.headers["x-ratelimit-reset-after"], answer.retry_after) == ("1.5", "2")


async def test_a_redirect_is_not_followed() -> None:
    call = HttpCall("The service")
    async with BotApi() as elsewhere, BotApi() as server:
        server.behave(reply(307, {}, headers=f"Location: {elsewhere.url}/\r\n"))
        answer = await call.post(server.url, {}, 5.0)
        await call.close()

    assert (answer.status, elsewhere.taken) == (307, 0)


async def test_an_endless_answer_is_cut() -> None:
    call = HttpCall("The service")
    async with BotApi() as server:
        server.behave(reply(200, "x" * 9_000_000))
        answer = await call.post(server.url, {}, 10.0)
        await call.close()

    assert len(answer.body) < 9_000_000
