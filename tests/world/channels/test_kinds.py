"""The shipped kinds say what the code can do today."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.domain.delivery import Intent, Message
from postroom.domain.errors import ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Button, Markup, Revision
from postroom.domain.ports import Channel, Listen, Reconcile
from postroom.system.settings.shipped import SHIPPED
from postroom.world.channels.discord.channel import Discord
from postroom.world.channels.email import Email
from postroom.world.channels.kinds import KINDS
from postroom.world.channels.telegram import Telegram
from postroom.world.channels.telegram_text import TEXT_LIMIT

MADE: dict[str, Channel] = {
    "telegram": Telegram("1:a"),
    "email": Email("127.0.0.1", 25, "none", None, None, "us@example.org"),
    "discord": Discord("discord", "a.b.c"),
}
ADDRESS = {
    "telegram": ("1000", "55"),
    "email": ("ada@example.org", "<a@example.org>"),
    "discord": ("1000", "55"),
}
BUTTON = Markup(buttons=((Button(label="Yes", token="q1:x"),),))
EDIT = Revision(delivery_id=DeliveryId("0198c0df"), provider_ids=("7",))
each_kind = pytest.mark.parametrize("name", KINDS)


def carries(name: str, intent: Intent = Intent.SEND, **more: Any) -> bool:
    address, thread = ADDRESS[name]
    message = Message(
        delivery_id=DeliveryId("0198c0de"), intent=intent, address=address, thread=thread, text="Hi", emoji="👍", **more
    )
    try:
        return bool(MADE[name].prepare(message))
    except ValidationError:
        return False


@pytest.mark.requirement("house:channel-declares")
@each_kind
def test_a_channel_carries_what_its_kind_declares_and_nothing_else(name: str) -> None:
    can = MADE[name].capabilities

    assert can is KINDS[name]
    assert (carries(name, Intent.REPLY), carries(name, Intent.REACT)) == (can.replies, can.reacts)
    assert can.inbound is isinstance(MADE[name], Listen)
    assert (can.buttons, can.edits) == (carries(name, markup=BUTTON), carries(name, revises=EDIT))
    assert (can.deletes, can.reconciles) == (hasattr(MADE[name], "delete"), isinstance(MADE[name], Reconcile))
    assert not can.files


def test_the_settings_have_a_section_for_every_shipped_kind() -> None:
    assert set(SHIPPED) <= KINDS.keys()


def test_the_longest_telegram_text_is_counted_as_telegram_counts() -> None:
    assert (KINDS["telegram"].max_units, KINDS["telegram"].unit) == (TEXT_LIMIT, "utf16")
