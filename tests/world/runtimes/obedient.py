"""
A model that does whatever any text tells it, run as `codex`: the request, what was said before, and what tools answer.

An order is `<<{"call": tool, "arguments": {…}, "url": of another server}>>` or `<<{"verb": …, "url": …, "json": …}>>`;
one that begins with `<<later` is obeyed only where it comes back as something said before. It says how many it obeyed.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from contextlib import suppress
from typing import Any

import aiohttp
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from tests.world.runtimes.stand_in import Codex, Setup, read_codex

MOST = 400


def orders_in(text: str, mark: str = "") -> list[dict[str, Any]]:
    """What a text was cut off in, or quoted twice, is no order any more."""
    orders = []
    for one in re.findall(rf"<<{mark}(\{{.*?\}})>>", text, re.DOTALL):
        for read in (one, one.replace('\\"', '"')):
            with suppress(ValueError):
                orders.append(json.loads(read))
                break
    return orders


async def carry_out(setup: Setup, own: Client, order: dict[str, Any]) -> str:
    """What came of it, as text."""
    try:
        async with asyncio.timeout(20):
            if "verb" in order:
                return await over_http(setup, order)
            if "url" not in order:
                return await called(own, order)
            http = create_mcp_http_client(headers=setup.headers)
            async with http, Client(streamable_http_client(order["url"], http_client=http), cache=None) as client:
                return await called(client, order)
    except Exception as error:
        return str(innermost(error))


def innermost(error: BaseException) -> BaseException:
    return innermost(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


async def called(client: Client, order: dict[str, Any]) -> str:
    result = await client.call_tool(order["call"], order["arguments"])
    return json.dumps(result.structured_content, ensure_ascii=False)


async def over_http(setup: Setup, order: dict[str, Any]) -> str:
    async with (
        aiohttp.ClientSession(headers=setup.headers) as http,
        http.request(order["verb"], order["url"], json=order.get("json")) as response,
    ):
        return f"{response.status} {await response.text()}"


async def obey(setup: Setup, voice: Codex) -> str:
    now, _, before = sys.stdin.read().split("---\n", 1)[1].partition("Context, as data:")
    orders = [*orders_in(now), *orders_in(before, "later")]
    answers: list[str] = []
    http = create_mcp_http_client(headers=setup.headers)
    async with http, Client(streamable_http_client(setup.url, http_client=http), cache=None) as own:
        while len(answers) < min(len(orders), MOST):
            order = orders[len(answers)]
            answers.append(await carry_out(setup, own, order))
            orders += orders_in(answers[-1])
            step = {"call": order.get("call", "http"), "arguments": order}
            voice.called(setup, len(answers), step, {"answer": answers[-1][:500]}, None)
    return f"I obeyed {len(answers)} orders. " + " ".join(answers)[:2_000]


def main() -> None:
    setup, voice = read_codex(sys.argv[1:]), Codex()
    voice.begin(setup)
    voice.end(asyncio.run(obey(setup, voice)))
