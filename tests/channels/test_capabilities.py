"""The shipped kinds say what the code can do today."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.support.kinds import KINDS

from postroom.channels.apprise.channel import AppriseService
from postroom.channels.discord.channel import Discord
from postroom.channels.email.channel import Email
from postroom.channels.email.incoming.imap import ImapAccount
from postroom.channels.ntfy.channel import Ntfy
from postroom.channels.slack.channel import Slack
from postroom.channels.telegram.channel import Telegram
from postroom.channels.webhook.channel import Webhook
from postroom.channels.webpush.channel import WebPush, identity
from postroom.kernel.text.rich import TEXT_LIMIT
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.channel import Channel, Listen, Reconcile
from postroom.message.delivery import Intent, Message
from postroom.message.markup import Button, Markup, Revision
from postroom.settings.written import SHIPPED
from postroom.testing.case import HeldFiles

FILES = HeldFiles()
PUSH = WebPush("webpush", identity("mailto:us@example.org", b"seed"))
MADE: dict[str, Channel] = {
    "telegram": Telegram("1:a", files=FILES),
    "email": Email(
        "127.0.0.1",
        25,
        "none",
        None,
        None,
        "us@example.org",
        imap=ImapAccount(host="127.0.0.1", user="us", authserv_id="mx.example.org"),
        files=FILES,
    ),
    "slack": Slack("slack", "xoxb-1", "xapp-1", files=FILES),
    "discord": Discord("discord", "a.b.c", files=FILES),
    "ntfy": Ntfy("ntfy", answers_topic="answers", files=FILES),
    "webhook": Webhook("webhook", "https://example.org/", files=FILES),
    "webpush": PUSH,
    "apprise": AppriseService("apprise", "json://example.org/"),
}
WITHOUT: dict[str, Channel] = {
    "telegram": Telegram("1:a"),
    "email": Email("127.0.0.1", 25, "none", None, None, "us@example.org"),
    "slack": Slack("slack", "xoxb-1"),
    "discord": Discord("discord", "a.b.c"),
    "ntfy": Ntfy("ntfy"),
    "webhook": Webhook("webhook", "https://example.org/"),
    "webpush": PUSH,
    "apprise": AppriseService("apprise", "json://example.org/"),
}
ADDRESS = {
    "telegram": ("1000", "55"),
    "email": ("ada@example.org", "<a@example.org>"),
    "slack": ("C1", "1.5"),
    "discord": ("1000", "55"),
    "ntfy": ("anna-phone", "hwQ2YpKdmg"),
    "webhook": ("kitchen", "their-17"),
    "webpush": ("0123456789abcdef", "their-17"),
    "apprise": ("-", "1"),
}
DEDUPES = {"discord", "webhook", "webpush"}
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

    assert can == (replace(KINDS[name], max_units=can.max_units) if name == "apprise" else KINDS[name])
    assert (carries(name, Intent.REPLY), carries(name, Intent.REACT)) == (can.replies, can.reacts)
    assert can.inbound is isinstance(MADE[name], Listen)
    assert (can.buttons, can.edits) == (carries(name, markup=BUTTON), carries(name, revises=EDIT))
    assert can.deletes is carries(name, revises=replace(EDIT, deletes=True))
    assert can.reconciles is isinstance(MADE[name], Reconcile)
    assert can.files is carries(name, attachments=(FILES.hold("a.txt", b"a", "text/plain"),))
    assert bool(can.dedupes_for_seconds) is (name in DEDUPES)


@pytest.mark.requirement("content:files-refused-first")
@each_kind
def test_too_many_and_too_large_files_are_refused_before_anything_is_sent(name: str) -> None:
    can, one = KINDS[name], FILES.hold("a.txt", b"a", "text/plain")
    most = [can.most_file_bytes, can.most_files_bytes]

    assert not any(carries(name, attachments=(replace(one, size=size + 1),)) for size in most if size is not None)
    assert can.most_files is None or not carries(name, attachments=(one,) * (can.most_files + 1))
    assert can.files is any(size is not None for size in most)


@each_kind
def test_a_channel_without_files_to_read_from_takes_none(name: str) -> None:
    message = Message(
        delivery_id=DeliveryId("0198c0de"),
        intent=Intent.SEND,
        address=ADDRESS[name][0],
        text="Hi",
        attachments=(FILES.hold("a.txt", b"a"),),
    )

    with pytest.raises(ValidationError, match="attachments"):
        WITHOUT[name].prepare(message)


def test_every_section_of_the_settings_is_of_a_shipped_kind() -> None:
    assert set(SHIPPED) <= set(KINDS)


def test_the_longest_telegram_text_is_counted_as_telegram_counts() -> None:
    assert (KINDS["telegram"].max_units, KINDS["telegram"].unit) == (TEXT_LIMIT, "utf16")
