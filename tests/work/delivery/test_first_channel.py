"""The channel of a message that names none."""

from __future__ import annotations

import pytest

from postroom.work.delivery.first_channel import first_channel
from postroom.world.channels.kinds import KINDS


class Known:
    async def owner(self, channel: str) -> str | None:
        return "owner@example.org" if channel == "email" else None

    async def addresses(self, name: str, channel: str) -> list[str]:
        return ["7"] if (name, channel) == ("Bob", "telegram") else []

    async def channels_of(self, name: str | None) -> list[str]:
        return []


@pytest.mark.parametrize(
    ("recipient", "channel"),
    [(None, "email"), ("Bob", "telegram"), ("Nobody", "telegram"), ("a@b.org", "email"), ("@someone", "telegram")],
)
async def test_the_channel_is_one_on_which_the_recipient_is_known(recipient: str | None, channel: str) -> None:
    assert await first_channel(recipient, Known(), KINDS) == channel


@pytest.mark.parametrize("recipient", ["\ud800", "a\0b"])
async def test_what_no_database_could_be_asked_for_is_not_looked_up(recipient: str) -> None:
    class Strict(Known):
        async def addresses(self, name: str, channel: str) -> list[str]:
            raise AssertionError(name)

    assert await first_channel(recipient, Strict(), KINDS) == "telegram"
