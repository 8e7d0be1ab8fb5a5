"""What a person does in an inbox is done once, for every door alike, and those who watch hear of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from tests.clock import START_US
from tests.opened_database import opened_file
from tests.work.inbox.examples import MINT, a_notification

from postroom.domain.errors import ValidationError
from postroom.domain.notification import Notification, NotificationChange
from postroom.work.inbox.acts import InboxActs
from postroom.work.inbox.deferral import judge
from postroom.world.channels.mailbox import mailbox
from postroom.world.store.inbox.inbox import StoredNotes
from postroom.world.store.inbox.preferences import StoredPreferences

LATER_US = START_US + 60_000_000


@dataclass
class Desk:
    acts: InboxActs
    note: Notification
    rung: list[str] = field(default_factory=list)
    letters: list[int] = field(default_factory=list)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with opened_file(tmp_path) as database:
        notes, rung, letters = StoredNotes(database, MINT.mint), list[str](), list[int]()
        acts = InboxActs(
            notes=notes,
            preferences=StoredPreferences(database),
            address=mailbox,
            ring=rung.append,
            email_due=lambda: letters.append(1),
        )
        new = a_notification()
        await notes.create(new, hourly_cap=10, judge=partial(judge, email_enabled=False, now_us=START_US))
        yield Desk(acts, new, rung, letters)


async def test_a_change_is_written_and_told_to_those_who_watch(desk: Desk) -> None:
    after = await desk.acts.change("ada", desk.note.id, NotificationChange.READ, LATER_US)

    assert after is not None and after.read_at_us == LATER_US
    assert desk.rung == ["ada"]


async def test_what_lies_in_another_inbox_is_not_touched_and_nobody_is_rung(desk: Desk) -> None:
    assert await desk.acts.change("bob", desk.note.id, NotificationChange.DISMISS, LATER_US) is None
    assert await desk.acts.restore("bob", desk.note.id, LATER_US) is None
    assert desk.rung == []
    assert await desk.acts.read_all("ada", LATER_US) == 1


async def test_what_was_dismissed_can_be_brought_back(desk: Desk) -> None:
    await desk.acts.change("ada", desk.note.id, NotificationChange.DISMISS, LATER_US)

    after = await desk.acts.restore("ada", desk.note.id, LATER_US + 1)

    assert after is not None and after.dismissed_at_us is None


@pytest.mark.parametrize(("confirmed", "letters"), [(True, []), (False, [1])], ids=["the operator's word", "a wish"])
async def test_an_address_that_must_be_confirmed_is_written_to_at_once(
    desk: Desk, confirmed: bool, letters: list[int]
) -> None:
    await desk.acts.prefer("ada", {"email": "ada@example.com"}, LATER_US, confirmed=confirmed)

    assert desk.letters == letters


async def test_an_address_that_is_none_is_refused_and_nothing_is_kept(desk: Desk) -> None:
    with pytest.raises(ValidationError):
        await desk.acts.prefer("ada", {"email": "nowhere"}, LATER_US, confirmed=True)

    assert (await desk.acts.preferences.of("ada")).email is None
