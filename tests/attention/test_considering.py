"""What the household itself sends is not considered; the copy of a note that needs an acknowledgement is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.attention.attended import Attended
from tests.clock import FakeClock
from tests.inbox.test_copies import a_batch
from tests.work.delivery.world import Parts, generous, living_world
from tests.work.inbox.examples import AT_NIGHT, QUIET_ENDS_US, a_notification

from postroom.attention.model import NoticeState
from postroom.inbox.copies import outgoing
from postroom.inbox.inbox import InboxWishes
from postroom.inbox.store.mail import StoredPreferences
from postroom.message.outgoing import AnswerStatus
from postroom.message.wishes import AttentionWish


@pytest.mark.requirement("attention:note-fields")
async def test_a_copy_is_a_notice_only_when_a_person_has_to_acknowledge_it(tmp_path: Path, clock: FakeClock) -> None:
    async with living_world(tmp_path / "postroom.db", clock, Parts(policy=generous())) as world:
        house = Attended(world)
        plain = a_batch([a_notification(wish=AttentionWish(thread="laundry"))], "UTC", address="ann@example.com")
        sent = await house.plane.submit(outgoing(plain), request_id="plain", wait_seconds=5)
        asks = a_batch([a_notification(wish=AttentionWish(needs_ack=True))], id="b2", address="ann@example.com")
        answer = await house.plane.submit(outgoing(asks), request_id="asks", wait_seconds=5)
        await house.look()

        assert (sent.status, sent.notice_id) == (AnswerStatus.OK, None)
        view = await house.attention.notice(answer.notice_id or "")
        assert view is not None and (view.person, view.state) == ("ann", NoticeState.WAITING)
        await house.attention.ack(view.id, "ann")
        assert await house.attention.audit() == ()


@pytest.mark.requirement("attention:one-quiet-hours")
async def test_quiet_hours_set_in_the_inbox_hold_messages_too(tmp_path: Path, clock: FakeClock) -> None:
    async with living_world(tmp_path / "postroom.db", clock, Parts(policy=generous())) as world:
        house = Attended(world)
        wishes = InboxWishes(rows=StoredPreferences(world.database), book=house.attention.book)
        await wishes.change("operator", lambda _: AT_NIGHT, clock.now_us())
        answer = await house.notify("Good night")
        assert (answer.status, answer.until_us) == (AnswerStatus.DEFERRED, QUIET_ENDS_US)

        await wishes.change("operator", lambda one: replace(one, quiet_hours_start=None, quiet_hours_end=None), 0)
        await house.look()
        assert house.texts == ["Good night"]
        assert await house.attention.audit() == ()
