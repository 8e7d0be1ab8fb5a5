"""The household was down when the deadline passed; what a person had written in time is read before anything ends."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import aiohttp
import pytest

from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.ids import seconds
from postroom.questions.model import PresentationStatus, QuestionStatus
from postroom.sandbox.server import serve
from tests.household.asked_household import HEALTH, OWNER_CHAT, SECONDS, ask, parts, shown
from tests.household.living import LIFTED, QUICK, living
from tests.household.test_two_accounts import REAL, Phone

HOUR_US = seconds(3600)


class AnHourAgo(SystemClock):
    """Of a provider that says when something was written."""

    def now_us(self) -> int:
        return super().now_us() - HOUR_US


@pytest.mark.requirement("ask:sent-in-time")
@pytest.mark.parametrize(("written", "status"), [(True, QuestionStatus.ANSWERED), (False, QuestionStatus.EXPIRED)])
async def test_a_reply_that_was_written_in_time_is_the_answer(
    home: Path, written: bool, status: QuestionStatus
) -> None:
    async with serve(token="1:home", clock=AnHourAgo()) as provider:
        account = {"telegram": {"token": "1:home", "api_base_url": provider.bot_api_url}}
        async with living(home, LIFTED, QUICK, REAL, account) as before:
            view = await ask(before, deadline_seconds=3600, default="no")
            card = await Phone(before, provider).shows("Ship it?")
            await shown(before, view, PresentationStatus.SHOWN)
        with sqlite3.connect(home / "postroom.db") as connection:  # asked two hours ago, and over for half an hour
            moved = (
                "UPDATE questions SET created_at = created_at - ?, expires_at = expires_at - ?, next_at = next_at - ?"
            )
            connection.execute(moved, (2 * HOUR_US, 3 * HOUR_US // 2, 3 * HOUR_US // 2))
        if written:
            async with aiohttp.ClientSession() as http:
                said = {"chat_id": OWNER_CHAT, "text": "yes", "reply_to_message_id": card["message_id"]}
                await http.post(f"{provider.bot_api_url}/sandbox/telegram/inbound", json=said)

        async with living(home, LIFTED, QUICK, REAL, account) as after:
            ended = await parts(after).asking.wait(HEALTH, ask_id=view.question.id, wait_seconds=SECONDS)

    assert ended.question.status is status
    assert ended.question.answer is not None and ended.question.answer.value == ("yes" if written else "no")
