"""Commands are for people we know, where they may be: hostile names and places get nothing out of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.conversations.test_routing import ADA
from tests.conversations.test_strangers import Post, written

from postroom.conversations.bot_commands import TalkCommands
from postroom.conversations.model import InboundMove, KeptMessage
from postroom.conversations.texts import ENGLISH
from postroom.message.inbound import Flag
from postroom.people.model import Person

pytestmark = pytest.mark.requirement("talk:commands")


class World:
    """Ada, with two things in her inbox and one question."""

    person: Person | None = ADA

    async def at(self, channel: str, address: str) -> Person | None:
        return self.person

    async def open_in(self, person: str, channel: str, place: str) -> Sequence[KeptMessage]:
        return []

    async def last(self, person: str, channel: str, place: str) -> KeptMessage | None:
        return None

    async def sessions_since(self, person: str, since_us: int) -> int:
        return 0

    async def move(self, kept: KeptMessage, move: InboundMove, now_us: int) -> bool:
        raise AssertionError

    async def unread(self, person: str, most: int) -> tuple[int, Sequence[str]]:
        return 2, ["The parcel {is} here", "/stop"]

    async def questions(self, person: str, most: int) -> tuple[int, Sequence[str]]:
        return 1, ["Ship it?"]

    async def stop(self, butler: str, session_id: str) -> None:
        raise AssertionError


async def said(text: str, world: World | None = None, **more: Any) -> str | None:
    world, post = world or World(), Post()
    commands = TalkCommands(
        kept=world,
        people=world,
        desk=world,
        stopper=world,
        outbound=post,
        butlers={},
        clock=FakeClock(),
        sessions_per_day=9,
    )
    taken = await commands.handle(replace(written(), sender="77", text=text, **more))
    assert taken is bool(post.sent)
    return str(post.sent[0]["delivery"]["message"]) if post.sent else None


async def test_what_waits_is_counted_and_listed_as_data() -> None:
    assert await said("/inbox") == "2 unread in your inbox:\n• The parcel {is} here\n• /stop"
    assert await said(" /ASKS@our_bot ") == f"{ENGLISH.asks.format(count=1)}\n• Ship it?"
    assert await said("/why") == ENGLISH.why_none


@pytest.mark.parametrize("text", ["/inbox please", "inbox", "//inbox", "/inboxes", "/ inbox", ""])
async def test_other_words_are_for_others(text: str) -> None:
    assert await said(text) is None


async def test_strangers_and_forwards_are_for_others_and_what_is_replied_to_does_not_matter() -> None:
    stranger = World()
    stranger.person = None

    assert await said("/inbox", stranger) is None
    assert await said("/inbox", flags=frozenset({Flag.FORWARDED})) is None
    assert await said("/why", replies_to="5") == ENGLISH.why_none


async def test_in_a_group_only_what_tells_the_others_nothing() -> None:
    group = {"alone": False, "addressed": True}

    assert await said("/inbox@our_bot", **group) is None
    assert await said("/stop@our_bot", **group) == ENGLISH.nothing_runs
    assert await said("/stop", alone=False) is None
