"""A household asks its channel after a doubtful call, and keeps what the channel says of a message later."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from postroom.channels.apprise.channel import AppriseService
from postroom.household.wiring.delivery import ledger_view
from postroom.kernel.values.errors import OutcomeUncertain
from postroom.message.channel import Capabilities
from postroom.message.delivery import REPEAT_MARK, Message, Receipt
from postroom.message.inbound import LateNews, Listened, NewsKind
from postroom.overview.commands import timeline
from tests.household.living import QUICK, Living, living
from tests.contract.bot_api import BotApi, raw_reply
from tests.patience import PATIENCE_SECONDS

SETTINGS: dict[str, Any] = {
    "channels": {"parrot": {"factory": f"{__name__}:Parrot"}},
    "approvals": {"enabled": False},
}
KEPT: list[Message] = []


class Parrot:
    """Keeps a message, cuts the line, knows of it when it is asked, and tells later that it bounced."""

    name = "parrot"
    capabilities = Capabilities(reconciles=True, inbound=True)

    def address(self, text: str) -> str | None:
        return text

    def prepare(self, message: Message) -> Sequence[Message]:
        return (message,)

    async def send(self, part: Message, timeout_seconds: float) -> Receipt:
        KEPT.append(part)
        raise OutcomeUncertain("the line was cut")

    async def find(self, part: Message, since: datetime, timeout_seconds: float) -> Receipt | None:
        return next((Receipt("m1", conversation="D1") for one in KEPT if one.delivery_id == part.delivery_id), None)

    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        if position or not KEPT:
            await asyncio.sleep(0.01)
            return Listened()
        news = LateNews(
            channel=self.name,
            event_id="bounce-1",
            kind=NewsKind.BOUNCED,
            at_us=1,
            words="the cage is full",
            delivery_id=KEPT[0].delivery_id,
        )
        return Listened(events=[news], position=1)

    async def close(self) -> None:
        """Nothing is open."""


@pytest.mark.requirement("chan:ask-first", "chan:asking-is-told", "chan:late-news")
async def test_what_was_cut_off_is_found_and_its_news_is_shown(home: Path) -> None:
    KEPT.clear()
    async with living(home, QUICK, SETTINGS) as household:
        answer = await household.notify(channel="parrot", recipient="cage", message="Hello")
        story = await told(household, answer["delivery"]["delivery_id"])

    assert (answer["status"], answer["delivery"].get("possible_duplicate")) == ("ok", None)
    assert len(KEPT) == 1
    assert any("We asked parrot whether it had arrived: it was there." in line for line in story)
    assert any("The provider said that it bounced: the cage is full" in line for line in story)


def pager(name: str, url: str) -> AppriseService:
    return AppriseService(name, url, allow_private=True)


@pytest.mark.requirement("house:apprise-evidence")
async def test_what_apprise_reports_as_failed_is_sent_again_as_perhaps_repeated(home: Path) -> None:
    async with BotApi() as server:
        server.behave(raw_reply(401, b"no"), raw_reply(200, b"{}"))
        options = {"name": "pager", "url": f"json://127.0.0.1:{server.port}/"}
        own = {"channels": {"pager": {"factory": f"{__name__}:pager", "options": options}}}
        async with living(home, QUICK, own, {"approvals": {"enabled": False}}) as household:
            answer = await household.notify(channel="pager", recipient="-", message="The backup failed")

        texts = [request.body["message"] for request in server.requests]
    assert texts == ["The backup failed", f"The backup failed\n\n{REPEAT_MARK}"]
    assert (answer["status"], answer["delivery"]["possible_duplicate"]) == ("ok", True)


async def told(household: Living, delivery_id: str) -> list[str]:
    """Once the news is there."""
    async with asyncio.timeout(PATIENCE_SECONDS), ledger_view(household.settings) as view:
        while True:
            found = await view.trace(delivery_id)
            if found["deliveries"][0]["news"]:
                return timeline(found, "UTC")
            await asyncio.sleep(0.02)
