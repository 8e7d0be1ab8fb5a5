"""`auto`: the first channel that is set up, in the person's own order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.clock import FakeClock
from tests.work.delivery.test_idempotency import NOTIFY
from tests.work.delivery.world import Book, ScriptedChannel

from postroom.domain.channel_names import AUTO
from postroom.domain.errors import ValidationError
from postroom.work.delivery.own_order import in_own_order

SET_UP = {name: ScriptedChannel(name, FakeClock()) for name in ("telegram", "email")}


@pytest.mark.requirement("chan:auto")
@pytest.mark.parametrize(
    ("recipient", "channel"),
    [(None, "email"), ("Ann", "telegram"), ("stranger@example.org", "email")],
    ids=["the owner, whose first is not set up", "a contact", "a mailbox"],
)
async def test_it_becomes_a_channel_that_reaches_the_person(recipient: str | None, channel: str) -> None:
    placed = await in_own_order(replace(NOTIFY, channel=AUTO, recipient=recipient), Book(), SET_UP)

    assert placed == replace(NOTIFY, channel=channel, recipient=recipient)


@pytest.mark.requirement("chan:auto")
@pytest.mark.parametrize("recipient", ["Nobody", "2000", "@someone"])
async def test_who_is_not_known_is_not_guessed_at(recipient: str) -> None:
    with pytest.raises(ValidationError) as caught:
        await in_own_order(replace(NOTIFY, channel=AUTO, recipient=recipient), Book(), SET_UP)

    assert [(one.field, one.code) for one in caught.value.fields] == [("delivery.channel", "no_channel")]


async def test_a_channel_that_is_named_stays() -> None:
    assert await in_own_order(NOTIFY, Book(), {}) is NOTIFY
