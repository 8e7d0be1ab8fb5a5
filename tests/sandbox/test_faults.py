"""Faults: the same on the phone and in the mail, as often as was asked, and refused with every wrong field named."""

from __future__ import annotations

import asyncio
import smtplib
from typing import Any

import aiohttp
import pytest
from tests.patience import PATIENCE_SECONDS
from tests.sandbox.client import Client, letter
from tests.sandbox.hand_clock import HandClock

CUT = (aiohttp.ClientConnectionError, smtplib.SMTPServerDisconnected, ConnectionError)
each_service = pytest.mark.parametrize("channel", ["telegram", "email"])


async def send(client: Client, channel: str, words: str) -> None:
    if channel == "email":
        await client.mail(letter(words))
    else:
        assert (await client.bot("sendMessage", chat_id=42, text=words))["ok"]


async def kept(client: Client, channel: str) -> list[str]:
    return [mail["subject"] for mail in await client.mails()] if channel == "email" else await client.texts()


@each_service
async def test_a_cut_after_acceptance_leaves_the_message_and_no_answer(client: Client, channel: str) -> None:
    await client.arm(channel=channel, mode="accept_then_cut")

    with pytest.raises(CUT):
        await send(client, channel, "kept")

    assert await kept(client, channel) == ["kept"]


@each_service
async def test_a_refused_connection_keeps_nothing_and_the_next_is_taken(client: Client, channel: str) -> None:
    await client.arm(channel=channel, mode="refuse")

    with pytest.raises(CUT):
        await send(client, channel, "lost")
    await send(client, channel, "again")

    assert await kept(client, channel) == ["again"]


@each_service
async def test_a_hanging_call_keeps_nothing_and_is_cut_after_two_minutes(
    client: Client, clock: HandClock, channel: str
) -> None:
    await client.arm(channel=channel, mode="hang")
    call = asyncio.create_task(send(client, channel, "lost"))
    await clock.someone_waits()

    await clock.turn(119)
    assert not call.done()
    await clock.turn(1)

    with pytest.raises(CUT):
        await asyncio.wait_for(call, PATIENCE_SECONDS)
    assert await kept(client, channel) == []


@each_service
async def test_a_delayed_call_keeps_the_message_at_once_and_answers_later(
    client: Client, clock: HandClock, channel: str
) -> None:
    await client.arm(channel=channel, delay_seconds=20)
    call = asyncio.create_task(send(client, channel, "slow"))
    await clock.someone_waits()
    assert await kept(client, channel) == ["slow"]

    await clock.turn(19)
    assert not call.done()
    await clock.turn(1)

    await asyncio.wait_for(call, PATIENCE_SECONDS)


async def test_each_service_meets_its_faults_in_order_and_each_as_often_as_asked(client: Client) -> None:
    for fault in ({"status": 500, "times": 2}, {"status": 403}):
        await client.arm(channel="telegram", **fault)
    await client.arm(channel="email", status=503)

    assert (await client.bot("getMe"))["ok"] and (await client.bot("getUpdates"))["ok"]  # they send nothing
    met = [(await client.bot("sendMessage", chat_id=42, text="x"))["http_status"] for _ in range(4)]

    assert met == [500, 500, 403, 200]
    assert (await client.get("/sandbox/faults"))["faults"] == [{"channel": "email", "times": 1, "status": 503}]


async def test_a_fault_until_cleared_is_never_used_up(client: Client) -> None:
    first = {"channel": "telegram", "times": -1, "status": 500}
    second = {"channel": "email", "times": 2, "mode": "hang"}
    await client.post("/sandbox/faults", first)
    armed = await client.post("/sandbox/faults", second | {"status": None})

    met = [(await client.bot("sendMessage", chat_id=42, text="x"))["http_status"] for _ in range(3)]

    assert met == [500] * 3
    assert armed["faults"] == (await client.get("/sandbox/faults"))["faults"] == [first, second]
    assert (await client.delete("/sandbox/faults"))["cleared"] == 2
    assert (await client.get("/sandbox/faults"))["faults"] == []
    await send(client, "telegram", "x")


WRONG: list[tuple[Any, set[str]]] = [
    ({}, {"channel", "body"}),
    ([1], {"channel", "body"}),
    ({"channel": "sms", "status": 200, "times": 0}, {"channel", "status", "times"}),
    ({"channel": "email", "status": 503, "mode": "hang"}, {"mode"}),
    ({"channel": "email", "mode": "explode"}, {"mode"}),
    ({"channel": "email", "mode": "hang", "retry_after": 1}, {"retry_after"}),
    ({"channel": "email", "status": 503, "chanel": "x"}, {"chanel"}),
    ({"channel": "email", "status": 503, "times": -2}, {"times"}),
    ({"channel": "email", "status": 503, "times": True}, {"times"}),
    ({"channel": "email", "status": "503"}, {"status"}),
    ({"channel": "email", "delay_seconds": 0}, {"delay_seconds"}),
    ({"channel": "email", "delay_seconds": float("nan")}, {"delay_seconds"}),
]


async def test_every_wrong_field_of_a_fault_is_named(client: Client) -> None:
    for payload, wrong in WRONG:
        answer = await client.post("/sandbox/faults", payload)

        assert (answer["http_status"], {one["field"] for one in answer["error"]["fields"]}) == (422, wrong), payload
    assert (await client.get("/sandbox/faults"))["faults"] == []
