"""The shipped kinds say what the code can do today."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.cases import of_kind
from tests.support.kinds import KINDS

from postroom.kernel.text.rich import TEXT_LIMIT
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.channel import Channel, Listen, Reconcile
from postroom.message.delivery import Intent, Message
from postroom.message.markup import Button, Markup, Revision
from postroom.settings.accounts import Surroundings, channel_kind
from postroom.settings.written import SHIPPED
from postroom.testing.case import HeldFiles

FILES = HeldFiles()
BUTTON = Markup(buttons=((Button(label="Yes", token="q1:x"),),))
each_kind = pytest.mark.parametrize("name", KINDS)


@pytest.fixture
def channel(name: str, tmp_path: Path) -> Channel:
    return opened(name, Surroundings(home=tmp_path, files=FILES))


def opened(name: str, surroundings: Surroundings) -> Channel:
    kind = channel_kind(name)
    return kind.opened(name, kind.options.model_validate({"kind": name, **of_kind(name).OPTIONS}), surroundings)


def carries(channel: Channel, intent: Intent = Intent.SEND, **more: Any) -> bool:
    try:
        return bool(channel.prepare(said(channel.name, intent, **more)))
    except ValidationError:
        return False


def said(name: str, intent: Intent = Intent.SEND, **more: Any) -> Message:
    case = of_kind(name)
    return Message(
        delivery_id=DeliveryId("0198c0de"),
        intent=intent,
        address=case.CASE.address,
        thread=case.THREAD,
        text="Hi",
        emoji="👍",
        **more,
    )


@pytest.mark.requirement("house:channel-declares")
@each_kind
def test_a_channel_carries_what_its_kind_declares_and_nothing_else(name: str, channel: Channel) -> None:
    can, declared = channel.capabilities, KINDS[name]
    edit = Revision(delivery_id=DeliveryId("0198c0df"), provider_ids=(of_kind(name).CASE.sent.provider_id,))

    assert can == replace(declared, max_units=declared.max_units or can.max_units)
    assert (carries(channel, Intent.REPLY), carries(channel, Intent.REACT)) == (can.replies, can.reacts)
    assert can.inbound is isinstance(channel, Listen)
    assert (can.buttons, can.edits) == (carries(channel, markup=BUTTON), carries(channel, revises=edit))
    assert can.deletes is carries(channel, revises=replace(edit, deletes=True))
    assert can.reconciles is isinstance(channel, Reconcile)
    assert can.files is carries(channel, attachments=(FILES.hold("a.txt", b"a", "text/plain"),))


@pytest.mark.requirement("content:files-refused-first")
@each_kind
def test_too_many_and_too_large_files_are_refused_before_anything_is_sent(name: str, channel: Channel) -> None:
    can, one = KINDS[name], FILES.hold("a.txt", b"a", "text/plain")
    most = [can.most_file_bytes, can.most_files_bytes]

    assert not any(carries(channel, attachments=(replace(one, size=size + 1),)) for size in most if size is not None)
    assert can.most_files is None or not carries(channel, attachments=(one,) * (can.most_files + 1))
    assert can.files is any(size is not None for size in most)


@each_kind
def test_a_channel_without_files_to_read_from_takes_none(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="attachments"):
        opened(name, Surroundings(home=tmp_path)).prepare(said(name, attachments=(FILES.hold("a.txt", b"a"),)))


def test_every_section_of_the_settings_is_of_a_shipped_kind() -> None:
    assert set(SHIPPED) <= set(KINDS)


def test_the_longest_telegram_text_is_counted_as_telegram_counts() -> None:
    assert (KINDS["telegram"].max_units, KINDS["telegram"].unit) == (TEXT_LIMIT, "utf16")
