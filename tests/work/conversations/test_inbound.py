from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.system.counted import CountedLoops

from postroom.domain.errors import TargetUnavailable
from postroom.domain.time import seconds
from postroom.work.conversations.inbound import Inbound, telegram_replies


class Bot:
    def __init__(self, *batches: list[dict[str, Any]]) -> None:
        self.batches = list(batches)
        self.offsets: list[int | None] = []
        self.waited: list[float] = []
        self.broken = 0

    async def updates(self, offset: int | None, timeout_seconds: float) -> list[dict[str, Any]]:
        self.offsets.append(offset)
        self.waited.append(timeout_seconds)
        if self.broken:
            self.broken -= 1
            raise TargetUnavailable("away")
        return self.batches.pop(0) if self.batches else []


class Offsets:
    def __init__(self) -> None:
        self.saved: dict[str, int] = {}

    async def offset(self, source: str) -> int | None:
        return self.saved.get(source)

    async def save_offset(self, source: str, position: int) -> None:
        self.saved[source] = position


def reader(bot: Bot, seen: list[int], clock: FakeClock, mine: bool = True) -> Inbound:
    async def handle(update: Mapping[str, Any]) -> bool:
        seen.append(update["update_id"])
        return mine

    return Inbound(source="telegram", bot=bot, offsets=Offsets(), handlers=[handle, handle], clock=clock)


async def test_updates_are_handed_over_in_order_and_once(clock: FakeClock) -> None:
    bot, seen = Bot([{"update_id": 7}, {"update_id": 8}], [{"update_id": 9}]), list[int]()
    inbound = reader(bot, seen, clock)

    assert [await inbound.poll(0) for _ in range(3)] == [2, 1, 0]

    assert seen == [7, 8, 9]
    assert bot.offsets == [None, 9, 10]


async def test_an_update_that_is_nobodys_is_passed_over(clock: FakeClock) -> None:
    seen: list[int] = []

    await reader(Bot([{"update_id": 7}]), seen, clock, mine=False).poll(0)

    assert seen == [7, 7]


async def test_a_bot_that_is_away_is_asked_again_later(clock: FakeClock) -> None:
    bot, seen = Bot([{"update_id": 7}]), list[int]()
    bot.broken = 1
    inbound = reader(bot, seen, clock)

    assert await inbound.look() == clock.now_us() + seconds(5)
    assert seen == []
    assert await inbound.look() == clock.now_us()
    assert seen == [7]


async def test_numbers_that_jump_back_after_a_quiet_week_are_followed(clock: FakeClock) -> None:
    bot, seen = Bot([{"update_id": 900}], [{"update_id": 12}, {"update_id": 13}]), list[int]()
    inbound = reader(bot, seen, clock)

    for _ in range(3):
        await inbound.poll(0)

    assert seen == [900, 12, 13]
    assert bot.offsets == [None, 901, 14]


class Watch:
    def __init__(self) -> None:
        self.looks: list[tuple[str, int, bool]] = []

    async def patience(self, channel: str, longest_seconds: float) -> float:
        return 3.0

    async def looked(self, channel: str, began_us: int, *, everything: bool) -> None:
        self.looks.append((channel, began_us, everything))


async def test_the_watch_says_how_long_to_wait_and_hears_how_far_was_read(clock: FakeClock) -> None:
    full = [{"update_id": number} for number in range(100)]
    bot, watch = Bot(full, []), Watch()
    inbound = replace(reader(bot, [], clock), watch=watch)

    for _ in range(2):
        await inbound.look()

    assert watch.looks == [("telegram", clock.now_us(), False), ("telegram", clock.now_us(), True)]
    assert bot.waited == [3.0, 3.0]


ADA = {"id": 5, "is_bot": False, "first_name": "Ada"}


def written(**more: Any) -> dict[str, Any]:
    return {"message": {"text": "hi", "from": ADA, "chat": {"id": 5}, "reply_to_message": {"message_id": 3}, **more}}


@pytest.mark.parametrize(
    ("update", "addresses"),
    [
        ({}, []),
        ({"message": {"text": "hi", "from": ADA, "chat": {"id": 5}}}, []),
        ({"message": {"from": ADA, "chat": {"id": 5}, "reply_to_message": {"message_id": 3}}}, []),
        ({"message": "nonsense"}, []),
        (written(chat={"id": 5}), ["5"]),
        (written(chat={"id": -5, "username": "Chan"}), ["-5", "@chan"]),
    ],
)
def test_only_answers_to_messages_are_replies(update: dict[str, Any], addresses: list[str]) -> None:
    assert [(one.address, one.provider_id) for one in telegram_replies(update)] == [(one, "3") for one in addresses]


def test_the_sender_of_a_reply_is_who_wrote_it_and_not_the_chat() -> None:
    (reply,) = telegram_replies(written(chat={"id": -100}))

    assert (reply.address, reply.sender) == ("-100", "5")


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({"from": None}, id="nobody"),
        pytest.param({"from": {"id": "5", "is_bot": False}}, id="no number"),
        pytest.param({"from": {**ADA, "is_bot": True}}, id="a bot"),
        pytest.param({"from": {"id": 5}}, id="perhaps a bot"),
        pytest.param({"forward_origin": {"type": "user"}}, id="forwarded"),
        pytest.param({"forward_date": 1}, id="forwarded, in older words"),
        pytest.param({"is_automatic_forward": True}, id="forwarded from a channel"),
        pytest.param({"sender_chat": {"id": -5}}, id="an anonymous admin or a channel"),
        pytest.param({"via_bot": {"id": 7, "is_bot": True}}, id="through another bot"),
        pytest.param({"sender_business_bot": {"id": 7, "is_bot": True}}, id="a bot in somebody's name"),
    ],
)
def test_what_no_person_wrote_there_is_no_reply(how: dict[str, Any]) -> None:
    assert telegram_replies(written(**how)) == []


async def test_an_update_somebody_stumbles_over_holds_nobody_up(clock: FakeClock) -> None:
    bot, seen = Bot([{"update_id": 7, "message": "odd"}, {"update_id": 8}]), list[int]()
    inbound = reader(bot, seen, clock)

    async def stumble(update: Mapping[str, Any]) -> bool:
        return bool(update["message"]["chat"]) if "message" in update else False

    await replace(inbound, handlers=[stumble, *inbound.handlers]).poll(0)
    await inbound.poll(0)

    assert seen == [7, 8]
    assert bot.offsets == [None, 9]


async def test_a_surprise_is_no_reason_to_stop_listening(clock: FakeClock) -> None:
    bot, seen, quiet = Bot([{"update_id": 7}]), list[int](), asyncio.Event()
    inbound, loops = reader(bot, seen, clock), CountedLoops(clock)
    answer, surprises = bot.updates, iter([RuntimeError("surprise")])

    async def updates(offset: int | None, timeout_seconds: float) -> list[dict[str, Any]]:
        for surprise in surprises:
            raise surprise
        found = await answer(offset, timeout_seconds)
        if not found:
            quiet.set()
            await asyncio.Event().wait()
        return found

    bot.updates = updates  # type: ignore[method-assign]
    async with asyncio.timeout(10), loops.running("inbound", inbound.look, cut_off=True):
        await clock.parked()
        await clock.advance(6)
        await quiet.wait()

    assert (seen, loops.errors) == ([7], [("inbound", "RuntimeError")])
