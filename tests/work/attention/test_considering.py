"""What the household itself sends is not considered; the copy of a note that needs an acknowledgement is."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.clock import FakeClock
from tests.work.attention.attended import Attended
from tests.work.delivery.world import Parts, generous, living_world
from tests.work.inbox.examples import a_notification
from tests.work.inbox.test_letter import a_batch

from postroom.domain.attention import AttentionWish
from postroom.domain.notice_states import NoticeState
from postroom.domain.outcome import AnswerStatus
from postroom.work.inbox.letter import outgoing


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
