"""One sender's flood is read as far as anybody types, answered once, and makes nobody else wait."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conversations.room import PLACE, Room, written
from tests.household.asked_household import ask, parts, phone, press, until
from tests.household.talking import talking

from postroom.conversations.inbound import Flood
from postroom.conversations.texts import ENGLISH
from postroom.message.inbound import InboundMessage
from postroom.questions.model import QuestionStatus

pytestmark = pytest.mark.requirement("talk:flood")


def message(number: int, sender: str | None = PLACE, at_us: int | None = None) -> InboundMessage:
    return written(str(number), number=number, places=(sender or "?",), sender=sender, said_at_us=at_us)


async def test_beyond_the_first_ones_of_a_minute_nothing_is_read_and_the_sender_is_told_once(tmp_path: Path) -> None:
    settings = {"conversations": {"messages_per_minute": 5}}
    async with talking(tmp_path / "home", tmp_path, settings, models=[]) as house:
        view = await ask(house)
        card = await phone(house, "Ship it?")
        for _ in range(12):
            await house.write(2001, "/asks")
        await press(house, card, "yes")
        await house.write(2002, "/asks")
        await house.said(2002)

        said = [one["text"] for one in await house.said(2001, 6)]
        assert said.count(ENGLISH.asks_none) == 5
        assert said[-1] == ENGLISH.flood.format(most=5)
        await house.kept(2001, *["handled"] * 5)

        async def answered() -> bool:
            found = await parts(house).store.get(view.question.id)
            return found is not None and found.status is QuestionStatus.ANSWERED

        await until(answered)


async def test_a_message_that_comes_again_is_no_new_one_and_after_a_minute_all_is_read_again(room: Room) -> None:
    post, clock = room.post, room.clock
    flood = Flood(people=room.people, outbound=room.post, clock=clock, most=2)

    assert [await flood.handle(message(one)) for one in (1, 2, 1, 2, 3, 4, 3)] == [False] * 4 + [True] * 3
    assert len(post.sent) == 1
    clock.jump(61)
    assert not await flood.handle(message(5))
    assert not await flood.handle(message(6))
    assert await flood.handle(message(7))
    assert len(post.sent) == 2


async def test_what_was_written_over_a_day_is_no_flood_when_it_is_read_at_once(room: Room) -> None:
    flood = Flood(people=room.people, outbound=room.post, clock=room.clock, most=2)
    for one in range(10):
        assert not await flood.handle(message(one, at_us=room.clock.now_us() + one * 31_000_000))


async def test_strangers_and_others_are_counted_apart_and_strangers_are_told_nothing(room: Room) -> None:
    post, clock = room.post, room.clock
    flood = Flood(people=room.people, outbound=room.post, clock=clock, most=1)
    assert [await flood.handle(message(one, "9")) for one in (1, 2, 3)] == [False, True, True]
    assert not await flood.handle(message(4))
    assert not await flood.handle(message(5, None))
    assert post.sent == []
