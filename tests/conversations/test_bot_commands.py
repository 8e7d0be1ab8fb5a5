"""Commands are for people we know, where they may be: hostile names and places get nothing out of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.conversations.test_strangers import ADA, Room, room_of, written
from tests.inbox.examples import a_notification
from tests.opened_database import opened_file
from tests.questions.sample_questions import new_question

from postroom.conversations.talk import ButlersStop, TalkCommands
from postroom.conversations.texts import ENGLISH
from postroom.inbox.model import Terms
from postroom.inbox.store.notes import StoredNotes
from postroom.kernel.values.principal import Principal
from postroom.message.inbound import Flag
from postroom.people.model import inbox_of_person
from postroom.questions.shapes import QuestionView

pytestmark = pytest.mark.requirement("talk:commands")


QUIET: dict[str, Any] = {"stopper": ButlersStop(peers={}), "butlers": {}, "sessions_per_day": 9}


@pytest.fixture
async def room(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Room]:
    async with opened_file(tmp_path) as database:
        yield await room_of(database, clock, ADA)


async def said(room: Room, text: str, sender: str = "77", **more: Any) -> str | None:
    room.post.sent.clear()
    commands = TalkCommands(
        kept=room.kept,
        people=room.people,
        inbox=StoredNotes(room.database),
        asking=Asked(),
        outbound=room.post,
        clock=room.clock,
        **QUIET,
    )
    taken = await commands.handle(replace(written(), sender=sender, text=text, **more))
    assert taken is bool(room.post.sent)
    return str(room.post.sent[0]["delivery"]["message"]) if room.post.sent else None


class Asked:
    """One question that is open for Ada."""

    async def listing(self, who: Principal, **asked: Any) -> Sequence[QuestionView]:
        return [QuestionView(question=new_question(question="Ship it?"))]


async def test_what_waits_is_counted_and_listed_as_data(room: Room) -> None:
    person = await room.people.at("pager", "77")
    assert person is not None
    for minutes, message in enumerate(("/stop", "The parcel {is} here")):
        note = a_notification(inbox_of_person(person.id), at_us=room.clock.now_us() + minutes, message=message)
        await StoredNotes(room.database).create(note, hourly_cap=9, terms=Terms(email_enabled=False))
    assert await said(room, "/inbox") == "2 unread in your inbox:\n• The parcel {is} here\n• /stop"
    assert await said(room, " /ASKS@our_bot ") == f"{ENGLISH.asks.format(count=1)}\n• Ship it?"
    assert await said(room, "/why") == ENGLISH.why_none


@pytest.mark.parametrize("text", ["/inbox please", "inbox", "//inbox", "/inboxes", "/ inbox", ""])
async def test_other_words_are_for_others(room: Room, text: str) -> None:
    assert await said(room, text) is None


async def test_strangers_and_forwards_are_for_others_and_what_is_replied_to_does_not_matter(room: Room) -> None:
    assert await said(room, "/inbox", "78") is None
    assert await said(room, "/inbox", flags=frozenset({Flag.FORWARDED})) is None
    assert await said(room, "/why", replies_to="5") == ENGLISH.why_none


async def test_in_a_group_only_what_tells_the_others_nothing(room: Room) -> None:
    group = {"alone": False, "addressed": True}

    assert await said(room, "/inbox@our_bot", **group) is None
    assert await said(room, "/stop@our_bot", **group) == ENGLISH.nothing_runs
    assert await said(room, "/stop", alone=False) is None
