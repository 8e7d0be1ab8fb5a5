"""The channel and the sandbox's ntfy server, over real sockets: sent, repeated, edited, cut off and found."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest
from tests.channels.given import message_to, post
from tests.fakes.server import Fakes

from postroom.channels.ntfy.channel import Ntfy
from postroom.kernel.values.errors import OutcomeUncertain, ProviderThrottled
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Receipt
from postroom.message.markup import Button, Markup, Revision


@pytest.fixture
async def ntfy(sandbox: Fakes) -> AsyncIterator[Ntfy]:
    channel = Ntfy("ntfy", f"{sandbox.bot_api_url}/ntfy", "tk_sandbox", "answers")
    yield channel
    await channel.close()


async def send(ntfy: Ntfy, **changes: Any) -> list[Receipt]:
    return [await ntfy.send(part, 5.0) for part in ntfy.prepare(message_to("anna", **changes))]


async def on_the_phone(sandbox: Fakes, topic: str = "anna") -> list[dict[str, Any]]:
    url = f"{sandbox.bot_api_url}/sandbox/ntfy/messages?place={topic}"
    async with aiohttp.ClientSession() as http, http.get(url) as answer:
        return [one for one in (await answer.json())["messages"] if not one["deleted"]]


def a_minute_ago() -> datetime:
    return datetime.now(UTC) - timedelta(seconds=60)


@pytest.mark.requirement("house:ntfy-one-name")
async def test_a_message_is_shown_with_its_title_and_a_second_copy_of_it_replaces_it(
    sandbox: Fakes, ntfy: Ntfy
) -> None:
    await send(ntfy, subject="Kitchen")
    await send(ntfy, subject="Kitchen", repeated=True)

    [shown] = await on_the_phone(sandbox)
    assert shown["text"] == "Ship it?\n\n(possibly repeated)"
    assert (shown["body"]["title"], shown["body"]["priority"]) == ("Kitchen", 3)


async def test_an_edit_takes_the_place_of_every_part(sandbox: Fakes, ntfy: Ntfy) -> None:
    receipts = await send(ntfy, text="word " * 1500, markup=Markup(buttons=((Button(label="Yes", token="t0ken"),),)))
    revises = Revision(delivery_id=DeliveryId("d1"), provider_ids=tuple(one.provider_id for one in receipts))
    for _ in range(2):
        await send(ntfy, text="Closed", delivery_id=DeliveryId("d2"), revises=revises)

    shown = await on_the_phone(sandbox)
    assert [one["text"] for one in shown] == ["Closed"]
    assert not any(one["buttons"] for one in shown)


@pytest.mark.requirement("house:ntfy-certain-after-a-cut")
async def test_what_was_cut_off_after_it_was_taken_is_found_and_what_was_not_taken_is_not(
    sandbox: Fakes, ntfy: Ntfy
) -> None:
    [part] = ntfy.prepare(message_to("anna"))
    for mode in ("refuse", "accept_then_cut"):
        await post(sandbox, "faults", {"channel": "ntfy", "mode": mode})
        with pytest.raises(OutcomeUncertain):
            await ntfy.send(part, 5.0)
        found = await ntfy.find(part, a_minute_ago(), 5.0)
        arrived = [Receipt(one["message_id"]) for one in await on_the_phone(sandbox)]
        assert arrived == ([] if found is None else [found])
        assert (found is None) is (mode == "refuse")


@pytest.mark.requirement("house:ntfy-daily-quota")
async def test_a_daily_quota_is_a_matter_of_the_day(sandbox: Fakes) -> None:
    evening = datetime(2026, 3, 1, 20, 0, tzinfo=UTC)
    ntfy = Ntfy("ntfy", f"{sandbox.bot_api_url}/ntfy", now=lambda: evening)
    await post(sandbox, "faults", {"channel": "ntfy", "status": 429, "retry_after": 86_400})
    with pytest.raises(ProviderThrottled, match="quota") as caught:
        await send(ntfy)
    await ntfy.close()
    assert caught.value.retry_after_seconds == 4 * 3600
