"""Who wrote to the bot: people in chats of their own, by a name that is safe to show."""

from __future__ import annotations

from typing import Any

import pytest
from tests.clock import FakeClock
from tests.contract.bot_api import BotApi, refused

from postroom.channels.telegram.channel import Telegram
from postroom.people.bot_senders import BotTaken, Sender, new_senders, senders

ADA = {"id": 7, "is_bot": False, "first_name": "Ada", "last_name": "L", "username": "ada"}


def update(number: int = 1, *, chat: Any = None, person: Any = None) -> dict[str, Any]:
    message = {"message_id": 1, "text": "hi", "chat": chat or {"id": 7, "type": "private"}, "from": person or ADA}
    return {"update_id": number, "message": message}


def named(name: str) -> Sender:
    return Sender(chat_id="7", name=name)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param([update()], [named("Ada L @ada")], id="a person"),
        pytest.param([update(), update(2)], [named("Ada L @ada")], id="the same twice"),
        pytest.param([update(chat={"id": -5, "type": "group"})], [], id="a group"),
        pytest.param([update(person={**ADA, "is_bot": True})], [], id="a bot"),
        pytest.param([{"update_id": 1}, {"message": "x"}, {"message": {"chat": 3}}], [], id="nonsense"),
        pytest.param(
            [update(person={"first_name": "\x1b[2J\u202eadA\n"})],
            [named("[2JadA")],
            id="a trick",
        ),
        pytest.param([update(person={"first_name": "\n"})], [named("somebody")], id="no name"),
    ],
)
def test_people_in_a_chat_of_their_own_are_offered(found: list[dict[str, Any]], expected: list[Sender]) -> None:
    assert senders(found) == expected


class Bot(Telegram):
    """Answers with batches, and lets the time pass that it was asked to wait."""

    def __init__(self, clock: FakeClock, *batches: list[dict[str, Any]]) -> None:
        super().__init__("4242:canary", "http://127.0.0.1:9")
        self.clock, self.batches, self.offsets = clock, list(batches), list[int | None]()

    async def updates(self, offset: int | None, timeout_seconds: float) -> list[dict[str, Any]]:
        self.offsets.append(offset)
        if not self.batches:
            await self.clock.advance(timeout_seconds)
            return []
        return self.batches.pop(0)


async def test_everybody_is_offered_once_until_the_time_is_over(clock: FakeClock) -> None:
    bob = update(2, chat={"id": 8, "type": "private"}, person={"id": 8, "first_name": "Bob"})
    bot = Bot(clock, [update(1)], [update(1), bob], [])

    offered = [[one.name for one in found] async for found in new_senders(bot, clock, 60)]

    assert offered == [["Ada L @ada"], ["Bob"]]
    assert bot.offsets[:3] == [None, 2, 3]


async def test_another_reader_of_the_same_bot_is_named(clock: FakeClock) -> None:
    provider = BotApi()
    async with provider:
        provider.behave(refused(409, "Conflict: terminated by other getUpdates request"))
        bot = Telegram("4242:canary", provider.url)
        with pytest.raises(BotTaken, match="stop the household"):
            _ = [found async for found in new_senders(bot, clock, 1)]
        await bot.close()
