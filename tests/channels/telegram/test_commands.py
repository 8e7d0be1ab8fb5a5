"""Who wrote to the bot: people in chats of their own, by a name that is safe to show."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clock import FakeClock
from tests.contract.bot_api import BotApi, refused

from postroom.channels.telegram.channel import Telegram
from postroom.channels.telegram.commands import BotTaken, Sender, new_senders, senders, with_owner_chat

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


LINE = 'telegram_chat_id = "42"'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("", f"[owner]\n{LINE}\n", id="nothing"),
        pytest.param("# mine\n", f"# mine\n\n[owner]\n{LINE}\n", id="a comment"),
        pytest.param('host = "::1"', f'host = "::1"\n\n[owner]\n{LINE}\n', id="no last line end"),
        pytest.param(
            '[owner] # me\nname = "Ada"\n\n[ports]\napi = 1\n',
            f'[owner] # me\n{LINE}\nname = "Ada"\n\n[ports]\napi = 1\n',
            id="an owner without a chat",
        ),
        pytest.param(
            '[owner]\ntelegram_chat_id   =  "7"  # old\n', '[owner]\ntelegram_chat_id   =  "42"  # old\n', id="another"
        ),
        pytest.param("[owner]\ntelegram_chat_id = -7\n", f"[owner]\n{LINE}\n", id="a number"),
        pytest.param("[owner]\r\n[ports]\r\napi = 1\r\n", f"[owner]\r\n{LINE}\r\n[ports]\r\napi = 1\r\n", id="CRLF"),
        pytest.param("[owner]\n# telegram_chat_id = 1\n", f"[owner]\n{LINE}\n# telegram_chat_id = 1\n", id="commented"),
        pytest.param(
            '[[contacts]]\nname = "Bob"\ntelegram_chat_id = "9"\n',
            f'[[contacts]]\nname = "Bob"\ntelegram_chat_id = "9"\n\n[owner]\n{LINE}\n',
            id="somebody else's",
        ),
    ],
)
def test_only_the_one_line_changes(before: str, after: str) -> None:
    assert with_owner_chat(before, "42") == after


@pytest.mark.parametrize(
    "text",
    [
        'owner = {name = "Ada"}\n',
        'owner.name = "Ada"\n',
        "owner = 5\n",
        "not toml",
        '[owner]\ntelegram_chat_id = """7"""\n',
        'note = """\n[owner]\n"""\n',
    ],
)
def test_a_file_that_only_a_person_should_change_is_left_alone(text: str) -> None:
    assert with_owner_chat(text, "42") is None


@given(st.text(alphabet='[]owner = "\n#\ttelegram_chat_id7', max_size=60))
def test_whatever_stands_in_the_file_nothing_else_changes(text: str) -> None:
    after = with_owner_chat(text, "42")

    if after is not None:
        wanted = tomllib.loads(text)
        wanted.setdefault("owner", {})["telegram_chat_id"] = "42"
        assert tomllib.loads(after) == wanted
